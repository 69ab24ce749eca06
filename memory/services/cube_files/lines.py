"""Yields the lines of a cube's file: rows of the database, a page at a time, as values of JSON.

A memory's line has everything that belongs to it alone: former versions, retired statements, opinions, use, its
position in a document, the names in it and, if requested, its vectors. So it can be loaded, or left out, as one.
"""

from __future__ import annotations

import base64
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from django.db import models
from django.db.models import F, Q

from memory.models import (
    AuditLog,
    Condensation,
    Document,
    DocumentChunk,
    Entity,
    EntityAlias,
    EntityMention,
    EntityRelation,
    EntityWatermark,
    Memory,
    MemoryFeedback,
    MemoryLink,
    MemoryUpkeep,
    MemoryVector,
    MemoryVersion,
    NamespacePolicy,
    Procedure,
    QuarantinedItem,
    RetiredStatement,
    Session,
    StaleSource,
    UnsurePair,
)
from memory.types import Scope

PAGE = 500
Line = dict[str, Any]
ByMemory = dict[uuid.UUID, list[Line]]

POLICY = ("version", "overrides", "reason", "updated_by", "updated_at")
SESSION = ("name", "message_count", "first_message_at", "last_message_at", "audit_hidden_before")
DOCUMENT = (
    "id", "document_id", "session", "version", "title", "source", "format", "metadata", "characters", "occurred_at",
    "created_at", "updated_at",
)  # fmt: skip
NAME = ("id", "key", "variant", "name", "kind", "weight", "spoke", "first_word", "last_word", "link", "stated_in")
ENTITY = ("id", "name", "kind", "merged_into", "created_at")
MEMORY = (
    "id", "session", "turn", "role", "speaker", "text", "context", "metadata", "importance", "tier", "state",
    "occurred_at", "created_at", "valid_from", "valid_to", "superseded_by", "superseded_at", "retired_spans", "pinned",
    "review", "revision", "is_preference",
)  # fmt: skip
VERSION = ("id", "text", "metadata", "speaker", "occurred_at", "revision", "reason", "actor", "replaced_at")
RETIRED = (
    "id", "start", "end", "by", "by_start", "by_end", "reason", "confidence", "terms", "names", "valid_to",
    "retired_at", "withdrawn_at",
)  # fmt: skip
FEEDBACK = ("id", "kind", "note", "actor", "created_at")
UPKEEP = (
    "uses", "last_used_at", "restored_at", "expires_at", "legal_hold", "repeats", "importance", "stale",
)  # fmt: skip
CHUNK = ("document_key", "index", "start", "end")
LINK = ("id", "memory_id", "kind", "other_id", "reason", "confidence", "actor", "created_at", "start", "end")
PAIR = (
    "id", "newer_id", "older_id", "start", "end", "by_start", "by_end", "can_cut", "reason", "confidence", "attempts",
    "due_at", "verdict", "explanation", "judge", "created_at", "judged_at",
)  # fmt: skip
PROCEDURE = ("kind", "name", "version", "description", "text", "parameters", "enabled", "created_at")
SUMMARY = (
    "id", "session", "number", "version", "trigger_reason", "trigger_details", "source_memory_ids", "covers_to_turn",
    "condensed_text", "item_sources", "method", "token_original", "token_condensed", "tokenizer", "created_at",
)  # fmt: skip
ITEM = (
    "id", "session", "role", "speaker", "text", "metadata", "document", "characters", "occurred_at", "rule", "reasons",
    "confidence", "created_at",
)  # fmt: skip
EVENT = ("id", "session", "event_type", "actor", "subject", "details", "request_id", "created_at")


def policies(scope: Scope) -> Iterator[Line]:
    """Yield every version of the namespace's own policy."""
    yield from _values(NamespacePolicy.objects.in_scope(scope).order_by("version"), POLICY)


def sessions(scope: Scope) -> Iterator[Line]:
    """Yield the sessions by name."""
    yield from _pages(Session.objects.in_scope(scope), "name", SESSION)


def documents(scope: Scope) -> Iterator[Line]:
    """Yield the documents without their texts, which the chunks have. `named`: the names in the chunks were read."""
    marks = EntityWatermark.objects.in_scope(scope)
    for page in _cut(Document.objects.in_scope(scope), "id"):
        read = dict(marks.filter(session__in=[one.chunk_session for one in page]).values_list("session", "turn"))
        for one in page:
            yield {**_pick(one, DOCUMENT), "named": read.get(one.chunk_session) == one.version}


