"""Reads a memory's line of a cube's file: the memory, and everything that belongs to it alone."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memory.kinds import PREFERENCE_KEY, SESSION_PREFIX
from memory.models import (
    HOLDS_ON,
    DocumentChunk,
    EntityRelation,
    Memory,
    MemoryFeedback,
    MemoryUpkeep,
    MemoryVersion,
    RetiredStatement,
)
from memory.models.memory import content_hash, spans_of
from memory.services.cube_files import lines
from memory.services.cube_files.column_values import (
    IdMap,
    Line,
    UnreadableLine,
    check_spans,
    clean_value,
    list_values,
    read_row,
    read_row_of,
    to_uuid,
)
from memory.services.entities.take_over import ArrivingNames
from memory.services.ingestion.take_over import ArrivingMemory
from memory.text.preference_keys import find_key
from memory.text.transcripts import MAX_TEXT_CHARS, UnreadableTurn, check_metadata

# The most terms by which a memory's retired statements are found.
_MOST_TERMS = 5_000
_LARGEST_LIST = 2**31 - 1


@dataclass(slots=True)
class ReadMemory:
    """The contents of a memory's line: the memory, and the rows that belong to it."""

    arriving: ArrivingMemory
    names: ArrivingNames
    versions: list[MemoryVersion] = field(default_factory=list)
    retired: list[RetiredStatement] = field(default_factory=list)
    feedback: list[MemoryFeedback] = field(default_factory=list)
    upkeep: MemoryUpkeep | None = None
    document_version: int = 0


def read_memory(line: Line, ids: IdMap, *, dimensions: int | None) -> ReadMemory:
    """Read a memory and the rows that belong to it; vectors only if they have `dimensions`. Raises UnreadableLine."""
    # Files written before preferences existed do not have the column.
    memory = read_row(Memory, {"is_preference": False, **line}, lines.MEMORY, ids, changed={"id", "superseded_by"})
    memory.session = ids.find_session(memory.session)
    memory.superseded_by = ids.find(line["superseded_by"]) if line.get("superseded_by") else None
    if not memory.text.strip() or len(memory.text) > MAX_TEXT_CHARS:
        raise UnreadableLine(f"text has 1 to {MAX_TEXT_CHARS} characters")
    if not 0 <= memory.importance <= 1:
        raise UnreadableLine("importance is not between 0 and 1")
    is_chunk = memory.session.startswith(SESSION_PREFIX)
    if memory.context and not is_chunk:
        raise UnreadableLine("context is what a chunk stands under, and this is none")
    if memory.turn == 0 or (is_chunk and memory.turn > 0):
        raise UnreadableLine("turn is none that such a memory has")
    check_spans(memory.retired_spans, memory.text)
    try:
        check_metadata(memory.metadata)
    except UnreadableTurn as fault:
        raise UnreadableLine(str(fault)) from None
    if memory.is_preference:
        _check_preference(memory)
    memory.content_hash = content_hash(memory.text)
    own = {"namespace_id": ids.scope.namespace_id, "memory_id": memory.pk}
    read = ReadMemory(_read_arriving(line, memory, ids), _read_names(line, memory))
    read.versions = [read_row_of(MemoryVersion, one, lines.VERSION, ids, own) for one in list_values(line, "versions")]
    if any(len(version.text) > MAX_TEXT_CHARS for version in read.versions):
        raise UnreadableLine(f"a version's text has at most {MAX_TEXT_CHARS} characters")
    for one in list_values(line, "retired"):
        statement = read_row_of(RetiredStatement, one, lines.RETIRED, ids, own, changed={"id", "by"})
        statement.by = ids.find(one.get("by"))
        check_spans([statement.start, statement.end], memory.text)
        if (
            len(statement.terms) > _MOST_TERMS
            or len(statement.names) > _MOST_TERMS
            or not 0 <= statement.confidence <= 1
        ):
            raise UnreadableLine("a retired statement is not what it should be")
        read.retired.append(statement)
    read.feedback = [
        read_row_of(MemoryFeedback, one, lines.FEEDBACK, ids, own) for one in list_values(line, "feedback")
    ]
    if isinstance(line.get("upkeep"), dict):
        read.upkeep = read_row_of(MemoryUpkeep, line["upkeep"], lines.UPKEEP, ids, own, changed=set())
    if read.arriving.chunk is not None:
        version = line["chunk"].get("version")
        read.document_version = version if isinstance(version, int) else 0
    _find_unsearched(read)
    if dimensions is not None:
        read.arriving.vectors = [_read_vector(one, dimensions) for one in list_values(line, "vectors")]
    return read


