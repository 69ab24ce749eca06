from __future__ import annotations

import importlib
from datetime import UTC, datetime, timedelta

import pytest
from django.apps import apps
from django.utils import timezone

from memory.demo.conversations import conversations
from memory.demo.procedures import demo_procedures
from memory.demo.seed import seed_demo_namespace, seed_session
from memory.enums import AuditEvent, ProcedureKind, Review, Role
from memory.errors import NotFound
from memory.models import AuditLog, Memory, MemoryUpkeep, Namespace, Procedure, QuarantinedItem, Session
from memory.services.memories.settle import settle_namespace
from memory.services.sessions.reset import reset_session
from memory.services.summaries.condense import condense_session
from memory.text.tokens import count_tokens
from memory.types import Access, Scope, system_access

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
STAFF = system_access("tests")


@pytest.fixture
def scope(db: None) -> Scope:
    return Scope(Namespace.objects.create(name="demo").pk, "demo", "key:test")


def test_the_demo_shows_what_a_memory_has_to_cope_with() -> None:
    turns = [turn for entry in conversations() for turn in entry.memories(session=entry.session, now=NOW)]
    assert 60 <= len(turns) <= 80
    assert {turn.role for turn in turns} <= set(Role.values)
    assert all(turn.occurred_at and turn.occurred_at < NOW for turn in turns)
    assert len({turn.occurred_at.date() for turn in turns if turn.occurred_at}) == len(conversations())
    texts = [turn.text for turn in turns]
    paris, berlin = (
        next(n for n, text in enumerate(texts) if part in text) for part in ("live in Paris", "moved to Berlin")
    )
    assert paris < berlin
    assert sum("PostgreSQL for the event store" in text for text in texts) == 2
    assert sum("我们决定用 Redis 做限流" in text for text in texts) == 2


def test_there_is_something_to_curate(db: None) -> None:
    seed_demo_namespace(STAFF, namespace="demo", now=NOW)
    scope = Scope(Namespace.objects.get(name="demo").pk, "demo", "key:test")

    settle_namespace(scope, now=NOW)

    rows = Memory.objects.in_scope(scope)
    [poisoned] = QuarantinedItem.objects.in_scope(scope)
    assert poisoned.rule == "injection.override"
    assert not rows.filter(text__contains="previous instructions").exists()
    assert [row.text[:32] for row in rows.filter(review=Review.CONTRADICTION)] == ["I have played in the concert hal"]
    [expiring] = MemoryUpkeep.objects.in_scope(scope).exclude(expires_at=None)
    assert expiring.expires_at == NOW + timedelta(days=5)
    over = rows.exclude(superseded_by=None) | rows.exclude(retired_spans=[])
    assert any("live in Paris" in row.text for row in over)


def test_even_just_after_midnight_nothing_lies_in_the_future() -> None:
    midnight = datetime(2026, 5, 8, 0, 0, 1, tzinfo=UTC)
    for entry in conversations():
        moments = [turn.occurred_at for turn in entry.memories(session="s", now=midnight)]
        assert moments == sorted(moments)
        assert max(moments) < midnight


def test_a_session_is_filled_once(scope: Scope) -> None:
    first = seed_session(scope, session="mine", reset=False, now=NOW)
    again = seed_session(scope, session="mine", reset=False, now=NOW + timedelta(days=3))
    rows = Memory.objects.in_scope(scope).in_session("mine").order_by("turn")
    assert [row.pk for row in rows] == first == again
    assert (rows[0].speaker, rows[0].occurred_at) == ("林晓", datetime(2026, 4, 24, 2, 0, tzinfo=UTC))
    events = AuditLog.objects.in_scope(scope).filter(event_type=AuditEvent.DEV_SEED)
    assert [(event.session, event.details) for event in events] == [("mine", {"inserted": len(first)})]


def test_a_reset_fills_it_anew(scope: Scope) -> None:
    first = seed_session(scope, session="mine", reset=False, now=NOW)
    second = seed_session(scope, session="mine", reset=True, now=NOW)
    assert set(first).isdisjoint(second)
    assert set(Memory.objects.in_scope(scope).values_list("pk", flat=True)) == set(second)
    assert seed_session(scope, session="mine", reset=False, now=NOW) == second


def test_a_session_that_was_emptied_otherwise_can_be_filled_again(scope: Scope) -> None:
    seed_session(scope, session="mine", reset=False, now=NOW)
    reset_session(scope, session="mine", dry_run=False, clear_audit=True, now=NOW)
    ids = seed_session(scope, session="mine", reset=False, now=NOW)
    assert Memory.objects.in_scope(scope).filter(pk__in=ids).count() == len(ids) > 0


def test_sessions_and_namespaces_are_filled_apart(scope: Scope) -> None:
    other = Scope(Namespace.objects.create(name="other").pk, "other", "key:test")
    ids = [seed_session(where, session="s", reset=False, now=NOW) for where in (scope, other)]
    assert set(ids[0]).isdisjoint(ids[1])


