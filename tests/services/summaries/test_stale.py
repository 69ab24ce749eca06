"""Cards do not contain retired statements, neither at once nor when rebuilt; reinstated statements return."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from memory.enums import SummaryTrigger
from memory.models import Condensation, ContextPack, Memory, StaleSource
from memory.services.erasure.run import carry_out
from memory.services.memories import reinstate
from memory.services.memories import settle as settling
from memory.services.summaries import condense
from memory.services.summaries import stale as stale_summaries
from memory.services.summaries.condense import condense_session
from memory.stores import window
from memory.types import Scope, system_access
from tests.job_queue import work_off

MARCH, MAY = (datetime(2026, month, 10, 12, tzinfo=UTC) for month in (3, 5))
OLD = "I love chess problems. We decided to mend the oboe on Friday."
NEW = "I've lost interest in chess problems. The harbour was cold today."
STAFF = system_access("staff:ann")


@pytest.fixture
def told(alice, remember) -> tuple[uuid.UUID, uuid.UUID]:
    """Remember a memory that is summarised, and one of another session that takes a part of it back."""
    old = remember(alice, OLD, session="march", speaker="Ann", occurred_at=MARCH)
    remember(alice, "The night train leaves from platform nine.", session="march", speaker="Ann", occurred_at=MARCH)
    condense_session(alice.scope, session="march", now=timezone.now())
    assert "chess" in newest(alice).condensed_text
    new = remember(alice, NEW, session="may", speaker="Ann", occurred_at=MAY)
    return uuid.UUID(old), uuid.UUID(new)


def settle() -> None:
    settling.settle_pending(now=timezone.now())


def newest(tenant) -> Condensation:
    return Condensation.objects.in_scope(tenant.scope).filter(session="march").order_by("-number").first()


def ask(tenant, **more) -> dict:
    window.forget(tenant.scope.namespace_id, "march")
    body = {"namespace": "alice", "session_id": "march", "query": "when is the oboe mended?", **more}
    answer = tenant.post("/v1/query", body)
    assert answer.status_code == 200, answer.json()
    return answer.json()


def test_end_to_end_a_new_query_hands_the_old_value_over_neither_before_nor_after_the_card_is_made_anew(alice, told):
    before = ask(alice)
    assert "love chess" in before["context_pack"]["text"]
    stored = ContextPack.objects.across_namespaces().get().pack

    settle()
    at_once = ask(alice)
    work_off()
    after = ask(alice)

    for answer in (at_once, after):
        assert "chess" not in json.dumps(answer["context_pack"]["working_memory"]["session_summary"])
        assert "love chess" not in answer["context_pack"]["text"]
        assert "love chess" not in answer["condensed_summary"]
    assert "platform nine" in after["condensed_summary"]
    assert "oboe" in after["condensed_summary"], "what stood beside it is told still"
    assert ContextPack.objects.across_namespaces().order_by("id").first().pack == stored, (
        "what was handed over stays as it was"
    )


def test_the_new_version_says_why_it_was_made_and_the_former_stays(alice, told):
    first = newest(alice)
    settle()
    work_off()

    card = newest(alice)
    assert (card.number, card.trigger_reason) == (2, SummaryTrigger.STALE)
    assert (card.covers_to_turn, card.token_original) == (first.covers_to_turn, first.token_original)
    assert "chess" not in card.condensed_text
    assert "chess" in Condensation.objects.across_namespaces().get(pk=first.pk).condensed_text
    assert not StaleSource.objects.across_namespaces().exists()
    assert all(
        len(json.loads(card.condensed_text)[bucket]) == len(sources) for bucket, sources in card.item_sources.items()
    )


def test_what_a_person_brings_back_is_told_again(alice, told):
    settle()
    work_off()
    reinstate.reinstate(STAFF, memory_id=told[0], reason="both hold", now=timezone.now())
    work_off()

    assert "love chess" in newest(alice).condensed_text
    assert newest(alice).number == 3


def test_a_superseded_memory_is_no_longer_quoted(alice, remember, told):
    settle()
    work_off()
    newer = remember(alice, "The night train leaves from platform two.", session="may", occurred_at=MAY)
    train = Memory.objects.across_namespaces().get(text__contains="platform nine")
    alice.post(f"/v1/memories/{train.pk}/supersede", {"by": newer, "reason": "moved"})

    assert "platform nine" not in ask(alice)["condensed_summary"]
    work_off()
    assert "platform nine" not in newest(alice).condensed_text


def test_as_of_a_time_before_it_tells_what_was_believed_then(alice, told):
    before = timezone.now()
    settle()
    work_off()
    assert "love chess" in ask(alice, as_of=before.isoformat())["condensed_summary"]


def test_nothing_to_change_makes_no_version(alice, told):
    stale_summaries.mark([Memory.objects.across_namespaces().get(text__contains="platform nine")])
    work_off()
    assert newest(alice).number == 1
    assert not StaleSource.objects.across_namespaces().exists()
    assert stale_summaries.renew(alice.scope, session="march", now=timezone.now()) is None


def test_a_session_without_a_summary_keeps_no_mark(alice, remember):
    remember(alice, OLD, session="march", occurred_at=MARCH)
    remember(alice, NEW, session="may", occurred_at=MAY)
    settle()
    assert StaleSource.objects.across_namespaces().exists()
    work_off()
    assert not StaleSource.objects.across_namespaces().exists()
    condense_session(alice.scope, session="march", now=timezone.now())
    assert "chess" not in newest(alice).condensed_text, "what is retired is not told by a first summary either"


def test_what_is_retired_while_a_card_is_written_is_not_in_it(alice, remember, monkeypatch):
    remember(alice, OLD, session="march", occurred_at=MARCH)
    remember(alice, NEW, session="may", occurred_at=MAY)
    write = condense._write_card

    def late(*arguments):
        monkeypatch.setattr(condense, "_write_card", write)
        written = write(*arguments)
        settle()
        return written

    monkeypatch.setattr(condense, "_write_card", late)
    assert condense_session(alice.scope, session="march", now=timezone.now()) == []
    condense_session(alice.scope, session="march", now=timezone.now())
    assert "chess" not in newest(alice).condensed_text


def test_what_is_marked_while_a_card_is_made_anew_is_looked_at_again(alice, told, monkeypatch):
    settle()
    write = stale_summaries._write
    train = Memory.objects.across_namespaces().get(text__contains="platform nine")

    def late(stale):
        monkeypatch.setattr(stale_summaries, "_write", write)
        stale_summaries.mark([train])
        return write(stale)

    monkeypatch.setattr(stale_summaries, "_write", late)
    stored = stale_summaries.renew(alice.scope, session="march", now=timezone.now())

    assert stored is not None
    assert stored.trigger_details["stale_memories"] == 2
    assert not StaleSource.objects.across_namespaces().filter(session="march").exists()


def test_an_erased_memory_leaves_no_mark(alice, told):
    settle()
    answer = alice.post("/v1/erasures", {"namespace": "alice", "memory_ids": [str(told[0])], "reason": "asked for"})
    receipt = uuid.UUID(answer.json()["id"])
    carry_out(namespace_id=alice.scope.namespace_id, erasure_id=receipt, now=timezone.now)
    assert not StaleSource.objects.across_namespaces().filter(memory_id=told[0]).exists()


def test_it_stays_in_the_namespace(alice, bob, told):
    settle()
    theirs = Scope(bob.scope.namespace_id, "bob", "worker")
    assert stale_summaries.renew(theirs, session="march", now=timezone.now()) is None
    assert StaleSource.objects.in_scope(alice.scope).exists()
