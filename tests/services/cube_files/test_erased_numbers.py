"""A new database reuses numbers of namespaces, and the ledger outside the database knows erasures by these numbers."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from memory import ledger
from memory.enums import ErasureStatus, ErasureTarget
from memory.models import Erasure, Memory, Namespace
from memory.services.cube_files.dump import DumpOptions, write_cube
from tests.services.cube_files.test_round_trip import fill

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def cube(alice, settings, tmp_path) -> Path:
    settings.MEMOS_ERASURE_LEDGER = str(tmp_path / "erasures.ledger")
    fill(alice.scope)
    path = tmp_path / "alice.memcube"
    write_cube(alice.scope, path, options=DumpOptions(), now=timezone.now())
    return path


def note(namespace_id: int, *, asked_at: datetime) -> None:
    """Write an erasure of a whole namespace, unknown to the database, into the ledger."""
    erasure = Erasure(
        id=uuid.uuid4(), namespace_id=namespace_id, namespace="", target=ErasureTarget.NAMESPACE, created_at=asked_at,
        status=ErasureStatus.RUNNING,
    )  # fmt: skip
    ledger.note_begin(erasure)


def load(path: Path, namespace: str) -> int:
    call_command("load_cube", str(path), "--namespace", namespace, stdout=StringIO(), stderr=StringIO())
    return Memory.objects.across_namespaces().filter(namespace__name=namespace).count()


def make_older(tenant: Any, *, by: timedelta) -> datetime:
    """Make the namespace older than its erasure; return when it was made."""
    made = timezone.now() - by
    Namespace.objects.filter(pk=tenant.scope.namespace_id).update(created_at=made)
    return made


def test_what_was_erased_under_a_number_before_is_another_namespaces(alice, bob, cube):
    there = Memory.objects.in_scope(alice.scope).count()
    for tenant in (alice, bob):
        note(tenant.scope.namespace_id, asked_at=timezone.now() - HOUR)

    assert load(cube, "bob") == there > 0


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_what_was_erased_since_it_was_made_stays_erased(alice, bob, cube, who):
    tenant = {"alice": alice, "bob": bob}[who]
    make_older(tenant, by=2 * HOUR)
    note(tenant.scope.namespace_id, asked_at=timezone.now() - HOUR)

    assert load(cube, "bob") == 0


def test_a_file_of_the_namespace_that_had_the_number_before_stays_erased(alice, bob, cube):
    note(alice.scope.namespace_id, asked_at=timezone.now())
    # The number is used again after the file was written.
    Namespace.objects.filter(pk=alice.scope.namespace_id).update(created_at=timezone.now() + HOUR)

    assert load(cube, "bob") == 0
