"""Statements that a newer memory takes back leave search: in the background, with a reason, and reversibly."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memory.enums import AuditEvent, LinkKind, Review
from memory.models import AuditLog, Memory, MemoryLink, MemoryVector, NamespaceStat, Posting, RetiredStatement, Session
from memory.services.erasure.run import carry_out
from memory.services.index.embedding import embed_memories, passages_to_embed
from memory.services.index.missing_vectors import embed_pending
from memory.services.memories import edit, outcome
from memory.services.memories import settle as settling
from memory.services.sessions.reset import reset_session
from memory.types import system_access
from tests.vectorless import take_vectors

MARCH, APRIL, MAY = (datetime(2026, month, 10, 12, tzinfo=UTC) for month in (3, 4, 5))
OLD = "I love chess problems. My oboe is mended at last."
OVER = "I've lost interest in chess problems."
NEW = f"{OVER} The harbour was cold today."


def settle() -> int:
    return settling.settle_pending(now=timezone.now())


def ask(tenant, query: str, **more) -> list[dict]:
    answer = tenant.post("/v1/search", {"namespace": tenant.scope.namespace, "query": query, "top_k": 5, **more})
    assert answer.status_code == 200, answer.json()
    return answer.json()["hits"]


def texts(tenant, query: str, **more) -> list[str]:
    return [hit["text"] for hit in ask(tenant, query, **more)]


def indexed_terms(tenant) -> int:
    rows = NamespaceStat.objects.filter(namespace_id=tenant.scope.namespace_id)
    return sum(rows.values_list("terms", flat=True))


@pytest.fixture
def told(alice, remember) -> tuple[str, str]:
    """Remember two statements in one memory, and a newer memory that takes one of them back."""
    return (
        remember(alice, OLD, session="march", occurred_at=MARCH),
        remember(alice, NEW, session="may", occurred_at=MAY),
    )


def test_a_statement_that_is_taken_back_is_neither_found_nor_handed_over(alice, told):
    old, new = told
    length = indexed_terms(alice)
    of_both = sum(Memory.objects.across_namespaces().filter(pk__in=told).values_list("length", flat=True))

    assert settle() == 2

    memory = Memory.objects.across_namespaces().get(pk=old)
    assert memory.text == OLD
    assert memory.live.strip() == "My oboe is mended at last."
    assert not Posting.objects.in_scope(alice.scope).filter(memory_id=old, term__startswith="chess").exists()
    assert set(memory.terms) == set(
        Posting.objects.in_scope(alice.scope).filter(memory_id=old).values_list("term", flat=True)
    )
    assert MemoryVector.objects.in_scope(alice.scope).filter(memory_id=old).count() == 1
    assert Memory.objects.across_namespaces().get(pk=new).live == NEW
    fewer = of_both - sum(Memory.objects.across_namespaces().filter(pk__in=told).values_list("length", flat=True))
    assert indexed_terms(alice) == length - fewer < length
    [hit] = [hit for hit in ask(alice, "is the oboe mended?") if hit["id"] == old]
    assert "chess" not in hit["text"]
    assert hit["metadata"]["retired_statements"] == [[0, 22]]


def test_why_it_left_is_in_its_history_and_the_audit_says_nothing_of_the_text(alice, told):
    old, new = told
    settle()

    history = alice.get(f"/v1/memories/{old}/history").json()

    [statement] = history["retired"]
    assert statement["text"] == "I love chess problems."
    assert (statement["by"], statement["withdrawn_at"]) == (new, None)
    assert statement["valid_to"].startswith("2026-05-10")
    assert history["memory"]["retired_statements"] == [[0, 22]]
    [link] = history["links"]
    assert (link["kind"], link["memory_id"], link["actor"]) == ("supersedes", new, "rule:supersession")
    event = AuditLog.objects.across_namespaces().get(event_type=AuditEvent.MEMORY_RETIRE, subject=old)
    assert "chess" not in str(event.details)
    assert event.details["by"] == new
    assert (event.details["before"], event.details["after"]) == ({"retired_statements": 0}, {"retired_statements": 1})


def test_a_memory_of_which_nothing_is_left_is_superseded(alice, remember):
    old = remember(alice, "I love chess problems.", occurred_at=MARCH)
    new = remember(alice, NEW, occurred_at=MAY)

    settle()

    memory = Memory.objects.across_namespaces().get(pk=old)
    assert str(memory.superseded_by) == new
    assert memory.valid_to == MAY
    assert memory.live == memory.text
    assert "I love chess problems." not in texts(alice, "chess problems")


def test_what_was_believed_then_is_found_as_of_then(alice, told):
    before = timezone.now()
    settle()

    assert not any("love chess" in text for text in texts(alice, "who loves chess problems?"))
    then = texts(alice, "who loves chess problems?", as_of=before.isoformat())
    assert OLD in then
    in_april = texts(alice, "who loves chess problems?", valid_at=APRIL.isoformat())
    assert OLD in in_april
    after = texts(alice, "who loves chess problems?", as_of=timezone.now().isoformat())
    assert not any("love chess" in text for text in after)


def test_a_second_run_changes_nothing(alice, told):
    settle()
    events = AuditLog.objects.across_namespaces().count()
    Session.objects.in_scope(alice.scope).update(settled_turn=0)

    assert settle() == 2
    assert AuditLog.objects.across_namespaces().count() == events
    assert RetiredStatement.objects.across_namespaces().filter(memory_id=told[0]).count() == 1
    assert settle() == 0


def test_it_can_be_taken_back_and_is_not_retired_again(alice, told):
    old, _ = told
    settle()

    answer = alice.post(f"/v1/memories/{old}/restore", {"reason": "she still plays", "undo_supersede": True})

    assert answer.status_code == 200, answer.json()
    memory = Memory.objects.across_namespaces().get(pk=old)
    assert memory.retired_spans == []
    assert Posting.objects.in_scope(alice.scope).filter(memory_id=old, term__startswith="chess").exists()
    assert embed_pending() == 1
    Session.objects.in_scope(alice.scope).update(settled_turn=0)
    settle()
    assert Memory.objects.across_namespaces().get(pk=old).retired_spans == []
    assert OLD in texts(alice, "chess problems")


def test_what_was_taken_back_stays_when_another_statement_leaves(alice, remember):
    old = remember(alice, "I love chess problems. I love rye bread. My oboe is mended.", occurred_at=MARCH)
    remember(alice, NEW, occurred_at=APRIL)
    settle()
    alice.post(f"/v1/memories/{old}/restore", {"reason": "she still plays", "undo_supersede": True})
    embed_pending()
    both = "I've lost interest in chess problems. I've lost interest in rye bread. It rained."
    remember(alice, both, session="later", occurred_at=MAY)

    settle()
    embed_pending()

    memory = Memory.objects.across_namespaces().get(pk=old)
    assert memory.live.split(". ")[0] == "I love chess problems"
    assert "rye" not in memory.live
    [vector] = embed_memories([passages_to_embed(memory.live, memory.speaker)]).vectors
    kept = MemoryVector.objects.in_scope(alice.scope).get(memory_id=old).embedding
    assert kept == pytest.approx(vector.tolist(), abs=1e-3)


def test_archiving_and_restoring_keeps_it_out(alice, told):
    old, _ = told
    settle()
    access = system_access("tests")
    edit.archive(access, memory_ids=[uuid.UUID(old)], reason="away", now=timezone.now())
    edit.restore(access, memory_ids=[uuid.UUID(old)], reason="back", now=timezone.now())

    assert not Posting.objects.in_scope(alice.scope).filter(memory_id=old, term__startswith="chess").exists()
    assert Posting.objects.in_scope(alice.scope).filter(memory_id=old, term__startswith="obo").exists()


def test_a_speaker_that_is_named_while_it_is_judged_is_in_the_vector(alice, told, monkeypatch):
    old, _ = told
    whole = outcome._embed_remaining

    def renamed_before(*arguments):
        monkeypatch.setattr(outcome, "_embed_remaining", whole)
        embedded = whole(*arguments)
        edit.edit(system_access("t"), memory_id=uuid.UUID(old), speaker="Anna", reason="it was she", now=MAY)
        return embedded

    monkeypatch.setattr(outcome, "_embed_remaining", renamed_before)
    settle()
    settle()

    memory = Memory.objects.across_namespaces().get(pk=old)
    assert memory.speaker == "Anna"
    expected = embed_memories([passages_to_embed(memory.live, "Anna")]).vectors[0]
    stored = MemoryVector.objects.in_scope(alice.scope).get(memory_id=old).embedding
    assert stored == pytest.approx(expected, abs=1e-3)


def test_a_vector_made_later_is_of_what_is_left(alice, told, settings):
    old, _ = told
    settle()
    kept = MemoryVector.objects.in_scope(alice.scope).get(memory_id=old).embedding
    take_vectors(old)

    assert embed_pending() == 1
    assert MemoryVector.objects.in_scope(alice.scope).get(memory_id=old).embedding == kept


def test_an_edit_begins_anew(alice, told):
    old, _ = told
    settle()

    answer = alice.client.patch(
        f"/v1/memories/{old}",
        data={"text": "I never said a word of chess.", "reason": "wrong"},
        content_type="application/json",
    )

    assert answer.status_code == 200, answer.json()
    assert answer.json().get("changed") == ["text"]
    assert Memory.objects.across_namespaces().get(pk=old).retired_spans == []
    assert not RetiredStatement.objects.across_namespaces().filter(memory_id=old).exists()


def test_an_edited_memory_is_looked_at_again(alice, remember):
    old = remember(alice, OLD, occurred_at=MARCH)
    new = remember(alice, "The harbour was cold today.", occurred_at=MAY)
    settle()
    edit.edit(system_access("tests"), memory_id=uuid.UUID(new), text=NEW, reason="complete", now=timezone.now())

    settling.settle_memory(alice.scope, memory_id=uuid.UUID(new), now=timezone.now())

    assert Memory.objects.across_namespaces().get(pk=old).retired_spans == [0, 22]


def test_a_contradiction_is_flagged_and_nothing_is_dropped(alice, remember):
    old = remember(alice, "I have sailed across the Baltic twice.", occurred_at=MARCH)
    new = remember(alice, "I have never sailed across the Baltic.", occurred_at=MAY)

    settle()

    memory = Memory.objects.across_namespaces().get(pk=old)
    assert memory.review == Review.CONTRADICTION
    assert memory.superseded_by is None
    link = MemoryLink.objects.across_namespaces().get(kind=LinkKind.CONTRADICTS)
    assert (str(link.memory_id), str(link.other_id)) == (new, old)
    event = AuditLog.objects.across_namespaces().get(event_type=AuditEvent.MEMORY_CONTRADICTION, subject=old)
    assert event.details["after"] == {"review": "contradiction"}
    assert "denies" in event.details["reason"]
    assert "Baltic" not in str(event.details)
    assert len(texts(alice, "sailed across the Baltic")) == 2


def test_what_is_said_again_is_linked(alice, remember):
    old = remember(alice, "The northern gate closes at nine.", occurred_at=MARCH)
    new = remember(alice, "The northern gate closes at nine.", occurred_at=MAY)

    settle()

    link = MemoryLink.objects.across_namespaces().get()
    assert (link.kind, str(link.memory_id), str(link.other_id)) == (LinkKind.RESTATES, new, old)


def test_a_later_memory_does_not_take_back_what_came_after_it(alice, remember):
    remember(alice, NEW, occurred_at=MARCH)
    later = remember(alice, OLD, occurred_at=MAY)

    settle()

    assert Memory.objects.across_namespaces().get(pk=later).retired_spans == []


def test_another_tenant_and_another_user_are_left_alone(alice, bob, remember):
    theirs = remember(bob, OLD, occurred_at=MARCH)
    another = remember(alice, OLD, occurred_at=MARCH, metadata={"user_id": "u1"})
    remember(alice, NEW, occurred_at=MAY, metadata={"user_id": "u2"})

    settle()

    assert not RetiredStatement.objects.across_namespaces().filter(memory_id__in=[theirs, another]).exists()


def test_the_agents_words_take_nothing_back(alice, remember):
    old = remember(alice, OLD, occurred_at=MARCH)
    remember(alice, NEW, occurred_at=MAY, role="agent")

    settle()

    assert Memory.objects.across_namespaces().get(pk=old).retired_spans == []


def test_a_policy_leaves_it_to_people(alice, told):
    body = {"namespace": "alice", "policy": {"conflicts": {"settle": False}}}
    assert alice.client.put("/v1/policy", data=body, content_type="application/json").status_code == 200

    assert settle() == 2
    assert Memory.objects.across_namespaces().get(pk=told[0]).retired_spans == []
    assert settle() == 0

    body = {"namespace": "alice", "policy": {"conflicts": {"settle": True}}}
    assert alice.client.put("/v1/policy", data=body, content_type="application/json").status_code == 200
    assert settle() == 2
    assert Memory.objects.across_namespaces().get(pk=told[0]).retired_spans == [0, 22]
    assert settle() == 0


def test_chinese(alice, remember):
    old = remember(alice, "我喜欢下围棋。我的琴修好了。", occurred_at=MARCH)
    remember(alice, "我不再喜欢下围棋了。今天码头很冷。", occurred_at=MAY)

    settle()

    assert Memory.objects.across_namespaces().get(pk=old).live == "我的琴修好了。"


def test_a_session_that_is_emptied_is_looked_at_from_its_beginning(alice, remember, told):
    settle()
    reset_session(alice.scope, session="may", dry_run=False, clear_audit=False, now=timezone.now())
    remember(alice, NEW, session="may", occurred_at=MAY)

    assert settle() == 1


def test_an_erased_memory_takes_its_statements_with_it(alice, told):
    old, _ = told
    settle()
    answer = alice.post("/v1/erasures", {"namespace": "alice", "memory_ids": [old], "reason": "asked for"})
    assert answer.status_code in (200, 201, 202), answer.json()
    carry_out(namespace_id=alice.scope.namespace_id, erasure_id=uuid.UUID(answer.json()["id"]), now=timezone.now)

    assert not RetiredStatement.objects.across_namespaces().filter(memory_id=old).exists()


@pytest.mark.django_db(transaction=True)
def test_two_runs_at_once_retire_once(alice, told):
    def run(_: int) -> int:
        try:
            return settle()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(run, range(4)))

    assert sum(counts) == 2
    assert RetiredStatement.objects.across_namespaces().filter(memory_id=told[0]).count() == 1
    assert AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.MEMORY_RETIRE).count() >= 1
    assert (
        timedelta(0)
        <= timezone.now() - RetiredStatement.objects.across_namespaces().first().retired_at
        < timedelta(minutes=5)
    )