def names(scope: Scope) -> Iterator[Line]:
    """Yield the names, each with its own entity and the one that it stands for."""
    for page in _cut(EntityAlias.objects.in_scope(scope), "id"):
        wanted = {alias.home for alias in page} | {alias.entity for alias in page}
        found = {one.id: _pick(one, ENTITY) for one in Entity.objects.in_scope(scope).filter(id__in=wanted)}
        for alias in page:
            if alias.home in found and alias.entity in found:
                yield {**_pick(alias, NAME), "home": found[alias.home], "entity": found[alias.entity]}


def memories(
    scope: Scope,
    *,
    model_id: int | None,
    report: Callable[[int], None] = lambda _: None,
) -> Iterator[Line]:
    """Yield the memories by session and turn, with the vectors of a model if one is given. `report` gets the number so
    far."""
    rows = Memory.objects.in_scope(scope).defer("terms").order_by("session", "turn")
    last: tuple[str, int] | None = None
    done = 0
    while True:
        behind = Q() if last is None else Q(session__gt=last[0]) | Q(session=last[0], turn__gt=last[1])
        # The first condition alone can use the index.
        within = Q() if last is None else Q(session__gte=last[0])
        page = list(rows.filter(within & behind)[:PAGE])
        yield from _describe(scope, page, model_id)
        done += len(page)
        report(done)
        if len(page) < PAGE:
            return
        last = (page[-1].session, page[-1].turn)


def links(scope: Scope) -> Iterator[Line]:
    """Yield the links between memories."""
    yield from _pages(MemoryLink.objects.in_scope(scope), "id", LINK)


def pairs(scope: Scope) -> Iterator[Line]:
    """Yield the pairs of statements for a language model, judged or not. `texts_hash` (hex): of both texts when it was
    made."""
    for page in _cut(UnsurePair.objects.in_scope(scope), "id"):
        for one in page:
            yield {**_pick(one, PAIR), "texts_hash": bytes(one.texts_hash).hex()}


def procedures(scope: Scope) -> Iterator[Line]:
    """Yield the namespace's own prompts and tools, without those shared by all namespaces."""
    for page in _cut(Procedure.objects.filter(namespace_id=scope.namespace_id), "id"):
        for one in page:
            yield _pick(one, PROCEDURE)


def summaries(scope: Scope) -> Iterator[Line]:
    """Yield every version of the sessions' summaries in order, except for sessions whose summary is stale.

    `turns`: the number of turns that it covers.
    """
    stale = StaleSource.objects.in_scope(scope).values("session")
    for line in _pages(Condensation.objects.in_scope(scope).exclude(session__in=stale), "id", SUMMARY):
        covered = Memory.objects.in_scope(scope).in_session(line["session"])
        yield {**line, "turns": covered.filter(turn__gt=0, turn__lte=line["covers_to_turn"]).count()}


def quarantine(scope: Scope) -> Iterator[Line]:
    """Yield the items that wait for a decision."""
    yield from _pages(QuarantinedItem.objects.in_scope(scope).pending(), "id", ITEM)


def audit_events(scope: Scope) -> Iterator[Line]:
    """Yield the audit events as they are stored, with keyed hashes instead of typed words."""
    rows = AuditLog.objects.in_scope(scope)
    last: uuid.UUID | None = None
    while True:
        page = list(_values((rows if last is None else rows.filter(id__gt=last)).order_by("id")[:PAGE], EVENT))
        yield from page
        if len(page) < PAGE:
            return
        last = page[-1]["id"]


def _describe(scope: Scope, page: Sequence[Memory], model_id: int | None) -> Iterator[Line]:
    ids = [memory.pk for memory in page]
    read: dict[str, dict[str, Any]] = {
        row["name"]: dict(row)
        for row in Session.objects.in_scope(scope)
        .filter(name__in={memory.session for memory in page})
        .values("name", "settled_turn", "extracted_turn", "preference_turn")
    }
    marks = dict(EntityWatermark.objects.in_scope(scope).filter(session__in=list(read)).values_list("session", "turn"))
    versions = _by_memory(MemoryVersion.objects.in_scope(scope), ids, VERSION)
    retired = _by_memory(RetiredStatement.objects.in_scope(scope), ids, RETIRED)
    opinions = _by_memory(MemoryFeedback.objects.in_scope(scope), ids, FEEDBACK)
    upkeep = _by_memory(MemoryUpkeep.objects.in_scope(scope), ids, UPKEEP)
    chunks = _by_memory(DocumentChunk.objects.in_scope(scope), ids, CHUNK)
    versions_of = dict(
        Document.objects.in_scope(scope)
        .filter(id__in={one["document_key"] for own in chunks.values() for one in own})
        .values_list("id", "version")
    )
    for own in chunks.values():
        for one in own:
            one["version"] = versions_of.get(one["document_key"], 0)
    mentions, relations = _list_names(scope, ids)
    vectors = _vectors(scope, ids, model_id)
    for memory in page:
        line = _pick(memory, MEMORY)
        of_session = read.get(memory.session, {})
        if memory.turn > 0:
            line["settled"] = memory.turn <= of_session.get("settled_turn", 0)
            line["extracted"] = memory.turn <= of_session.get("extracted_turn", 0)
            line["preferences_read"] = memory.turn <= of_session.get("preference_turn", 0)
            line["named"] = memory.turn <= marks.get(memory.session, 0)
        belongings = {
            "versions": versions.get(memory.pk),
            "retired": retired.get(memory.pk),
            "feedback": opinions.get(memory.pk),
            "upkeep": upkeep.get(memory.pk, [None])[0],
            "chunk": chunks.get(memory.pk, [None])[0],
            "mentions": mentions.get(memory.pk),
            "relations": relations.get(memory.pk),
            "vectors": vectors.get(memory.pk),
        }
        yield {**line, **{name: value for name, value in belongings.items() if value}}


