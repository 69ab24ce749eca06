"""Lines of a cube's file as rows that may be stored: every column checked, every id made the one that it has here."""

from __future__ import annotations

import base64
import binascii
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
import orjson
from django.core.exceptions import ValidationError
from django.db import models

from memory import audit
from memory.kinds import SESSION_PREFIX
from memory.models import (
    HOLDS_ON,
    AuditLog,
    Condensation,
    Document,
    DocumentChunk,
    Entity,
    EntityAlias,
    EntityRelation,
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
from memory.models.memory import content_hash, spans_of
from memory.services.cube_files import lines
from memory.services.entities.take_over import ArrivingNames
from memory.services.ingestion.take_over import ArrivingMemory
from memory.services.summaries.take_over import list_sources
from memory.text.json_values import fault_of
from memory.text.names import name_key
from memory.text.transcripts import MAX_NAME_CHARS, MAX_TEXT_CHARS, UnreadableTurn, check_metadata
from memory.types import Scope

Row = TypeVar("Row", bound=models.Model)
Line = Mapping[str, Any]
# As deep as metadata may be, in its column.
_MOST_LEVELS = 24
_MAX_DETAILS_BYTES = 65_536
# Of one memory: versions, retired statements, mentions and so on; and terms by which a statement is found.
_MOST_BELONGINGS = 2_000
_MOST_TERMS = 5_000
# What counts on from a number of the file must not end at the end of its column.
_LARGEST = 1_000_000_000


class UnreadableLine(Exception):
    """A line that is left out; the message says why and never what it holds."""


@dataclass(frozen=True, slots=True)
class IdMap:
    """The ids that what a file brings has here: its own, or (`renew`) ones that are always the same for the same
    namespace. These sort as their originals do; nobody without the server's secret can choose them.
    """

    scope: Scope
    renew: bool

    def find(self, origin: Any) -> uuid.UUID:
        """The id here of an id of the file. Raises UnreadableLine."""
        identity = to_uuid(origin)
        if not self.renew:
            return identity
        digest = bytes.fromhex(audit.hash_words(self.scope, "cube id", str(identity)))
        return uuid.UUID(bytes=identity.bytes[:12] + digest[:4])

    def find_session(self, name: str) -> str:
        """The name here of a session: that of a document's chunks has its id."""
        own = name.removeprefix(SESSION_PREFIX)
        return name if own == name else f"{SESSION_PREFIX}{self.find(own)}"


@dataclass(slots=True)
class ReadMemory:
    """A memory's line: the memory as it arrives, and what belongs to it."""

    arriving: ArrivingMemory
    names: ArrivingNames
    versions: list[MemoryVersion] = field(default_factory=list)
    retired: list[RetiredStatement] = field(default_factory=list)
    feedback: list[MemoryFeedback] = field(default_factory=list)
    upkeep: MemoryUpkeep | None = None
    document_version: int = 0


def check_line(line: Line) -> None:
    """Raises UnreadableLine for what PostgreSQL cannot keep."""
    if fault := fault_of(dict(line), most_levels=_MOST_LEVELS):
        raise UnreadableLine(f"{fault.place or 'the line'} {fault.problem.removesuffix('.')}")


def read_memory(line: Line, ids: IdMap, *, dimensions: int | None) -> ReadMemory:
    """A memory and what belongs to it; vectors only of so many `dimensions`. Raises UnreadableLine."""
    # Files of before preferences had none.
    memory = _read(Memory, {"is_preference": False, **line}, lines.MEMORY, ids, changed={"id", "superseded_by"})
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
    if memory.is_preference and (is_chunk or memory.turn > 0):
        raise UnreadableLine("a turn or chunk is no preference")
    _check_spans(memory.retired_spans, memory.text)
    try:
        check_metadata(memory.metadata)
    except UnreadableTurn as fault:
        raise UnreadableLine(str(fault)) from None
    memory.content_hash = content_hash(memory.text)
    own = {"namespace_id": ids.scope.namespace_id, "memory_id": memory.pk}
    read = ReadMemory(_read_arriving(line, memory, ids), _read_names(line, memory))
    read.versions = [_read_of(MemoryVersion, one, lines.VERSION, ids, own) for one in _list(line, "versions")]
    if any(len(version.text) > MAX_TEXT_CHARS for version in read.versions):
        raise UnreadableLine(f"a version's text has at most {MAX_TEXT_CHARS} characters")
    for one in _list(line, "retired"):
        statement = _read_of(RetiredStatement, one, lines.RETIRED, ids, own, changed={"id", "by"})
        statement.by = ids.find(one.get("by"))
        _check_spans([statement.start, statement.end], memory.text)
        if (
            len(statement.terms) > _MOST_TERMS
            or len(statement.names) > _MOST_TERMS
            or not 0 <= statement.confidence <= 1
        ):
            raise UnreadableLine("a retired statement is not what it should be")
        read.retired.append(statement)
    read.feedback = [_read_of(MemoryFeedback, one, lines.FEEDBACK, ids, own) for one in _list(line, "feedback")]
    if isinstance(line.get("upkeep"), dict):
        read.upkeep = _read_of(MemoryUpkeep, line["upkeep"], lines.UPKEEP, ids, own, changed=set())
    if read.arriving.chunk is not None:
        version = line["chunk"].get("version")
        read.document_version = version if isinstance(version, int) else 0
    _find_unsearched(read)
    if dimensions is not None:
        read.arriving.vectors = [_read_vector(one, dimensions) for one in _list(line, "vectors")]
    return read


def read_document(line: Line, ids: IdMap) -> Document:
    """A document. Raises UnreadableLine."""
    return _read(Document, line, lines.DOCUMENT, ids, changed={"id"})


def read_session(line: Line, ids: IdMap) -> Session:
    """Where a session ended. Raises UnreadableLine."""
    return _read(Session, line, lines.SESSION, ids, changed=set())


def read_name(line: Line, ids: IdMap) -> tuple[EntityAlias, Entity, Entity]:
    """A name with its home and the entity that it stands for. Raises UnreadableLine."""
    home, entity = (
        _read(Entity, _object(line, name), lines.ENTITY, ids, changed={"id", "merged_into"})
        for name in ("home", "entity")
    )
    for one, name in ((home, "home"), (entity, "entity")):
        merged = line[name].get("merged_into")
        one.merged_into = ids.find(merged) if merged else None
    alias = _read(EntityAlias, line, lines.NAME, ids, changed={"id", "stated_in"})
    alias.stated_in = ids.find(line["stated_in"]) if line.get("stated_in") else None
    alias.home, alias.entity = home.id, entity.id
    if name_key(alias.name) != alias.key:
        raise UnreadableLine("key is not that of the name")
    return alias, home, entity


def read_link(line: Line, ids: IdMap) -> MemoryLink:
    """A link, with ids of the file's memories as they are here. Raises UnreadableLine."""
    link = _read(MemoryLink, line, lines.LINK, ids, changed={"id", "memory_id", "other_id"})
    link.memory_id, link.other_id = ids.find(line.get("memory_id")), ids.find(line.get("other_id"))
    if not 0 <= link.confidence <= 1:
        raise UnreadableLine("confidence is not between 0 and 1")
    return link


def read_pair(line: Line, ids: IdMap) -> UnsurePair:
    """A pair, with ids of the file's memories as they are here. Raises UnreadableLine."""
    pair = _read(UnsurePair, line, lines.PAIR, ids, changed={"id", "newer_id", "older_id"})
    pair.newer_id, pair.older_id = ids.find(line.get("newer_id")), ids.find(line.get("older_id"))
    if not 0 <= pair.confidence <= 1:
        raise UnreadableLine("confidence is not between 0 and 1")
    if not (0 <= pair.start < pair.end and 0 <= pair.by_start < pair.by_end and pair.attempts >= 0):
        raise UnreadableLine("a statement of it is none")
    try:
        pair.texts_hash = bytes.fromhex(line["texts_hash"])
    except (KeyError, TypeError, ValueError):
        raise UnreadableLine("texts_hash is no hash") from None
    return pair


def read_procedure(line: Line, ids: IdMap) -> Procedure:
    """A prompt or tool. Raises UnreadableLine."""
    entry = _read(Procedure, line, lines.PROCEDURE, ids, changed=set())
    if len(entry.text) > MAX_TEXT_CHARS or len(orjson.dumps(entry.parameters)) > _MAX_DETAILS_BYTES:
        raise UnreadableLine(f"a text has at most {MAX_TEXT_CHARS} characters, parameters {_MAX_DETAILS_BYTES} bytes")
    if not entry.name.strip() or not entry.version.strip():
        raise UnreadableLine("it has no name or version")
    return entry


def read_policy(line: Line, ids: IdMap) -> NamespacePolicy:
    """A version of the policy. Raises UnreadableLine."""
    row = _read(NamespacePolicy, line, lines.POLICY, ids, changed=set())
    if row.version < 1:
        raise UnreadableLine("version is none that a policy has")
    return row


def read_summary(line: Line, ids: IdMap) -> tuple[Condensation, int]:
    """A summary, and how many turns its session had up to the last that it covers. Raises UnreadableLine."""
    summary = _read(Condensation, line, lines.SUMMARY, ids, changed={"id", "source_memory_ids", "item_sources"})
    sources = line.get("source_memory_ids")
    cards = _object(line, "item_sources")
    try:
        list_sources(cards)
        summary.source_memory_ids = [ids.find(one) for one in sources or ()]
        summary.item_sources = {
            name: [[str(ids.find(one)) for one in item] for item in items] for name, items in cards.items()
        }
        return summary, int(line["turns"])
    except (TypeError, ValueError, AttributeError, KeyError):
        raise UnreadableLine("its sources are no lists of ids") from None


def read_item(line: Line, ids: IdMap) -> QuarantinedItem:
    """What was kept apart. Raises UnreadableLine."""
    item = _read(QuarantinedItem, line, lines.ITEM, ids, changed={"id"})
    if len(item.session) > MAX_NAME_CHARS or item.session.startswith(SESSION_PREFIX):
        raise UnreadableLine("session is none that an item has")
    if not all(_is_reason(one) for one in item.reasons) or not 0 <= item.confidence <= 1:
        raise UnreadableLine("reasons are not what the gate says")
    item.content_hash, item.characters = content_hash(item.text), len(item.text)
    return item


def _is_reason(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("rule", "says"))


def read_event(line: Line) -> dict[str, Any]:
    """An audit event as it is told of. Raises UnreadableLine."""
    values = {name: _clean(AuditLog, name, line.get(name)) for name in lines.EVENT if name != "id"}
    if len(orjson.dumps(values["details"])) > _MAX_DETAILS_BYTES:
        raise UnreadableLine(f"details have more than {_MAX_DETAILS_BYTES} bytes")
    values["created_at"] = values["created_at"].isoformat()
    return {"id": str(to_uuid(line.get("id"))), **values}


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
        chunk = _read_of(DocumentChunk, line["chunk"], lines.CHUNK, ids, own, changed={"document_key"})
        chunk.document_key = ids.find(line["chunk"].get("document_key"))
        if memory.session != f"{SESSION_PREFIX}{chunk.document_key}":
            raise UnreadableLine("its session is not that of its document")
        arriving.chunk = chunk
    return arriving


def _read_names(line: Line, memory: Memory) -> ArrivingNames:
    try:
        mentions = [
            (str(one["key"]), int(one["variant"]), int(one["start"]), int(one["end"]), one.get("pinned") is True)
            for one in _list(line, "mentions")
        ]
        relations = [
            (int(one["subject"]), int(one["object"]), _relation_columns(one)) for one in _list(line, "relations")
        ]
    except (KeyError, TypeError, ValueError):
        raise UnreadableLine("its mentions or relations are not what they should be") from None
    # A word of the text, which the gate reads; nothing else is said of a relation.
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
    return {name: _clean(EntityRelation, name, one.get(name)) for name in names}


def _find_unsearched(read: ReadMemory) -> None:
    """What of the memory is out of search, and terms by which it is found besides."""
    in_force = [one for one in read.retired if one.withdrawn_at is None]
    held = [(one.start, one.end) for one in in_force if one.valid_to == HOLDS_ON]
    read.arriving.unsearched = [*spans_of(read.arriving.memory.retired_spans), *held]
    read.arriving.names = {name for one in in_force for name in one.names}
    if len(read.arriving.names) > _MOST_TERMS:
        raise UnreadableLine(f"it is found by more than {_MOST_TERMS} terms of its retired statements")


def _read(model: type[Row], line: Line, columns: Sequence[str], ids: IdMap, *, changed: set[str]) -> Row:
    """A row of the namespace: its columns checked, but for those `changed`, whose id is made the one here."""
    values = {name: _clean(model, name, line.get(name)) for name in columns if name not in changed}
    if "id" in changed:
        values["id"] = ids.find(line.get("id"))
    return model(namespace_id=ids.scope.namespace_id, **values)


def _read_of(
    model: type[Row],
    line: Any,
    columns: Sequence[str],
    ids: IdMap,
    own: Mapping[str, Any],
    *,
    changed: set[str] | None = None,
) -> Row:
    """As `_read`, for a row of a memory."""
    if not isinstance(line, dict):
        raise UnreadableLine(f"its {model._meta.verbose_name_plural} are no objects")
    row = _read(model, line, columns, ids, changed={"id"} if changed is None else changed)
    row.memory_id = own["memory_id"]  # type: ignore[attr-defined]
    return row


def _clean(model: type[models.Model], name: str, value: Any) -> Any:
    """The value as the column may have it. Raises UnreadableLine, which names the column only."""
    column = model._meta.get_field(name)
    if value is None:
        if column.null:
            return None
        raise UnreadableLine(f"{name} is missing")
    expected = getattr(column, "default", None)
    if expected in (dict, list) and not isinstance(value, expected):
        raise UnreadableLine(f"{name} is no {'object' if expected is dict else 'list'}")
    try:
        cleaned = column.to_python(value)  # type: ignore[union-attr]
        if cleaned not in ("", [], {}):
            column.validate(cleaned, None)  # type: ignore[union-attr]
            column.run_validators(cleaned)  # type: ignore[union-attr]
    except (ValidationError, TypeError, ValueError, OverflowError):
        raise UnreadableLine(f"{name} is not what it should be") from None
    if isinstance(cleaned, datetime):
        return _to_utc(cleaned, name)
    if isinstance(cleaned, float) and not math.isfinite(cleaned):
        raise UnreadableLine(f"{name} is no number")
    if isinstance(cleaned, int) and not isinstance(cleaned, bool) and abs(cleaned) > _LARGEST:
        raise UnreadableLine(f"{name} is beyond what is counted")
    return cleaned


def _to_utc(moment: datetime, name: str) -> datetime:
    """The moment in UTC: one beyond the years there are could be stored, and never be read again."""
    if moment.tzinfo is None:
        raise UnreadableLine(f"{name} has no offset from UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise UnreadableLine(f"{name} lies beyond the years that can be kept") from None


def _check_spans(flat: Sequence[Any], text: str) -> None:
    pairs = list(zip(flat[::2], flat[1::2], strict=False))
    if len(flat) % 2 or any(not (isinstance(start, int) and 0 <= start < end <= len(text)) for start, end in pairs):
        raise UnreadableLine("a statement lies outside of its memory")


def _read_vector(value: Any, dimensions: int) -> np.ndarray:
    try:
        vector = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f2").astype(np.float32)
    except (binascii.Error, TypeError, ValueError):
        raise UnreadableLine("a vector is not what it should be") from None
    if vector.shape != (dimensions,) or not np.isfinite(vector).all():
        raise UnreadableLine("a vector has not as many numbers as the model makes")
    return vector


def _list(line: Line, name: str) -> list[Any]:
    value = line.get(name) or []
    if not isinstance(value, list):
        raise UnreadableLine(f"{name} is no list")
    if len(value) > _MOST_BELONGINGS:
        raise UnreadableLine(f"{name} are more than {_MOST_BELONGINGS}")
    return value


def _object(line: Line, name: str) -> dict[str, Any]:
    value = line.get(name)
    if not isinstance(value, dict):
        raise UnreadableLine(f"{name} is no object")
    return value


def to_uuid(value: Any) -> uuid.UUID:
    """The id that a line has. Raises UnreadableLine."""
    try:
        return uuid.UUID(value)
    except (TypeError, ValueError, AttributeError):
        raise UnreadableLine("an id is no UUID") from None
