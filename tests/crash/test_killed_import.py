"""kill -9 of the worker in the middle of an import: the import continues, and stores and counts each turn once."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.models import ImportedTurn, ImportPart, Memory, MemoryImport
from tests.crash.cluster import Cluster
from tests.crash.server import wait_for

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 1500


def test_it_goes_on_where_it_ended(alice, tmp_path: Path):
    lines = "".join(f"[2026-05-08] - Crate {number} stands in hall {number % 7}.\n" for number in range(MANY))
    answer = alice.post("/v1/imports", {"namespace": "alice", "text": lines}).json()
    rows = MemoryImport.objects.in_scope(alice.scope)

    cluster = Cluster(tmp_path / "cluster.log")
    try:
        begun = wait_for(lambda: rows.get().dealt_with, what="the first batch")
        cluster.kill()
        assert begun < MANY
        assert rows.get().finished_at is None
        cluster.start_again()
        wait_for(lambda: rows.get().finished_at, what="the end of the import", seconds=90)
    finally:
        cluster.stop()

    report = alice.get(f"/v1/imports/{answer['id']}").json()
    assert (report["state"], report["turns"], report["dealt_with"]) == ("done", MANY, MANY)
    assert (report["new"], report["present"], report["gone"]) == (MANY, 0, 0)
    assert Memory.objects.in_scope(alice.scope).values("text").distinct().count() == MANY
    assert Memory.objects.in_scope(alice.scope).count() == MANY
    assert ImportedTurn.objects.in_scope(alice.scope).count() == MANY
    assert not ImportPart.objects.in_scope(alice.scope).exists()
