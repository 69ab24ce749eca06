"""kill -9 of the worker in the middle of a change of many memories: the change goes on and counts each memory once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.utils import timezone

from memory.enums import BulkOutcome
from memory.models import AuditLog, BulkChange, BulkChangeMemory, Memory, MemoryVersion
from memory.services.ingestion.ingest import ingest_batch
from memory.types import NewMemory
from tests.crash.cluster import Cluster
from tests.crash.server import wait_for

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 900


def test_it_goes_on_where_it_ended(alice, tmp_path: Path):
    for start in range(0, MANY, 300):
        turns = [NewMemory(session="s1", role="user", text=f"Crate {start + one} is here.") for one in range(300)]
        ingest_batch([(alice.scope, turn) for turn in turns], now=timezone.now())
    body = {"namespace": "alice", "all": True, "set_metadata": {"hall": 7}, "reason": "moved"}
    answer = alice.client.patch("/v1/memories", data=json.dumps(body), content_type="application/json").json()
    rows = BulkChange.objects.in_scope(alice.scope)

    cluster = Cluster(tmp_path / "cluster.log")
    try:
        begun = wait_for(lambda: rows.get().changed, what="the first batch")
        cluster.kill()
        assert begun < MANY
        assert rows.get().finished_at is None
        cluster.start_again()
        wait_for(lambda: rows.get().finished_at, what="the end of the change", seconds=90)
    finally:
        cluster.stop()

    done = alice.get(f"/v1/memories/bulk/{answer['id']}").json()
    assert (done["state"], done["changed"], done["unchanged"], done["refused"]) == ("done", MANY, 0, 0)
    assert Memory.objects.in_scope(alice.scope).filter(metadata={"hall": 7}, revision=2).count() == MANY
    assert MemoryVersion.objects.in_scope(alice.scope).count() == MANY
    assert AuditLog.objects.in_scope(alice.scope).filter(request_id=answer["id"]).count() == MANY
    outcomes = BulkChangeMemory.objects.in_scope(alice.scope).values_list("outcome", flat=True)
    assert set(outcomes) == {BulkOutcome.CHANGED}
