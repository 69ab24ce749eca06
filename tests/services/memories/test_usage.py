"""Uses are counted in the background, each once; importance follows the known uses, but never replaces a person's."""

from __future__ import annotations

import time
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import AuditLog, Memory, MemoryUpkeep, UpkeepMark
from memory.models.keys import first_id_of, new_id
from memory.services.memories import edit, usage
from memory.services.retention import importance as rating
from memory.services.tenancy.policy import put_policy
from memory.types import system_access
from tests.conftest import Tenant
from tests.job_queue import run_task

FACT = "The kiln of the pottery in Lisbon fires at 1,240 degrees."
MARKED = "Crane four is out of service until June."
TALK = "Oh, the weather up there was so lovely again."
REPEATED = "Tove takes the northern approach in strong wind."


def ask(tenant: Tenant, path: str = "/v1/query", **fields) -> None:
    body = {"namespace": tenant.scope.namespace, "query": "kiln", "top_k": 1, **fields}
    assert tenant.post(path, body | ({"session_id": "s9"} if path == "/v1/query" else {})).status_code == 200


def later():
    """Return the time when present events are settled."""
    return timezone.now() + 2 * usage.SETTLED


def uses(memory_id: str) -> int:
    row = MemoryUpkeep.objects.across_namespaces().filter(memory_id=memory_id).first()
    return row.uses if row else 0


def rate(tenant: Tenant) -> int:
    return rating.rate(tenant.scope.namespace_id, deadline=time.monotonic() + 60)


def importance(memory_id: str) -> float:
    return Memory.objects.across_namespaces().get(pk=memory_id).importance


class TestUses:
    def test_packs_and_searches_count_and_dry_runs_do_not(self, alice, remember):
        memory_id = remember(alice, FACT)
        ask(alice)
        ask(alice, "/v1/search")
        ask(alice, dry_run=True)
        ask(alice, "/v1/search", dry_run=True)

        assert usage.count_uses(now=later()) == 2
        row = MemoryUpkeep.objects.across_namespaces().get(memory_id=memory_id)
        assert (row.uses, row.stale) == (2, True)
        assert abs(row.last_used_at - timezone.now()) < timedelta(minutes=5)

    def test_a_query_writes_no_count_itself(self, alice, remember):
        remember(alice, FACT)
        ask(alice)

        assert not MemoryUpkeep.objects.across_namespaces().exists()

    def test_each_use_counts_once(self, alice, remember):
        memory_id = remember(alice, FACT)
        ask(alice)

        assert [usage.count_uses(now=later()) for _ in range(3)] == [1, 0, 0]
        ask(alice)
        assert usage.count_uses(now=later()) == 1
        assert uses(memory_id) == 2

    def test_more_events_than_a_batch(self, alice, remember, monkeypatch):
        monkeypatch.setattr(usage, "EVENTS", 3)
        memory_id = remember(alice, FACT)
        for _ in range(5):
            ask(alice)

        assert usage.count_uses(now=later()) == 5
        assert uses(memory_id) == 5

    def test_without_time_it_goes_on_the_next_time(self, alice, remember):
        remember(alice, FACT)
        ask(alice)

        assert usage.count_uses(now=later(), seconds=-1) == 0
        assert usage.count_uses(now=later()) == 1

    def test_young_events_wait(self, alice, remember):
        remember(alice, FACT)
        ask(alice)

        assert run_task("count_uses") == 0
        assert usage.count_uses(now=later()) == 1

    def test_a_clock_that_was_ahead_does_not_stop_the_count(self, alice, remember):
        memory_id = remember(alice, FACT)
        UpkeepMark.objects.create(name="uses", position=first_id_of(timezone.now() + timedelta(days=900)))

        assert usage.count_uses(now=timezone.now()) == 0
        ask(alice)
        assert usage.count_uses(now=later()) == 1
        assert uses(memory_id) == 1

    def test_what_is_gone_or_of_another_tenant_is_left_out(self, alice, bob, remember):
        of_bob = remember(bob, FACT)
        for ids in ([str(uuid.uuid4())], [of_bob], "all", None, {"a": 1}):
            AuditLog.objects.create(
                namespace_id=alice.scope.namespace_id, event_type="QUERY", actor="t", details={"memory_ids": ids}
            )

        assert usage.count_uses(now=later()) == 0
        assert not MemoryUpkeep.objects.across_namespaces().exists()

    def test_upkeep_goes_with_its_memory(self, alice, remember):
        remember(alice, FACT)
        ask(alice)
        usage.count_uses(now=later())
        alice.post("/v1/sessions/reset", {"namespace": "alice", "session_id": "s1", "confirm": True})

        assert not MemoryUpkeep.objects.across_namespaces().exists()

    def test_ids_sort_by_their_moment(self):
        before = first_id_of(timezone.now() - timedelta(seconds=1))
        assert before < new_id() < first_id_of(timezone.now() + timedelta(seconds=1))
        assert before.version == 7