def test_the_demo_namespace_is_filled_once(db: None) -> None:
    new = seed_demo_namespace(STAFF, namespace="shop", now=timezone.now())
    turns = sum(len(entry.turns) for entry in conversations())
    quarantined = QuarantinedItem.objects.filter(namespace__name="shop").count()
    assert new == Memory.objects.filter(namespace__name="shop").count() == turns - quarantined
    assert Session.objects.filter(namespace__name="shop").count() == len(conversations())
    procedures = Procedure.objects.across_namespaces().count()

    assert seed_demo_namespace(STAFF, namespace="shop", now=timezone.now()) == 0
    assert Memory.objects.filter(namespace__name="shop").count() == new
    assert Procedure.objects.across_namespaces().count() == procedures
    assert seed_demo_namespace(STAFF, namespace="shop", now=timezone.now(), reset=True) == new
    assert Memory.objects.filter(namespace__name="shop").count() == new


def test_the_prompt_and_tools_are_the_demos_own_and_keep_what_staff_changed(db: None) -> None:
    seed_demo_namespace(STAFF, namespace="shop", now=NOW)
    prompt = Procedure.objects.across_namespaces().get(kind=ProcedureKind.PROMPT, name="memos.answer-from-memory")
    assert {"search_memory", "remember"} <= set(
        Procedure.objects.across_namespaces().filter(kind=ProcedureKind.TOOL).values_list("name", flat=True)
    )
    assert {entry.namespace.name for entry in Procedure.objects.across_namespaces() if entry.namespace} == {"shop"}
    assert not Procedure.objects.filter(namespace=None).exists()
    prompt.text = "Ours."
    prompt.save()
    seed_demo_namespace(STAFF, namespace="shop", now=NOW)
    prompt.refresh_from_db()
    assert prompt.text == "Ours."


def test_who_does_not_reach_the_namespace_fills_nothing(db: None) -> None:
    Namespace.objects.create(name="shop")
    with pytest.raises(NotFound):
        seed_demo_namespace(Access(actor="key:x", scopes=frozenset({"write"})), namespace="shop", now=NOW)
    assert not Memory.objects.across_namespaces().exists()
    assert not Procedure.objects.across_namespaces().exists()


def given_to_the_demo() -> None:
    migration = importlib.import_module("memory.migrations.0027_demo_procedures")
    migration.give_to_the_demo(apps, None)


def shared(namespace_id: int) -> list[Procedure]:
    """Turn the demo's prompt and tools back into shared ones, as they once were."""
    rows = demo_procedures(namespace_id)
    for row in rows:
        row.namespace = None
        row.save()
    return rows


def test_what_every_namespace_was_given_becomes_the_demos_own(scope: Scope) -> None:
    rows = shared(scope.namespace_id)
    prompt = rows[0]
    prompt.text += " Be brief."
    prompt.save()
    staffs = Procedure.objects.create(kind=ProcedureKind.TOOL, name="search_memory", version="2")

    given_to_the_demo()

    owners = {row.pk: row.namespace_id for row in Procedure.objects.across_namespaces().enabled()}
    assert owners == {prompt.pk: None, staffs.pk: None, rows[1].pk: scope.namespace_id, rows[2].pk: scope.namespace_id}


def test_without_a_demo_they_are_switched_off(db: None) -> None:
    shop = Namespace.objects.create(name="shop")
    shared(shop.pk)
    given_to_the_demo()
    assert not Procedure.objects.across_namespaces().enabled().exists()
    assert Procedure.objects.across_namespaces().count() == 3


def test_one_short_memory_costs_at_most_40_tokens_more_than_it_says(make_tenant) -> None:
    everyone = make_tenant("any", all_namespaces=True)
    seed_demo_namespace(STAFF, namespace="demo", now=NOW)
    text = "Ann prefers window seats."
    everyone.post("/v1/ingest", {"namespace": "mine", "text": text})
    scope = Scope(Namespace.objects.get(name="mine").pk, "mine", "key:test")
    asked = {"namespace": "mine", "query": "Where does Ann like to sit?"}

    packs = [everyone.post("/v1/query", asked).json(), everyone.post("/v1/query", asked | {"session_id": "s"}).json()]
    (session,) = Session.objects.in_scope(scope).values_list("name", flat=True)
    assert condense_session(scope, session=session, now=timezone.now())
    packs.append(everyone.post("/v1/query", asked).json())

    for pack in packs:
        assert text in pack["context_pack"]["text"]
        beside = pack["token_usage_condensed"] - count_tokens(text)
        assert 0 < beside <= 40
    demo = everyone.post("/v1/query", asked | {"namespace": "demo"}).json()
    assert demo["context_pack"]["procedural"]["prompt"]["name"] == "memos.answer-from-memory"
    assert packs[0]["context_pack"]["procedural"] == {"prompt": None, "tools": []}
