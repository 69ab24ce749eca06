"""Erasing memories also removes the server's texts that quote them: answers, chats and completions."""

from __future__ import annotations

from typing import Any

import pytest

from memory.enums import LinkKind, MemoryState
from memory.models import ErasedSession, Memory, MemoryLink
from memory.stores import window
from tests.api.test_completions import upstream
from tests.job_queue import run_task
from tests.providers.upstream import whole

__all__ = ["upstream"]

NUMBER = "X1234567"
SAID = f"My passport number is {NUMBER}."
ASKED = {"namespace": "alice", "session_id": "s1", "query": "What is my passport number?"}


@pytest.fixture
def told(alice, remember) -> str:
    remember(alice, "We walked along the harbour.", session="s0", speaker="Bea")
    identity: str = remember(alice, SAID, session="s0", speaker="Ada")
    return identity


def reply_of(tenant: Any) -> Memory:
    return Memory.objects.in_scope(tenant.scope).get(role="agent")


def sources_of(tenant: Any, memory: Memory) -> list[str]:
    links = MemoryLink.objects.in_scope(tenant.scope).filter(kind=LinkKind.DERIVED_FROM, memory_id=memory.pk)
    return [str(one) for one in links.values_list("other_id", flat=True)]


def follow(tenant: Any, session: str = "s0") -> None:
    run_task("follow_sources", tenant.scope.namespace_id, session)


def ask(tenant: Any) -> Memory:
    assert NUMBER in tenant.post("/v1/answer", {**ASKED, "remember": True}).json()["answer"]
    return reply_of(tenant)


def complete(tenant: Any, question: str) -> None:
    body = {"model": "llamacpp/small", "messages": [{"role": "user", "content": question}]}
    session = {"X_MemOS_Namespace": "alice", "X_MemOS_Session": "s1"}
    assert tenant.post("/v1/chat/completions", body, **session).status_code == 200