class TestImportance:
    def test_a_new_memory_has_the_importance_of_its_text(self, alice, remember):
        assert importance(remember(alice, FACT)) > 0.55
        assert importance(remember(alice, "Thanks!")) < 0.4

    def test_a_documents_chunks_have_one_too(self, alice):
        alice.post("/v1/documents", {"namespace": "alice", "text": FACT})

        assert Memory.objects.across_namespaces().get().importance > 0.53

    def test_use_marks_and_repetition_raise_it(self, alice, remember):
        used, marked, repeated = remember(alice, FACT), remember(alice, MARKED), remember(alice, REPEATED)
        remember(alice, REPEATED)
        before = {memory_id: importance(memory_id) for memory_id in (used, marked, repeated)}
        ask(alice)
        usage.count_uses(now=later())
        body = {"namespace": "alice", "query": "q", "marks": [{"memory_id": marked, "relevant": True}]}
        alice.post("/v1/judgements", body)

        assert rate(alice) == 4
        assert all(importance(memory_id) > value for memory_id, value in before.items())
        assert rate(alice) == 0

    def test_a_mark_that_says_wrong_lowers_it_and_a_later_one_raises_it_again(self, alice, remember):
        memory_id = remember(alice, FACT)
        before = importance(memory_id)
        for relevant in (False, True):
            body = {"namespace": "alice", "query": "q", "marks": [{"memory_id": memory_id, "relevant": relevant}]}
            alice.post("/v1/judgements", body)
            rate(alice)
            assert (importance(memory_id) > before) is relevant

    def test_what_a_person_has_set_stays(self, alice, remember):
        first, second = remember(alice, FACT), remember(alice, FACT + "!")
        edit.edit(system_access("ann"), memory_id=uuid.UUID(first), importance=0.9, reason="r", now=timezone.now())
        MemoryUpkeep.objects.create(namespace_id=alice.scope.namespace_id, memory_id=second, uses=5, stale=True)
        rate(alice)
        rated = importance(second)
        edit.edit(system_access("ann"), memory_id=uuid.UUID(second), importance=0.1, reason="r", now=timezone.now())
        MemoryUpkeep.objects.update_or_create(
            namespace_id=alice.scope.namespace_id, memory_id=first, defaults={"uses": 9, "stale": True}
        )
        MemoryUpkeep.objects.across_namespaces().filter(memory_id=second).update(uses=30, stale=True)

        assert rate(alice) == 0
        assert (importance(first), importance(second)) == (0.9, 0.1)
        assert rated > 0.5

    def test_small_talk_is_rated_by_the_policy_of_today_and_not_taken_for_a_person_s_rating(self, alice, remember):
        memory_id = remember(alice, TALK)
        written = importance(memory_id)
        MemoryUpkeep.objects.create(namespace_id=alice.scope.namespace_id, memory_id=memory_id, uses=1, stale=True)
        put_policy(alice.scope, wanted={"gate": {"worth_threshold": 0}}, now=timezone.now())

        assert rate(alice) == 1
        assert importance(memory_id) > written + 0.12
        put_policy(alice.scope, wanted={}, now=timezone.now())
        MemoryUpkeep.objects.across_namespaces().update(stale=True)
        assert rate(alice) == 1
        assert importance(memory_id) < written + 0.12

    def test_a_memory_from_before_importance_was_computed_gets_one(self, alice, remember):
        memory_id = remember(alice, FACT)
        Memory.objects.across_namespaces().update(importance=rating.UNRATED)
        MemoryUpkeep.objects.create(namespace_id=alice.scope.namespace_id, memory_id=memory_id, uses=1, stale=True)

        assert rate(alice) == 1
        assert importance(memory_id) > 0.55

    def test_the_same_text_of_another_tenant_is_no_repetition(self, alice, bob, remember):
        remember(alice, FACT)
        remember(bob, FACT)

        assert rate(alice) == 0
        assert not MemoryUpkeep.objects.across_namespaces().exists()

    def test_more_than_a_batch(self, alice, remember, monkeypatch):
        monkeypatch.setattr(rating, "BATCH", 2)
        for _ in range(5):
            remember(alice, FACT)

        assert rate(alice) == 5
        assert not MemoryUpkeep.objects.across_namespaces().filter(stale=True).exists()
        assert set(MemoryUpkeep.objects.across_namespaces().values_list("repeats", flat=True)) == {5}


@pytest.mark.django_db(transaction=True)
def test_uses_are_counted_outside_a_transaction_too(alice, remember):
    memory_id = remember(alice, FACT)
    ask(alice)

    assert usage.count_uses(now=later()) == 1
    assert uses(memory_id) == 1
