"""Stores facts next to the turns that they rest on, each once in its session."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Min

from memory import audit
from memory.enums import AuditEvent, FactRefusal, LinkKind
from memory.governance.importance import importance
from memory.models import EmbeddingModel, Memory, MemoryLink
from memory.models.keys import new_id
from memory.models.memory import content_hash
from memory.services.index import entries
from memory.services.index.embedding import Embedded
from memory.services.index.entries import Indexed
from memory.services.jobs import queue
from memory.services.tenancy import quota
from memory.services.tenancy.zones import zone_of
from memory.text.fact_wording import agree
from memory.text.facts import Fact, bears
from memory.text.statement_form import statement_form
from memory.text.statements import Turn
from memory.text.tokens import count_tokens
from memory.types import Scope, in_zone

# The actor of links between facts and turns, and of archiving facts with their turns.
ACTOR = "rule:facts"
METADATA_KEY = "fact"
# The confidence of a link: the turn states all of the fact, or does so together with other linked turns.
ALONE, TOGETHER = 1.0, 0.5
_REASON = "A language model read it there."
# The most facts of a session with which a new one is compared.
_COMPARED = 2_000

_Key = tuple[str, str, str]


def turn_of(memory: Memory) -> Turn:
    """Return the part of a memory that holds, as a turn to be read, with the time in the namespace's zone."""
    said = in_zone(memory.occurred_at, zone_of(memory.namespace_id))
    return Turn(str(memory.pk), memory.live, memory.role, memory.speaker, said)


def lock_as_read(scope: Scope, read: Mapping[uuid.UUID, tuple[bytes, list[int]]]) -> bool:
    """Lock the turns; return whether all of them exist, hold, and are unchanged since they were read."""
    rows = Memory.objects.in_scope(scope).active().filter(pk__in=read, superseded_by=None)
    locked = rows.order_by("pk").select_for_update(of=("self",)).only("content_hash", "retired_spans")
    return {row.pk: (bytes(row.content_hash), row.retired_spans) for row in locked} == dict(read)


def store_facts(
    scope: Scope,
    session: str,
    facts: Sequence[Fact],
    turns: Sequence[Turn],
    embedded: Embedded | None,
    *,
    model: str,
    now: datetime,
) -> tuple[list[uuid.UUID], int]:
    """Store the facts that the session does not have; a known one is linked to the turns that repeat it.

    To be called in the transaction that locks the session and the turns. `embedded`: the vectors of `facts`, in their
    order; None: the worker makes them. Returns the ids of the new memories, and the number of known facts.
    """
    known = _list_known_facts(scope, session)
    new: list[tuple[int, Memory]] = []
    links: list[MemoryLink] = []
    merged = 0
    for place, fact in enumerate(facts):
        same = _same(known, fact)
        if same is None:
            memory = _memory(scope, session, fact, turns, model=model, now=now)
            known[memory.pk] = (_key(fact.holder, fact.attribute, fact.value), memory.text)
            new.append((place, memory))
            links += [
                _link(scope, memory.pk, turns[source], ALONE if fact.alone else TOGETHER, now=now)
                for source in fact.sources
            ]
        else:
            merged += 1
            said = known[same][1]
            links += [
                _link(
                    scope, same, turns[source], ALONE if bears(said, fact.value, turns[source]) else TOGETHER, now=now
                )
                for source in fact.sources
            ]
    insert_derived(scope, session, [memory for _, memory in new], _vectors(embedded, [place for place, _ in new]))
    MemoryLink.objects.bulk_create(links, ignore_conflicts=True)
    return [memory.pk for _, memory in new], merged


def record(
    scope: Scope, session: str, details: Mapping[str, Any], *, refused: Mapping[FactRefusal, int], now: datetime
) -> None:
    """Record the result of a batch in figures."""
    audit.record(
        scope,
        AuditEvent.FACTS_EXTRACT,
        session=session,
        details={**details, "refused": {str(reason): count for reason, count in sorted(refused.items())}},
        now=now,
    )


