"""kill -9 of the worker in the middle of a dump and of a load: both finish, do nothing twice, and leave no file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from memory.models import CubeFile, CubeFilePart, Memory, Session
from memory.services.cubes.create import register_cube
from memory.services.ingestion.ingest import ingest_batch
from memory.types import NewMemory, system_access
from tests.crash.cluster import Cluster
from tests.crash.server import wait_for

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 2500
START = datetime(2026, 5, 8, tzinfo=UTC)


def spooled(folder: Path) -> list[Path]:
    """Return the files of cubes that a worker has on disk."""
    return [path for path in folder.glob("memos-spool-*/cube") if path.stat().st_size > 0]


def test_both_end_as_if_nothing_had_happened(alice, bob, tmp_path: Path):
    for first in range(0, MANY, 500):
        turns = [
            (
                alice.scope,
                NewMemory(
                    f"s{number // 50}", "user", f"Crate {number} stands in hall {number % 7}.", "",
                    {}, START + timedelta(minutes=number),
                ),
            )
            for number in range(first, first + 500)
        ]  # fmt: skip
        ingest_batch(turns, now=START)
    cube = register_cube(system_access("tests"), namespace="alice", name="Alice's", now=timezone.now())
    dumps, loads = CubeFile.objects.in_scope(alice.scope), CubeFile.objects.in_scope(bob.scope)
    spool = tmp_path / "spool"
    spool.mkdir()

    asked = alice.post(f"/v1/cubes/{cube.pk}/dump", {"vectors": True}).json()
    cluster = Cluster(tmp_path / "cluster.log", TMPDIR=str(spool))
    try:
        wait_for(lambda: spooled(spool), what="the beginning of the dump", seconds=60)
        cluster.kill()
        assert dumps.get().finished_at is None
        assert not CubeFilePart.objects.in_scope(alice.scope).exists()
        cluster.start_again()
        wait_for(lambda: dumps.get().finished_at, what="the end of the dump", seconds=90)
        assert not spooled(spool)
        content = b"".join(alice.get(f"/v1/cubes/files/{asked['id']}/content").streaming_content)

        upload = {"namespace": "bob", "file": SimpleUploadedFile("a.memcube", content)}
        loaded = bob.client.post("/v1/cubes/load", upload).json()
        begun = wait_for(lambda: loads.get().done, what="the first batch of the load", seconds=60)
        cluster.kill()
        assert 0 < begun < loads.get().total
        assert loads.get().finished_at is None
        assert spooled(spool)
        cluster.start_again()
        wait_for(lambda: loads.get().finished_at, what="the end of the load", seconds=90)
        assert not spooled(spool)
    finally:
        cluster.stop()

    report = bob.get(f"/v1/cubes/files/{loaded['id']}").json()
    assert (report["state"], report["done"]) == ("done", report["total"])
    assert report["counts"]["memories"] == {"new": MANY}
    assert report["counts"]["sessions"] == {"new": MANY // 50}
    there = Memory.objects.in_scope(bob.scope)
    assert there.count() == there.values("text").distinct().count() == MANY
    assert Session.objects.in_scope(bob.scope).count() == MANY // 50
    places = ("session", "turn", "text", "occurred_at")
    assert list(there.order_by("session", "turn").values_list(*places)) == list(
        Memory.objects.in_scope(alice.scope).order_by("session", "turn").values_list(*places)
    )
    assert not CubeFilePart.objects.in_scope(bob.scope).exists()
