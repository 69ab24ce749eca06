"""What a dump holds is what a load brings: memories with all that belongs to them, found as before."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.enums import LinkKind
from memory.models import (
    Condensation,
    Document,
    DocumentChunk,
    Entity,
    EntityAlias,
    EntityWatermark,
    Memory,
    MemoryLink,
    MemoryUpkeep,
    MemoryVersion,
    Session,
)
from memory.services.cube_files import lines
from memory.services.cube_files.archive import open_cube
from memory.services.cube_files.dump import DumpOptions, write_cube
from memory.services.cube_files.load import CubeLoader, LoadOptions, choose_ids, in_batches
from memory.services.entities.extract import index_namespace
from memory.services.index.entries import remove_memories
from memory.services.ingestion.documents import put_document
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories.edit import archive
from memory.services.memories.lifecycle import pin
from memory.services.summaries.condense import condense_session
from memory.types import NewDocument, NewMemory, Scope, system_access

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def fill(scope: Scope) -> list[uuid.UUID]:
    """A small world with something of everything."""
    said = [
        ("Maria lives in Porto and works at Siemens.", "user"),
        ("I keep bees behind the house in Porto.", "user"),
        ("Noted: Maria keeps bees.", "agent"),
        ("My sister Ana moved to Lisbon in May.", "user"),
    ] * 3
    turns = [
        (scope, NewMemory(f"s{number % 2}", role, f"{text} ({number})", "Maria" if role == "user" else "",
                          {"tags": ["home"]}, NOW + timedelta(minutes=number)))
        for number, (text, role) in enumerate(said)
    ]  # fmt: skip
    ids = ingest_batch(turns, now=NOW).memory_ids
    access = system_access("tests")
    archive(access, memory_ids=[ids[3]], reason="old", now=NOW)
    pin(access, memory_id=ids[1], pinned=True, reason="it matters", now=NOW)
    MemoryLink.objects.create(
        namespace_id=scope.namespace_id, memory_id=ids[4], kind=LinkKind.RESTATES, other_id=ids[0], reason="the same",
        actor="tests",
    )  # fmt: skip
    MemoryVersion.objects.create(
        namespace_id=scope.namespace_id, memory_id=ids[0], text="Maria lives in Faro.", reason="moved", actor="tests",
    )  # fmt: skip
    MemoryUpkeep.objects.update_or_create(
        namespace_id=scope.namespace_id, memory_id=ids[2], defaults={"uses": 7, "last_used_at": NOW}
    )
    put_document(
        scope,
        document=NewDocument(
            text="# Bees\n\nThe hives stand in the garden of Porto.\n\n# Honey\n\nIt is taken in July.",
            document_id="bees.md", title="Bees", format="markdown",
        ),
        now=NOW,
    )  # fmt: skip
    index_namespace(scope, now=NOW)
    condense_session(scope, session="s0", now=NOW)
    return ids


def empty(scope: Scope) -> None:
    """Nothing of the namespace is left, and nothing says that it was erased."""
    remove_memories(scope, memory_ids=list(Memory.objects.in_scope(scope).values_list("pk", flat=True)), now=NOW)
    for model in (EntityAlias, Entity, EntityWatermark, Condensation, Document, Session):
        model.objects.in_scope(scope).delete()


def dump(scope: Scope, path: Any, **options: bool) -> Any:
    write_cube(scope, path, options=DumpOptions(**options), now=NOW)
    reader = open_cube(path)
    reader.verify()
    return reader


def load(scope: Scope, reader: Any, *, dry_run: bool = False, **options: Any) -> dict[str, dict[str, int]]:
    wanted = LoadOptions(**options)
    ids = choose_ids(scope, reader, wanted.ids)
    loader = CubeLoader(scope, reader, wanted, ids=ids, dry_run=dry_run)
    counts: dict[str, dict[str, int]] = {}
    for part in wanted.parts_of(reader):
        for batch in in_batches(reader, part, after=0):
            report = loader.load_batch(part, batch, now=timezone.now())
            assert not report.faults, report.faults
            for name, count in report.counts.items():
                counts.setdefault(part, {})[name] = counts.get(part, {}).get(name, 0) + count
    return {part: {name: count for name, count in own.items() if count} for part, own in counts.items()}


def all_lines(scope: Scope) -> dict[str, list[dict[str, Any]]]:
    return {
        "sessions": list(lines.sessions(scope)),
        "documents": list(lines.documents(scope)),
        "names": sorted(lines.names(scope), key=lambda line: (line["key"], line["variant"])),
        "memories": list(lines.memories(scope, model_id=None)),
        "links": list(lines.links(scope)),
        "summaries": list(lines.summaries(scope)),
    }


@pytest.mark.django_db
def test_all_of_it_comes_back_as_it_was(alice, tmp_path):
    fill(alice.scope)
    before = all_lines(alice.scope)
    reader = dump(alice.scope, tmp_path / "cube", vectors=True)
    assert reader.is_trusted
    count = reader.manifest.parts["memories"].lines
    assert count == len(before["memories"]) == 12 + DocumentChunk.objects.in_scope(alice.scope).count() > 12

    empty(alice.scope)
    counts = load(alice.scope, reader)
    assert counts["memories"] == {"new": count}
    assert all_lines(alice.scope) == before
    again = load(alice.scope, reader)
    assert again["memories"] == {"present": count}
    assert all(set(own) == {"present"} for own in again.values()), again
