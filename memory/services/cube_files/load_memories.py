"""Loads the memories of a cube's file with their histories, through the services that own the data."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.models import Document, DocumentChunk
from memory.services.cube_files.load_context import ERASED, LEFT_OUT, NEW, BatchReport, Lines, LoadContext
from memory.services.cube_files.memory_line import ReadMemory, read_memory
from memory.services.entities.take_over import take_over_mentions
from memory.services.erasure.erased_before import BroughtMemory
from memory.services.ingestion.take_over import Arrival, count_outcomes, decide, take_over
from memory.services.memories.take_over import (
    take_over_opinions,
    take_over_retired,
    take_over_upkeep,
    take_over_versions,
)


def load_memories(context: LoadContext, lines: Lines, report: BatchReport, *, now: datetime) -> None:
    """Load memories with everything that belongs to them alone. Inside the caller's transaction."""
    found = context.read(lines, lambda line: read_memory(line, context.ids, dimensions=context.dimensions), report)
    found = _without_erased(context, found, report)
    found = _without_lost_chunks(context, found, report)
    arrivals = [one.arriving for one in found]
    held = {one.arriving.memory.pk for one in found if one.upkeep is not None and one.upkeep.legal_hold}
    decide(context.scope, arrivals)
    if not context.dry_run:
        stored = {one.memory.pk for one in take_over(context.scope, arrivals, model_id=context.model_id, now=now)}
        new = [one for one in found if one.arriving.memory.pk in stored]
        _store_histories(context, new)
    report.counts.update(count_outcomes(arrivals))
    let_in = {one.memory.pk for one in arrivals if one.outcome in (Arrival.NEW, Arrival.REDACTED)}
    report.holds[NEW if context.takes_holds else LEFT_OUT] += len(held & let_in)
    for one in arrivals:
        if one.outcome not in (Arrival.NEW, Arrival.PRESENT) or context.dry_run:
            why = one.judgement.reasons[0].rule if one.judgement and one.judgement.reasons else ""
            report.listed.append(_tell(str(one.origin), one.memory.session, one.outcome.value, why))


def _without_erased(context: LoadContext, found: list[ReadMemory], report: BatchReport) -> list[ReadMemory]:
    brought = [
        BroughtMemory(one.arriving.origin, memory.session, memory.speaker, memory.created_at)
        for one in found
        for memory in [one.arriving.memory]
    ]
    erased = context.erased.list_erased(brought, {one.arriving.memory.pk for one in found})
    kept = []
    for one in found:
        if {one.arriving.origin, one.arriving.memory.pk} & erased:
            report.counts[ERASED] += 1
            report.listed.append(_tell(str(one.arriving.origin), one.arriving.memory.session, ERASED, ""))
        else:
            kept.append(one)
    return kept


def _without_lost_chunks(context: LoadContext, found: list[ReadMemory], report: BatchReport) -> list[ReadMemory]:
    """Leave out chunks of documents that do not exist here, or exist in another version."""
    if context.dry_run:
        return found
    wanted = {one.arriving.chunk.document_key for one in found if one.arriving.chunk is not None}
    if not wanted:
        return found
    versions = dict(Document.objects.in_scope(context.scope).filter(id__in=wanted).values_list("id", "version"))
    places = {
        (key, index): memory_id
        for key, index, memory_id in DocumentChunk.objects.in_scope(context.scope)
        .filter(document_key__in=wanted)
        .values_list("document_key", "index", "memory_id")
    }
    kept = [one for one in found if _has_place(one, versions, places)]
    report.counts[LEFT_OUT] += len(found) - len(kept)
    return kept


def _store_histories(context: LoadContext, found: Sequence[ReadMemory]) -> None:
    roles = {one.arriving.memory.pk: str(one.arriving.memory.role) for one in found}
    take_over_versions(context.scope, [version for one in found for version in one.versions], role_of=roles)
    take_over_retired(context.scope, [statement for one in found for statement in one.retired])
    take_over_opinions(context.scope, [opinion for one in found for opinion in one.feedback])
    take_over_upkeep([one.upkeep for one in found if one.upkeep is not None], holds=context.takes_holds)
    for one in found:
        # Positions in a text that the gate has changed are different.
        one.names.read = one.names.read and not one.arriving.changed
        one.names.turn = one.arriving.memory.turn
    chunks = [one for one in found if one.arriving.chunk is not None]
    take_over_mentions(context.scope, [one.names for one in found if one.arriving.chunk is None])
    for one in chunks:
        one.names.read = not one.arriving.changed
    take_over_mentions(context.scope, [one.names for one in chunks])


def _tell(identity: str, session: str, outcome: str, why: str) -> dict[str, Any]:
    return {"id": identity, "session": session, "outcome": outcome, "rule": why}


def _has_place(
    read: ReadMemory, versions: Mapping[uuid.UUID, int], places: Mapping[tuple[uuid.UUID, int], uuid.UUID]
) -> bool:
    """Return whether a memory is not a chunk, or is a chunk of the present version of its document, at its own
    position."""
    chunk = read.arriving.chunk
    if chunk is None:
        return True
    own = places.get((chunk.document_key, chunk.index), chunk.memory_id)
    return versions.get(chunk.document_key) == read.document_version and own == chunk.memory_id