def _check_preference(memory: Memory) -> None:
    if memory.session.startswith(SESSION_PREFIX) or memory.turn > 0:
        raise UnreadableLine("a turn or chunk is no preference")
    said = memory.metadata.get(PREFERENCE_KEY)
    if isinstance(said, dict) and "key" in said and find_key(said) is None:
        raise UnreadableLine(f"metadata.{PREFERENCE_KEY}.key has not the terms of its object")


def _read_arriving(line: Line, memory: Memory, ids: IdMap) -> ArrivingMemory:
    arriving = ArrivingMemory(
        origin=to_uuid(line.get("id")),
        memory=memory,
        settled=line.get("settled") is True,
        extracted=line.get("extracted") is True,
        preferences_read=line.get("preferences_read") is True,
    )
    if memory.session.startswith(SESSION_PREFIX) != isinstance(line.get("chunk"), dict):
        raise UnreadableLine("a chunk, and nothing else, has its place in a document")
    if isinstance(line.get("chunk"), dict):
        own = {"namespace_id": ids.scope.namespace_id, "memory_id": memory.pk}
        chunk = read_row_of(DocumentChunk, line["chunk"], lines.CHUNK, ids, own, changed={"document_key"})
        chunk.document_key = ids.find(line["chunk"].get("document_key"))
        if memory.session != f"{SESSION_PREFIX}{chunk.document_key}":
            raise UnreadableLine("its session is not that of its document")
        arriving.chunk = chunk
    return arriving


def _read_names(line: Line, memory: Memory) -> ArrivingNames:
    try:
        mentions = [
            (str(one["key"]), int(one["variant"]), int(one["start"]), int(one["end"]), one.get("pinned") is True)
            for one in list_values(line, "mentions")
        ]
        relations = [
            (int(one["subject"]), int(one["object"]), _relation_columns(one)) for one in list_values(line, "relations")
        ]
    except (KeyError, TypeError, ValueError):
        raise UnreadableLine("its mentions or relations are not what they should be") from None
    # It must be a word of the text, because the gate reads only the text.
    words = memory.text.lower()
    if any(columns["detail"] not in words for _, _, columns in relations):
        raise UnreadableLine("what a relation says is not in the text")
    places = [place for _, _, start, end, _ in mentions for place in (start, end)]
    if any(not 0 <= place <= len(memory.text) for place in places) or any(
        not 0 <= place < len(mentions) for subject, other, _ in relations for place in (subject, other)
    ):
        raise UnreadableLine("a mention or relation lies outside of what it is in")
    return ArrivingNames(
        memory_id=memory.pk,
        session=memory.session,
        turn=memory.turn,
        occurred_at=memory.occurred_at,
        active=memory.state == "active",
        read=line.get("named") is True,
        mentions=mentions,
        relations=relations,
    )


def _relation_columns(one: Line) -> dict[str, Any]:
    names = ("predicate", "detail", "valid_from", "valid_to")
    return {name: clean_value(EntityRelation, name, one.get(name)) for name in names}


def _find_unsearched(read: ReadMemory) -> None:
    """Set the statements of the memory that are out of search, and further terms by which it is found."""
    in_force = [one for one in read.retired if one.withdrawn_at is None]
    held = [(one.start, one.end) for one in in_force if one.valid_to == HOLDS_ON]
    read.arriving.unsearched = [*spans_of(read.arriving.memory.retired_spans), *held]
    read.arriving.names = {name for one in in_force for name in one.names}
    if len(read.arriving.names) > _MOST_TERMS:
        raise UnreadableLine(f"it is found by more than {_MOST_TERMS} terms of its retired statements")


def _read_vector(value: Any, dimensions: int) -> np.ndarray:
    try:
        vector = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f2").astype(np.float32)
    except (binascii.Error, TypeError, ValueError):
        raise UnreadableLine("a vector is not what it should be") from None
    if vector.shape != (dimensions,) or not np.isfinite(vector).all():
        raise UnreadableLine("a vector has not as many numbers as the model makes")
    return vector