def _list_names(
    scope: Scope, ids: Sequence[uuid.UUID]
) -> tuple[dict[uuid.UUID, list[Line]], dict[uuid.UUID, list[Line]]]:
    """Return mentions and relations by memory. A mention refers to its name by key and variant, a relation to its two
    mentions by their positions in the memory's list."""
    found = list(EntityMention.objects.in_scope(scope).filter(memory_id__in=ids).order_by("memory_id", "start", "end"))
    aliases = {
        alias.id: (alias.key, alias.variant)
        for alias in EntityAlias.objects.in_scope(scope).filter(id__in={mention.alias for mention in found})
    }
    mentions: dict[uuid.UUID, list[Line]] = defaultdict(list)
    places: dict[uuid.UUID, int] = {}
    for mention in found:
        if mention.alias in aliases:
            key, variant = aliases[mention.alias]
            places[mention.id] = len(mentions[mention.memory_id])
            mentions[mention.memory_id].append(
                {"key": key, "variant": variant, **_pick(mention, ("start", "end", "pinned"))}
            )
    relations: dict[uuid.UUID, list[Line]] = defaultdict(list)
    for relation in EntityRelation.objects.in_scope(scope).filter(memory_id__in=ids).order_by("id"):
        if relation.subject_mention in places and relation.object_mention in places:
            relations[relation.memory_id].append(
                {
                    "subject": places[relation.subject_mention],
                    "object": places[relation.object_mention],
                    **_pick(relation, ("predicate", "detail", "valid_from", "valid_to")),
                }
            )
    return mentions, relations


def _vectors(scope: Scope, ids: Sequence[uuid.UUID], model_id: int | None) -> dict[uuid.UUID, list[str]]:
    """Return the vectors of each memory's passages in order, as 16-bit floats (little-endian) in base64."""
    found: dict[uuid.UUID, list[str]] = defaultdict(list)
    if model_id is None:
        return found
    rows = MemoryVector.objects.in_scope(scope).filter(model_id=model_id, memory_id__in=ids)
    for memory_id, embedding in rows.order_by("memory_id", "passage").values_list("memory_id", "embedding"):
        found[memory_id].append(base64.b64encode(np.asarray(embedding, dtype="<f2").tobytes()).decode())
    return found


def _by_memory(
    rows: models.QuerySet[Any], ids: Sequence[uuid.UUID], names_of_columns: Sequence[str]
) -> dict[uuid.UUID, list[Line]]:
    found: dict[uuid.UUID, list[Line]] = defaultdict(list)
    ordered = rows.filter(memory_id__in=ids).annotate(of_memory=F("memory_id")).order_by("memory_id", "pk")
    for row in ordered.values("of_memory", *names_of_columns):
        found[row.pop("of_memory")].append(row)
    return found


def _pages(rows: models.QuerySet[Any], key: str, columns: Sequence[str]) -> Iterator[Line]:
    for page in _cut(rows, key):
        for row in page:
            yield _pick(row, columns)


def _cut(rows: models.QuerySet[Any], key: str) -> Iterator[list[Any]]:
    """Yield the rows in the order of `key`, PAGE at a time."""
    ordered = rows.order_by(key)
    page = list(ordered[:PAGE])
    while page:
        yield page
        page = list(ordered.filter(**{f"{key}__gt": getattr(page[-1], key)})[:PAGE]) if len(page) == PAGE else []


def _values(rows: Iterable[Any], columns: Sequence[str]) -> Iterator[Line]:
    yield from rows.values(*columns) if isinstance(rows, models.QuerySet) else rows


def _pick(row: Any, columns: Sequence[str]) -> Line:
    return {name: getattr(row, name) for name in columns}