def everything(tenant: Any) -> str:
    """Return everything that the routes return about the namespace."""
    name = tenant.scope.namespace
    answers = [
        tenant.post("/v1/answer", ASKED),
        tenant.post("/v1/search", {"namespace": name, "query": f"passport number {NUMBER}", "top_k": 50}),
        tenant.post("/v1/query", ASKED),
        tenant.get("/v1/memories/export", namespace=name),
        tenant.get("/v1/ops/context_packs", include_pack="true"),
        tenant.get("/v1/ops/condensations"),
    ]
    assert {answer.status_code for answer in answers} == {200}
    return "".join(
        (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode() for answer in answers
    )


def test_an_erasure_of_what_a_person_said_reaches_every_answer_that_quotes_it(alice, told):
    first = ask(alice)
    assert sources_of(alice, first) == [told]
    # A chat may repeat the quotation.
    alice.post("/v1/chat", {"namespace": "alice", "session_id": "s2", "message": "Tell me my passport number again."})
    body = {"namespace": "alice", "speaker": "Ada", "reason": "asked by Ada"}

    done = alice.post("/v1/erasures", body).json()
    run_task("erase", alice.scope.namespace_id, done["id"])
    receipt = alice.get(f"/v1/erasures/{done['id']}").json()

    assert (receipt["status"], receipt["proof"]["left"]) == ("finished", 0), receipt
    assert receipt["found"] > receipt["named"] == 1
    assert NUMBER not in everything(alice)
    assert not Memory.objects.in_scope(alice.scope).filter(text__contains=NUMBER).exists()
    assert {one.session for one in ErasedSession.objects.in_scope(alice.scope)} >= {"s0", "s1"}
    assert NUMBER not in str(window.read(alice.scope.namespace_id, "s1"))


def test_an_answer_leaves_search_and_comes_back_with_what_it_quotes(alice, told):
    reply = ask(alice)

    assert alice.client.delete(f"/v1/memories/{told}?reason=wrong").status_code == 200
    follow(alice)
    assert reply_of(alice).state == MemoryState.ARCHIVED

    assert alice.post(f"/v1/memories/{told}/restore", {"reason": "right after all"}).status_code == 200
    follow(alice)
    assert reply_of(alice).state == MemoryState.ACTIVE
    assert reply_of(alice).pk == reply.pk


def test_an_answer_that_quotes_what_was_corrected_leaves_search(alice, told):
    ask(alice)

    changed = {"text": "My passport number is Y7654321.", "reason": "a new passport"}
    patched = alice.client.patch(f"/v1/memories/{told}", data=changed, content_type="application/json")
    assert patched.status_code == 200, patched.content
    follow(alice)

    assert reply_of(alice).state == MemoryState.ARCHIVED
    assert NUMBER not in alice.post("/v1/answer", ASKED).json()["answer"]


def test_an_answer_is_superseded_with_what_it_quotes(alice, told):
    ask(alice)

    superseded = {"text": "My passport number is Y7654321.", "reason": "a new passport"}
    answer = alice.post(f"/v1/memories/{told}/supersede", superseded)
    assert answer.status_code == 200, answer.content
    follow(alice)

    assert str(reply_of(alice).superseded_by) == answer.json()["superseded_by"]


def test_a_completion_is_linked_to_what_it_quotes_and_to_what_it_repeats(alice, told, upstream, remember):
    other = "The shop in the Rue Mercière closes at noon on Mondays and Tuesdays."
    upstream.answer = lambda _: whole(f"Your passport number is {NUMBER}, and I noted ada@example.org for you.")

    complete(alice, f"What is my passport number? Write to ada@example.org. {other}")

    question = Memory.objects.in_scope(alice.scope).get(session="s1", role="user")
    assert sorted(sources_of(alice, reply_of(alice))) == sorted([told, str(question.pk)])


def test_a_completion_that_quotes_nothing_is_linked_to_nothing(alice, told, upstream):
    upstream.answer = lambda _: whole("I would rather not say.")

    complete(alice, "What is my passport number?")

    assert sources_of(alice, reply_of(alice)) == []


def test_an_answer_leaves_search_when_the_session_or_the_document_that_it_quotes_is_deleted(alice, told):
    ask(alice)
    reset = {"namespace": "alice", "session_id": "s0", "confirm": True}
    assert alice.post("/v1/sessions/reset", reset).status_code == 200
    assert reply_of(alice).state == MemoryState.ARCHIVED

    document = {"namespace": "alice", "document_id": "guide", "text": "The office opens at nine on weekdays."}
    assert alice.post("/v1/documents", document).status_code == 200
    asked = {"namespace": "alice", "session_id": "s3", "query": "When does the office open?", "remember": True}
    assert "at nine" in alice.post("/v1/answer", asked).json()["answer"]
    quoting = Memory.objects.in_scope(alice.scope).get(session="s3", role="agent")
    assert len(sources_of(alice, quoting)) == 1

    document["text"] = "The office opens at ten on weekdays."
    assert alice.post("/v1/documents", document).status_code == 200
    quoting.refresh_from_db()
    assert quoting.state == MemoryState.ARCHIVED


def test_an_answer_is_not_remembered_when_what_it_quotes_was_erased_meanwhile(alice, told, monkeypatch):
    from memory.services.answers import conversation

    complete_answer = conversation.complete

    def erase_before_it_is_stored(sources: Any) -> Any:
        answered = complete_answer(sources)
        done = alice.post("/v1/erasures", {"namespace": "alice", "memory_ids": [told], "reason": "asked by Ada"}).json()
        run_task("erase", alice.scope.namespace_id, done["id"])
        return answered

    monkeypatch.setattr(conversation, "complete", erase_before_it_is_stored)
    answer = alice.post("/v1/answer", {**ASKED, "remember": True}).json()

    assert [turn["role"] for turn in answer["remembered"]] == ["user"]
    assert "turn_not_remembered" in answer["degraded"]
    assert not Memory.objects.in_scope(alice.scope).filter(text__contains=NUMBER).exists()