def _list_known_facts(scope: Scope, session: str) -> dict[uuid.UUID, tuple[_Key, str]]:
    """Return key and text of the session's facts, including facts that a person archived, but no superseded ones."""
    rows = Memory.objects.in_scope(scope).in_session(session).facts().filter(superseded_by=None).order_by("turn")
    found = {}
    for pk, text, metadata in rows.values_list("pk", "text", "metadata")[:_COMPARED]:
        said = metadata.get(METADATA_KEY)
        said = said if isinstance(said, dict) else {}
        found[pk] = (_key(*(str(said.get(name, "")) for name in ("holder", "attribute", "value"))), text)
    return found


def _key(holder: str, attribute: str, value: str) -> _Key:
    return statement_form(holder), statement_form(attribute), statement_form(value)


def _same(known: Mapping[uuid.UUID, tuple[_Key, str]], fact: Fact) -> uuid.UUID | None:
    """Return the fact of the session that says the same."""
    own, said = _key(fact.holder, fact.attribute, fact.value), statement_form(fact.text)
    for pk, (key, text) in known.items():
        if statement_form(text) == said or (key == own and agree(text, fact.text)):
            return pk
    return None


def _memory(scope: Scope, session: str, fact: Fact, turns: Sequence[Turn], *, model: str, now: datetime) -> Memory:
    source = turns[fact.sources[-1]]
    metadata = {
        METADATA_KEY: {
            "holder": fact.holder,
            "attribute": fact.attribute,
            "value": fact.value,
            "time": fact.time.isoformat() if fact.time else None,
            "model": model,
        }
    }
    return Memory(
        id=new_id(),
        namespace_id=scope.namespace_id,
        session=session,
        role=source.role,
        speaker=source.speaker,
        text=fact.text,
        metadata=metadata,
        occurred_at=source.occurred_at or now,
        created_at=now,
        content_hash=content_hash(fact.text),
        tokens=count_tokens(fact.text, settings.MEMOS_TOKENIZER),
    )


def _link(scope: Scope, fact_id: uuid.UUID, source: Turn, confidence: float, *, now: datetime) -> MemoryLink:
    return MemoryLink(
        namespace_id=scope.namespace_id,
        memory_id=fact_id,
        kind=LinkKind.DERIVED_FROM,
        other_id=uuid.UUID(source.id),
        reason=_REASON,
        confidence=confidence,
        actor=ACTOR,
        created_at=now,
    )


def take_quota(scope: Scope, count: int, *, now: datetime) -> int:
    """Return how many facts the namespace has room for. To be called before the session is locked, as writers of turns
    do."""
    if not count or not quota.has_quota(scope.namespace_id):
        return count
    granted = quota.take({scope.namespace_id: count}, now=now).get(scope.namespace_id)
    return count if granted is None else granted.memories


def _vectors(embedded: Embedded | None, places: Sequence[int]) -> Embedded | None:
    return embedded.only(places) if embedded is not None else None


def insert_derived(scope: Scope, session: str, memories: Sequence[Memory], embedded: Embedded | None) -> None:
    """Store memories derived from turns with their postings, vectors and counts, numbered below the turns of their
    session.

    To be called in the transaction that locks the session.
    """
    if not memories:
        return
    rows = Memory.objects.in_scope(scope).in_session(session)
    first = min(rows.aggregate(lowest=Min("turn"))["lowest"] or 0, 0)
    made = embedded is not None and EmbeddingModel.objects.in_use(embedded.model_id)
    indexed = []
    for position, memory in enumerate(memories, start=1):
        memory.turn = first - position
        entry = Indexed.of(memory, text=memory.text)
        memory.terms, memory.length = list(entry.frequencies), entry.length
        memory.importance = importance(memory.text, memory.role, memory.terms).value
        memory.embedded = made
        indexed.append(entry)
    Memory.objects.bulk_create(memories)
    entries.insert_postings(indexed)
    if embedded is not None:
        entries.insert_vectors(memories, embedded, searchable=True)
    entries.change_counts(entries.counts_of((entry.namespace_id, entry.length) for entry in indexed))
    if not made:
        queue.enqueue(queue.EMBED_PENDING)
