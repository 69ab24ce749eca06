"""Queries of tenants' rows that name no namespace are refused, so that a forgotten condition leaks nothing."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q
from django.shortcuts import get_object_or_404
from django.test.utils import CaptureQueriesContext

from memory.enums import JobState
from memory.models import Job, Memory, MemoryLink, Namespace, Procedure, Session
from memory.models.scoped import ScopedQuerySet, ScopeMissing
from memory.types import Access, Scope, system_access

SCOPED = [
    model
    for model in apps.get_app_config("memory").get_models()
    if isinstance(model._default_manager.none(), ScopedQuerySet)
]
# Uses of a queryset that query the database.
WAYS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "first": lambda rows: rows.first(),
    "last": lambda rows: rows.last(),
    "count": lambda rows: rows.count(),
    "exists": lambda rows: rows.exists(),
    "aggregate": lambda rows: rows.aggregate(n=Count("*")),
    "iterator": lambda rows: list(rows.iterator()),
    "values": lambda rows: list(rows.values()),
    "values_list": lambda rows: list(rows.values_list("pk", flat=True)),
    "distinct": lambda rows: list(rows.order_by().values_list("namespace_id", flat=True).distinct()),
    "annotate": lambda rows: list(rows.order_by().values("namespace_id").annotate(n=Count("*"))),
    "only": lambda rows: list(rows.only("pk")),
    "order_by": lambda rows: list(rows.order_by("-pk")),
    "slice": lambda rows: list(rows[:5]),
    "count of a slice": lambda rows: rows[:5].count(),
    "item": lambda rows: list(rows[0:1]),
    "exclude": lambda rows: list(rows.exclude(namespace_id=0)),
    "in_bulk": lambda rows: rows.in_bulk(),
    "union": lambda rows: list(rows.values("pk").union(rows.values("pk"))),
    "explain": lambda rows: rows.explain(),
    "lock": lambda rows: list(rows.order_by("pk").select_for_update()),
    "update": lambda rows: rows.update(namespace_id=F("namespace_id")),
    "delete": lambda rows: rows.delete(),
    "raw delete": lambda rows: rows._raw_delete("default"),
}


CHANGES = ("update", "delete", "raw delete")


@pytest.fixture
def nobodys(db) -> Scope:
    """Return a namespace without rows."""
    return Scope(Namespace.objects.create(name="nobodys").pk, "nobodys", "test")


def test_the_models_of_tenants_are_tried():
    assert len(SCOPED) > 30
    assert {Memory, Session, Job} <= set(SCOPED)


@pytest.mark.parametrize("model", SCOPED, ids=lambda model: model.__name__)
def test_without_a_namespace_nothing_is_read_or_changed(db, model: Any):
    message = rf"query of {model.__name__} names no namespace.*\.in_scope\(scope\)"
    for way, ask in WAYS.items():
        with pytest.raises(ScopeMissing, match=message):
            pytest.fail(f"{way} answered {ask(model.objects.all())!r}")


@pytest.mark.parametrize("model", SCOPED, ids=lambda model: model.__name__)
def test_what_does_not_say_which_namespace_names_none(model: Any):
    rows = model.objects
    for ask in (
        rows.get,
        lambda: get_object_or_404(model),
        lambda: rows.exclude(namespace_id=1).exists(),
        lambda: rows.filter(namespace_id__gt=0).exists(),
        lambda: rows.filter(namespace_id=F("namespace_id")).exists(),
        lambda: rows.filter(Q(namespace_id=1) | ~Q(namespace_id=2)).exists(),
        lambda: rows.filter(Q(namespace_id=1) ^ ~Q(namespace_id=2)).exists(),
    ):
        with pytest.raises(ScopeMissing):
            ask()


@pytest.mark.parametrize("model", SCOPED, ids=lambda model: model.__name__)
def test_with_a_namespace_everything_works(nobodys: Scope, model: Any):
    of_one = Access(actor="test", namespace_ids=frozenset({nobodys.namespace_id}))
    named = [
        model.objects.in_scope(nobodys),
        model.objects.reachable_by(of_one),
        model.objects.reachable_by(Access(actor="test")),
        model.objects.filter(namespace_id=nobodys.namespace_id),
        model.objects.filter(namespace_id__in=[nobodys.namespace_id]),
    ]
    every = [model.objects.across_namespaces(), model.objects.reachable_by(system_access("test"))]
    for way, ask in WAYS.items():
        for rows in named if way in CHANGES else named + every:
            ask(rows.all())
    assert not model.objects.none()


def test_what_names_the_namespace_in_other_words_works(nobodys):
    namespace = Namespace.objects.get(pk=nobodys.namespace_id)
    for rows in (
        Memory.objects.filter(namespace=namespace),
        Memory.objects.filter(namespace__name="nobodys"),
        Memory.objects.filter(namespace__in=Namespace.objects.filter(name="nobodys")),
        Memory.objects.filter(Q(namespace=namespace) & ~Q(turn=1)),
        Memory.objects.filter(Q(namespace=namespace, turn=1) | Q(namespace=namespace, turn=2)),
        Memory.objects.in_scope(nobodys) | Memory.objects.filter(namespace_id=0),
        namespace.memories.all(),
        Session.objects.filter(pk=(nobodys.namespace_id, "s")),
        Session.objects.filter(pk__in=[(nobodys.namespace_id, "s")]),
        Procedure.objects.filter(namespace=None),
    ):
        assert list(rows) == []
    with pytest.raises(ScopeMissing):
        list(Memory.objects.in_scope(nobodys) | Memory.objects.filter(turn=1))
    with pytest.raises(ScopeMissing):
        list(Memory.objects.in_scope(nobodys).union(Memory.objects.filter(turn=1)))


def test_a_subquery_names_the_namespace_of_its_rows(nobodys):
    rows = Memory.objects.in_scope(nobodys)
    links = MemoryLink.objects.filter(memory_id=OuterRef("pk"))

    assert not rows.filter(Exists(links.filter(namespace_id=OuterRef("namespace_id")))).exists()
    for inner in (Exists(links), Q(pk__in=MemoryLink.objects.values("memory_id"))):
        with pytest.raises(ScopeMissing, match="MemoryLink"):
            rows.filter(inner).exists()


def test_rows_are_made_and_found_by_what_django_does_itself(alice, remember):
    """Saving, refreshing, related rows, cascading deletes and dumps do not need the scope a second time."""
    memory_id = remember(alice, "hello")
    memory = Memory.objects.in_scope(alice.scope).get()
    namespace = Namespace.objects.get(pk=alice.scope.namespace_id)

    memory.refresh_from_db()
    memory.full_clean()
    memory.save()
    assert str(memory.pk) == str(memory_id)
    assert namespace.memories.get() == memory
    assert MemoryLink(namespace=namespace, memory_id=memory.pk).memory == memory
    job, made = Job.objects.get_or_create(namespace_id=namespace.pk, kind="test")
    assert made
    assert Job.objects.update_or_create(namespace_id=namespace.pk, kind="test", defaults={"error": "x"})[0].pk == job.pk
    Job.objects.bulk_create([Job(namespace_id=0, kind="test")])
    assert Job.objects.filter(namespace_id=0, kind="test").update(state=JobState.DONE) == 1
    Session.objects.in_scope(alice.scope).bulk_update(Session.objects.in_scope(alice.scope), ["message_count"])
    spare = Namespace.objects.create(name="spare")
    Procedure.objects.create(namespace=spare, name="p")
    spare.delete()
    assert not Procedure.objects.across_namespaces().filter(name="p").exists()
    dumped = StringIO()
    call_command("dumpdata", "memory.memory", stdout=dumped)
    assert str(memory.pk) in dumped.getvalue()


def test_saving_names_the_namespace_and_reaches_no_row_of_another(alice, bob, remember):
    memory_id = remember(alice, "hello")
    stolen = Memory(pk=memory_id, namespace_id=bob.scope.namespace_id, text="stolen")

    with CaptureQueriesContext(connection) as sent:
        Memory.objects.in_scope(alice.scope).get().save()
    with pytest.raises(DatabaseError, match="did not affect any rows"), transaction.atomic():
        stolen.save(force_update=True)

    [update] = [one["sql"] for one in sent if one["sql"].startswith("UPDATE")]
    written, condition = update.split(" WHERE ")
    assert '"namespace_id" = ' in condition
    assert "namespace_id" not in written
    assert Memory.objects.in_scope(alice.scope).get().text == "hello"
