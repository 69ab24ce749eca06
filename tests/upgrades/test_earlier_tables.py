"""What is stored is right after an upgrade from the tables of earlier versions.

Back to them and forth again once, for all that is looked at: each way takes seconds.
"""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import connection

from memory import caches
from memory.models import EvaluationRun, Memory, MemoryVector
from memory.models.keys import new_id
from memory.services.index import embedding_model, marks
from memory.services.index.missing_vectors import embed_pending
from tests.upgrades.steps import step_to

LONG = ("The lighthouse keeper wrote a letter about the storm to his sister in the south of the island. " * 60).strip()


def marked() -> dict[str, bool]:
    return dict(Memory.objects.across_namespaces().values_list("text", "embedded"))


def have_vectors() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT memory_id::text FROM memory_memoryvector ORDER BY memory_id")
        return [row[0] for row in cursor.fetchall()]


def insert_evaluations() -> tuple[dict[object, int], dict[int, tuple[str, bool]]]:
    """Runs of which several stand side by side: their numbers by id, and by number what they are to be: the status, and
    whether it says an error."""
    runs = [
        ((0, "pottery", "queued"), ("failed", True)),
        ((0, "pottery", "queued"), ("failed", True)),
        ((0, "pottery", "running"), ("running", False)),
        ((0, "weaving", "queued"), ("queued", False)),
        ((0, "weaving", "queued"), ("failed", True)),
        ((0, "weaving", "finished"), ("finished", False)),
        ((1, "", "queued"), ("queued", False)),
        ((2, "", "queued"), ("queued", False)),
    ]
    ids: dict[object, int] = {}
    with connection.cursor() as cursor:
        for number, ((namespace_id, dataset, status), _) in enumerate(runs):
            ids[identity := new_id()] = number
            cursor.execute(
                "INSERT INTO memory_evaluationrun (id, namespace_id, namespace, dataset, label, content_digest, "
                "options, configuration, metrics, notes, status, error, actor, created_at) "
                "VALUES (%s, %s, '', %s, '', '', '{}', '{}', '{}', '[]', %s, '', 'tests', now())",
                [identity, namespace_id, dataset, status],
            )
    return ids, {number: expected for number, (_, expected) in enumerate(runs)}


@pytest.mark.django_db(transaction=True)
def test_what_is_stored_is_right_after_an_upgrade(alice, remember, monkeypatch):
    monkeypatch.setattr(embedding_model, "_active", caches.for_seconds(0.0))
    long, short, none = (remember(alice, text) for text in (LONG, "short", "has none"))
    MemoryVector.objects.across_namespaces().filter(memory_id=none).delete()
    try:
        # Before a memory could have several vectors.
        step_to("0005_plan_every_tenant_alike")
        had_vectors = have_vectors()
        # Before equal evaluations could not be open side by side.
        step_to("0010_large_namespaces_storage")
        ids, expected = insert_evaluations()
    finally:
        call_command("migrate", verbosity=0)

    rows = EvaluationRun.objects.across_namespaces().values_list("pk", "status", "error")
    assert {ids[pk]: (status, bool(error)) for pk, status, error in rows} == expected

    # Long memories are left to the worker, and short ones as they are; marks say which.
    assert had_vectors == [long, short]
    assert have_vectors() == [short]
    assert marked() == {LONG: False, "short": True, "has none": False}
    remember(alice, "comes later")
    assert not marks.wrong()
    assert embed_pending() == 2
    assert MemoryVector.objects.across_namespaces().filter(memory_id=long).count() > 4
    assert not marks.wrong()
