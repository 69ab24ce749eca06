"""POST /v1/query: the beginning of the text, which a provider can keep in its prompt cache between questions."""

from __future__ import annotations

from datetime import timedelta
from itertools import chain
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.demo.procedures import demo_procedures
from memory.models import ContextPack, Memory
from memory.services.sessions.seed import ensure_procedures
from tests.job_queue import run_task
from tests.threads import together


def asked(tenant: Any, question: str = "Where is the shop?", **fields: Any) -> dict[str, Any]:
    answer = tenant.post("/v1/query", {"namespace": tenant.scope.namespace, "query": question, **fields})
    assert answer.status_code == 200
    return answer.json()


def prefix_of(body: dict[str, Any]) -> str:
    ends = [end["characters"] for end in body["breakpoints"] if end["section"] in ("procedural", "durable")]
    return body["context_pack"]["text"][: max(ends, default=0)]


def pin(tenant: Any, memory_id: str) -> None:
    assert tenant.post(f"/v1/memories/{memory_id}/pin", {}).status_code == 200


def erase_memory(tenant: Any, memory_id: str) -> None:
    body = {"namespace": tenant.scope.namespace, "memory_ids": [memory_id], "reason": "asked for"}
    run_task("erase", tenant.scope.namespace_id, tenant.post("/v1/erasures", body).json()["id"])


@pytest.fixture
def nuts(alice, remember) -> str:
    remember(alice, "The shop is in Lyon.", speaker="Ann")
    memory_id = remember(alice, "I am allergic to nuts.", speaker="Ann")
    pin(alice, memory_id)
    return memory_id


def test_a_namespace_without_pins_and_instructions_has_no_prefix(alice, remember):
    remember(alice, "The shop is in Lyon.")

    body = asked(alice)

    assert (body["prefix_tokens"], prefix_of(body)) == (0, "")
    assert body["context_pack"]["text"].startswith("Memories:\n")
    assert body["context_pack"]["durable"] == []


def test_a_pinned_memory_is_told_with_every_question_and_the_beginning_stays(alice, nuts, remember):
    first = asked(alice, session_id="s1", as_of=timezone.now().isoformat())
    assert prefix_of(first).startswith("To keep in mind:\n- [p1] ")
    assert "Ann: I am allergic to nuts.\n" in prefix_of(first)
    remember(alice, "Tea is at five.", session="s3")
    others = [
        asked(alice, "What may Ann not eat?", session_id="s1"),
        asked(alice, "Something else entirely", session_id="s2", top_k=1),
        asked(alice, valid_at=timezone.now().isoformat()),
        asked(alice, dry_run=True),
        asked(alice, max_tokens=300),
    ]

    assert {one["prefix_sha256"] for one in [first, *others]} == {first["prefix_sha256"]}
    assert {prefix_of(one) for one in [first, *others]} == {prefix_of(first)}
    assert all("I am allergic to nuts." in one["context_pack"]["text"] for one in others)


@pytest.mark.django_db(transaction=True)
def test_questions_at_once_share_the_beginning(alice, nuts):
    def ask(number: int) -> str:
        client = Client(headers={"Authorization": f"Bearer {alice.token}"})
        body = {"namespace": "alice", "query": f"Question {number}?", "session_id": f"s{number}"}
        return str(client.post("/v1/query", data=body, content_type="application/json").json()["prefix_sha256"])

    asked_at_once = together(4, lambda number: [ask(3 * number + turn) for turn in range(3)])
    assert len(set(chain.from_iterable(asked_at_once))) == 1


@pytest.mark.parametrize("change", ["unpin", "archive", "correct", "erase", "pin another", "instruct", "supersede"])
def test_it_changes_when_what_it_tells_changes(alice, nuts, remember, change):
    before = asked(alice)
    if change == "unpin":
        alice.post(f"/v1/memories/{nuts}/unpin", {})
    elif change == "archive":
        alice.client.delete(f"/v1/memories/{nuts}")
    elif change == "correct":
        body = {"text": "I am allergic to walnuts.", "reason": "a slip"}
        sent = alice.client.patch(f"/v1/memories/{nuts}", data=body, content_type="application/json")
        assert sent.status_code == 200
    elif change == "erase":
        erase_memory(alice, nuts)
    elif change == "pin another":
        pin(alice, remember(alice, "Call me Ann.", speaker="Ann"))
    elif change == "supersede":
        newer = remember(alice, "I am not allergic any more.", speaker="Ann")
        assert alice.post(f"/v1/memories/{nuts}/supersede", {"by": newer, "reason": "cured"}).status_code == 200
    else:
        ensure_procedures(demo_procedures(alice.scope.namespace_id))
    after = asked(alice)

    assert after["prefix_sha256"] != before["prefix_sha256"]
    assert prefix_of(after) != prefix_of(before)
    if change in ("unpin", "archive", "erase", "supersede"):
        assert "allergic to nuts" not in prefix_of(after)


def test_a_filter_narrows_pinned_memories_too(alice, nuts):
    assert "nuts" not in asked(alice, filter={"speaker": "Bo"})["context_pack"]["text"]
    assert "nuts" in asked(alice, filter={"speaker": "Ann"})["context_pack"]["text"]


def test_what_was_recorded_later_is_not_told_of_an_earlier_moment(alice, nuts):
    before = (timezone.now() - timedelta(days=1)).isoformat()

    body = asked(alice, as_of=before)

    assert (body["prefix_tokens"], body["context_pack"]["durable"]) == (0, [])


def test_another_tenants_pins_are_not_told(alice, bob, nuts):
    assert asked(bob)["prefix_tokens"] == 0


def test_a_pack_that_told_a_pinned_memory_goes_when_the_memory_is_erased(alice, nuts):
    pack_id = asked(alice, "zebra", top_k=1)["context_pack_id"]
    assert nuts in [str(one) for one in ContextPack.objects.across_namespaces().get(pk=pack_id).memory_ids]

    erase_memory(alice, nuts)

    assert not ContextPack.objects.across_namespaces().filter(pk=pack_id).exists()


def test_a_pinned_memory_counts_once_in_what_the_material_costs(alice, nuts):
    body = asked(alice, "What may Ann not eat?", session_id="elsewhere", top_k=2)

    told = {one["id"] for one in body["raw_chunks"]} | {one["memory_id"] for one in body["context_pack"]["durable"]}
    tokens = Memory.objects.across_namespaces().filter(pk__in=told).values_list("tokens", flat=True)
    assert nuts in told
    assert body["token_usage_original"] == sum(tokens)


def test_an_answer_names_the_beginning_and_cites_a_pinned_memory(alice, nuts):
    body = {"namespace": "alice", "query": "What is Ann allergic to?", "session_id": "elsewhere"}
    answered = alice.post("/v1/answer", body).json()

    asked_again = asked(alice)
    for name in ("prefix_sha256", "prefix_tokens"):
        assert answered[name] == asked_again[name]
    assert answered["breakpoints"][0]["section"] == "durable"
    assert nuts in [one["memory_id"] for one in answered["citations"]]
