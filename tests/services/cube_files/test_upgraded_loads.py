"""A load begun by a MemOS with other steps has the same result under this one: nothing is lost or doubled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from memory.models import (
    AuditLog,
    Condensation,
    CubeFile,
    Document,
    DocumentChunk,
    Entity,
    EntityAlias,
    EntityMention,
    Memory,
    MemoryFeedback,
    MemoryLink,
    MemoryUpkeep,
    MemoryVersion,
    NamespacePolicy,
    Procedure,
    QuarantinedItem,
    RetiredStatement,
    Session,
    UnsurePair,
)
from memory.services.cube_files import dump, load, requests, run
from memory.services.cube_files.archive import CubeWriter
from memory.services.cube_files.dump import DumpOptions, write_cube
from memory.services.cube_files.load_options import LoadOptions
from memory.types import Scope
from tests.services.cube_files.test_round_trip import EVERYTHING, fill

TABLES: tuple[Any, ...] = (
    Condensation, Document, DocumentChunk, Entity, EntityAlias, EntityMention, Memory, MemoryFeedback, MemoryLink,
    MemoryUpkeep, MemoryVersion, NamespacePolicy, Procedure, QuarantinedItem, RetiredStatement, Session, UnsurePair,
)  # fmt: skip
# The former steps: sessions after the memories, and nothing but parts.
FORMER = (
    "documents", "names", "memories", "sessions", "links", "pairs", "summaries", "quarantine", "audit", "procedures",
    "policies",
)  # fmt: skip


def start(scope: Scope, path: Path) -> CubeFile:
    upload = requests.CubeUpload("a.memcube", [path.read_bytes()])
    return requests.start_load(scope, upload, options=LoadOptions(audit=True, **EVERYTHING), now=timezone.now())


def go_on(row: CubeFile, *, seconds: float) -> None:
    run.carry_out_load(namespace_id=row.namespace_id, file_id=row.id, now=timezone.now, seconds=seconds)
    row.refresh_from_db()


def count(scope: Scope) -> dict[str, int]:
    """Return the row count of each table, and the number of different events."""
    told = AuditLog.objects.in_scope(scope).filter(event_type="CUBE_EVENT")
    assert told.values("subject").distinct().count() == told.count()
    return {model.__name__: model.objects.in_scope(scope).count() for model in TABLES} | {"told": told.count()}


def describe_sessions(scope: Scope) -> list[tuple[Any, ...]]:
    return list(
        Session.objects.in_scope(scope).order_by("name").values_list("name", "message_count", "last_message_at")
    )


@pytest.fixture
def path(alice, tmp_path: Path) -> Path:
    fill(alice.scope, ended=True)
    path = tmp_path / "alice.memcube"
    write_cube(
        alice.scope, path, options=DumpOptions(vectors=True, quarantine=True, audit=True), now=timezone.now()
    )  # fmt: skip
    return path


@pytest.fixture
def whole(path, make_tenant) -> tuple[dict[str, int], list[tuple[Any, ...]]]:
    """Return the result of a load that was not interrupted."""
    scope = make_tenant("whole").scope
    row = start(scope, path)
    go_on(row, seconds=600)
    assert row.finished_at is not None
    return count(scope), describe_sessions(scope)


@pytest.mark.parametrize("step", ["names", "memories", "policies"])
@pytest.mark.parametrize("knows_its_steps", [True, False], ids=["of other steps", "that notes no steps"])
def test_a_load_under_way_begins_again_and_doubles_nothing(path, whole, bob, monkeypatch, step, knows_its_steps):
    monkeypatch.setattr(load, "BATCH", 2)
    row = start(bob.scope, path)
    with monkeypatch.context() as former:
        former.setattr("memory.services.cube_files.load_options.STEPS", FORMER)
        while row.part != step:
            assert row.finished_at is None
            go_on(row, seconds=0)
    resolved = row.options["ids_of_load"]
    if not knows_its_steps:
        row.options.pop("steps_of_load")
        row.save()
    before = row.done
    assert before > 0

    while row.finished_at is None:
        go_on(row, seconds=0)
    assert (row.problem, row.done, row.options["ids_of_load"]) == ("", row.total, resolved)
    assert (count(bob.scope), describe_sessions(bob.scope)) == whole
    memories = row.counts["memories"]
    assert sum(memories.values()) == row.manifest["parts"]["memories"]["lines"]


def test_a_load_under_the_same_steps_goes_on_where_it_ended(path, whole, bob, monkeypatch):
    monkeypatch.setattr(load, "BATCH", 2)
    row = start(bob.scope, path)
    done = []
    while row.finished_at is None:
        go_on(row, seconds=0)
        done.append(row.done)

    assert done == sorted(set(done[:-1])) + done[-1:]
    assert row.counts["memories"] == {"new": row.manifest["parts"]["memories"]["lines"]}
    assert (count(bob.scope), describe_sessions(bob.scope)) == whole


def test_a_file_with_lists_of_vectors_is_loaded_without_them(alice, whole, bob, tmp_path, monkeypatch):
    """Earlier versions of MemOS wrote the lists of a large namespace's vectors."""
    write, memories = CubeWriter.write, dump.lines.memories

    def write_lists_too(writer: CubeWriter, name: str, lines: Any) -> None:
        if name == "memories":
            write(writer, "ivf_lists", [{"number": 1, "centroid": "", "size": 1, "unsplit_size": 0}])
        write(writer, name, lines)

    monkeypatch.setattr(CubeWriter, "write", write_lists_too)
    monkeypatch.setattr(dump.lines, "memories", lambda *a, **k: ({**line, "lists": [1]} for line in memories(*a, **k)))
    options = DumpOptions(vectors=True, quarantine=True, audit=True)
    write_cube(alice.scope, tmp_path / "former.memcube", options=options, now=timezone.now())
    row = start(bob.scope, tmp_path / "former.memcube")
    go_on(row, seconds=600)

    assert row.problem == ""
    assert "ivf_lists" in row.manifest["parts"]
    assert "ivf_lists" not in row.counts
    assert (count(bob.scope), describe_sessions(bob.scope)) == whole
