"""Simultaneous changes of one memory: none is lost, and none waits for ever."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.test import Client

from memory.models import AuditLog, Memory, MemoryFeedback, MemoryLink, MemoryVersion
from memory.services.index.embedding_model import active_model
from memory.services.index.recount import differences
from tests.threads import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _model(transactional_db: None) -> None:
    active_model()


def send(tenant, method: str, path: str, body: dict[str, Any], **headers: str) -> Any:
    named = {"Authorization": f"Bearer {tenant.token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return getattr(Client(), method)(f"/v1/memories/{path}", body, content_type="application/json", headers=named)


def test_of_changes_with_one_etag_one_wins_and_the_others_are_told(alice, remember):
    memory_id = remember(alice, "Tea is at five.")

    answers = together(
        6, lambda n: send(alice, "patch", memory_id, {"text": f"Tea is at {n}.", "reason": "r"}, If_Match='"1"')
    )

    assert Counter(answer.status_code for answer in answers) == {200: 1, 412: 5}
    (winner,) = [n for n, answer in enumerate(answers) if answer.status_code == 200]
    memory = Memory.objects.across_namespaces().get()
    assert (memory.text, memory.revision) == (f"Tea is at {winner}.", 2)
    assert (
        MemoryVersion.objects.across_namespaces().count()
        == AuditLog.objects.across_namespaces().filter(event_type="MEMORY_EDIT").count()
        == 1
    )
    assert differences([alice.scope.namespace_id]) == []


def test_changes_without_an_etag_follow_each_other_and_keep_every_version(alice, remember):
    memory_id = remember(alice, "Tea is at five.")

    answers = together(6, lambda n: send(alice, "patch", memory_id, {"text": f"Tea is at {n}.", "reason": "r"}))

    assert {answer.status_code for answer in answers} == {200}
    assert sorted(answer.json()["revision"] for answer in answers) == [2, 3, 4, 5, 6, 7]
    texts = {"Tea is at five.", *(f"Tea is at {n}." for n in range(6))}
    assert {
        *MemoryVersion.objects.across_namespaces().values_list("text", flat=True),
        Memory.objects.across_namespaces().get().text,
    } == texts
    assert differences([alice.scope.namespace_id]) == []


def test_one_key_sent_many_times_at_once_is_one_change_and_one_answer(alice, remember):
    memory_id = remember(alice, "Tea is at five.")

    answers = together(
        5, lambda _: send(alice, "post", f"{memory_id}/supersede", {"text": "Six.", "reason": "r"}, Idempotency_Key="k")
    )

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["superseded_by"] for answer in answers}) == 1
    assert Memory.objects.across_namespaces().count() == 2


def test_opinions_at_once_all_count(make_tenant, remember):
    tenants = [make_tenant("alice") for _ in range(5)]
    memory_id = remember(tenants[0], "Tea is at five.")
    Memory.objects.across_namespaces().update(importance=0.5)

    together(5, lambda n: send(tenants[n], "post", f"{memory_id}/feedback", {"kind": "outdated"}))

    assert MemoryFeedback.objects.across_namespaces().count() == 5
    assert Memory.objects.across_namespaces().get().importance == pytest.approx(0.2)


def test_superseding_in_a_ring_at_once_leaves_no_ring_and_no_deadlock(alice, remember):
    ids = [remember(alice, f"Tea is at {n}.") for n in range(4)]

    answers = together(4, lambda n: send(alice, "post", f"{ids[n]}/supersede", {"by": ids[(n + 1) % 4], "reason": "r"}))

    assert Counter(answer.status_code for answer in answers) == {200: 3, 409: 1}
    assert Memory.objects.across_namespaces().filter(superseded_by=None).count() == 1
    assert MemoryLink.objects.across_namespaces().count() == 3


def test_superseding_beside_resets_of_the_session_ends(alice, remember):
    def act(number: int) -> int:
        memory_id = remember(alice, f"Tea is at {number}.")
        if number % 2:
            body = {"namespace": "alice", "session_id": "s1", "confirm": True}
            headers = {"Authorization": f"Bearer {alice.token}"}
            reset = Client().post("/v1/sessions/reset", body, content_type="application/json", headers=headers)
            return reset.status_code
        return send(alice, "post", f"{memory_id}/supersede", {"text": "Six.", "reason": "r"}).status_code

    codes = [code for _ in range(4) for code in together(4, act)]

    assert set(codes) <= {200, 404}
    assert differences([alice.scope.namespace_id]) == []
