"""Stores what settling decided of one memory and earlier ones: what leaves search, what is linked, what waits for a
person or a language model. `reinstate` takes all of it back."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, LinkKind, MemoryState, Relation, Review
from memory.errors import Conflict
from memory.governance.comparison import LEAST_CONFIDENCE, Retired
from memory.governance.conflicts import Decision
from memory.models import HOLDS_ON, Memory, MemoryLink, RetiredStatement
from memory.models.locks import Lock, lock_in_transaction
from memory.services.index.embedding import Embedded, embed_or_none, passages_to_embed
from memory.services.memories import unsure_pairs
from memory.services.memories.change import AS_IT_COMES, MAX_REASON_CHARS, store_change
from memory.services.memories.comparison import MemoryComparison
from memory.services.memories.retire import reason_of, remaining_text, retire, search_what_holds
from memory.services.memories.supersede import end_memory
from memory.types import Scope, system_access

log = logging.getLogger("memos.settling")

_SAME = Decision(Relation.RESTATES, "Both say the same.", (), 1.0)


def store_outcome(comparison: MemoryComparison, *, now: datetime) -> bool:
    """Stores what was decided; nothing, and False, if one of the memories was changed since it was read."""
    settled = comparison.settled
    retired: dict[uuid.UUID, list[Retired[uuid.UUID]]] = {}
    for one in settled.retired:
        retired.setdefault(one.key, []).append(one)
    embedded = {key: _embed_remaining(comparison.memories[key], ones) for key, ones in retired.items()}
    with transaction.atomic():
        locked = _lock(comparison)
        if locked is None:
            return False
        lock_in_transaction(Lock.SUPERSEDE, comparison.scope.namespace_id)
        for key, ones in retired.items():
            _retire(comparison, locked, locked[key], ones, embedded=embedded[key], now=now)
        _link_formers(comparison, locked, now=now)
        unsure_pairs.note(comparison.scope, locked[comparison.memory.pk], locked, settled.unsure, now=now)
        for disputed in settled.review:
            _ask_for_review(comparison, locked[disputed.key], disputed.decision, now=now)
        for key in comparison.same:
            if key in locked:
                _link(comparison, LinkKind.RESTATES, key, _SAME, now=now)
    return True


def person_said_both_hold(scope: Scope, newer_id: uuid.UUID, older_id: uuid.UUID) -> bool:
    """Whether a person said that both hold."""
    links = MemoryLink.objects.in_scope(scope).filter(memory_id=newer_id, other_id=older_id)
    return links.filter(kind=LinkKind.BOTH_HOLD).exists()


def _embed_remaining(memory: Memory, retired: Sequence[Retired[uuid.UUID]]) -> Embedded | None:
    """The vectors of what is left of the memory; before the transaction opens."""
    text = remaining_text(memory, retired)
    return embed_or_none([passages_to_embed(text, memory.speaker, memory.context)]) if text else None


def _lock(comparison: MemoryComparison) -> dict[uuid.UUID, Memory] | None:
    """The memories, locked, by id; None when one of which something was decided is not as it was read."""
    settled, read = comparison.settled, comparison.memories
    judged = {
        comparison.memory.pk,
        *(one.key for one in settled.retired),
        *(one.key for one in settled.linked),
        *(one.key for one in settled.unsure),
        *(one.key for one in settled.review),
    }
    rows = Memory.objects.in_scope(comparison.scope).filter(pk__in={*judged, *comparison.same})
    ordered = rows.select_related("namespace").order_by("pk").select_for_update(of=("self",))
    locked = {row.pk: row for row in ordered}
    return locked if all(key in locked and _is_as_read(locked[key], read[key]) for key in judged) else None


def _is_as_read(row: Memory, read: Memory) -> bool:
    if row.state != MemoryState.ACTIVE or row.superseded_by is not None:
        return False
    said = bytes(row.content_hash) == bytes(read.content_hash) and row.retired_spans == read.retired_spans
    return said and (row.speaker, row.context) == (read.speaker, read.context)


def _retire(
    comparison: MemoryComparison,
    locked: Mapping[uuid.UUID, Memory],
    older: Memory,
    retired: Sequence[Retired[uuid.UUID]],
    *,
    embedded: Embedded | None,
    now: datetime,
) -> None:
    """Takes the statements out of `older`; supersedes it when nothing of it is left."""
    newer = locked[comparison.memory.pk]
    sure = [one for one in retired if one.holds or one.decision.confidence >= LEAST_CONFIDENCE]
    going = _list_open(older, sure)
    if not going or person_said_both_hold(comparison.scope, newer.pk, older.pk):
        return
    if len(going) < len(retired):
        # The vectors were made of a text without those that are kept.
        embedded = None
    if older.pk != newer.pk and search_what_holds(older, going):
        embedded = None
    if remaining_text(older, going):
        _retire_part(comparison, older, going, newer=newer, embedded=embedded, now=now)
    elif older.pk != newer.pk:
        _supersede(comparison, older, newer, _surest(going), now=now)


def _list_open(older: Memory, retired: Sequence[Retired[uuid.UUID]]) -> list[Retired[uuid.UUID]]:
    """Without what was retired already, and what a person took back: that is never retired again."""
    rows = RetiredStatement.objects.filter(namespace_id=older.namespace_id, memory_id=older.pk)
    known = list(rows.values_list("start", "end", "withdrawn_at", "valid_to"))
    starts = {start for start, *_ in known}
    # What left search only may still be taken back.
    ended = {start for start, _, _, valid_to in known if valid_to < HOLDS_ON}
    kept = [(start, end) for start, end, withdrawn_at, _ in known if withdrawn_at is not None]
    return [
        one
        for one in retired
        if one.start not in (starts if one.holds else ended)
        and not any(one.start < end and start < one.end for start, end in kept)
    ]


def _surest(retired: Sequence[Retired[uuid.UUID]]) -> Decision:
    return max(retired, key=lambda one: one.decision.confidence).decision


def _retire_part(
    comparison: MemoryComparison,
    older: Memory,
    retired: Sequence[Retired[uuid.UUID]],
    *,
    newer: Memory,
    embedded: Embedded | None,
    now: datetime,
) -> None:
    decision, before = _surest(retired), len(older.retired_spans) // 2
    retire(older, retired, by=newer, embedded=embedded, now=now)
    older.revision += 1
    older.save(update_fields=["retired_spans", "terms", "length", "revision"])
    audit.record(
        comparison.scope,
        AuditEvent.MEMORY_RETIRE,
        session=older.session,
        subject=str(older.pk),
        details={
            "by": str(newer.pk),
            "reason": reason_of(decision),
            "confidence": decision.confidence,
            "statements": len(retired),
            "characters": sum(one.end - one.start for one in retired),
            "before": {"retired_statements": before},
            "after": {"retired_statements": len(older.retired_spans) // 2},
            "revision": older.revision,
            **_name_judge(comparison),
        },
        now=now,
    )


def _supersede(
    comparison: MemoryComparison, older: Memory, newer: Memory, decision: Decision, *, now: datetime
) -> None:
    actor = comparison.scope.actor
    try:
        memory_change = end_memory(older, newer, reason_of(decision), decision.confidence, actor, now=now)
    except Conflict as error:
        log.info("not superseded", extra={"memory": str(older.pk), "reason": error.message})
        return
    if memory_change is not None:
        memory_change.details.update(_name_judge(comparison))
    store_change(system_access(actor), older, memory_change, terms=AS_IT_COMES, now=now)


def _name_judge(comparison: MemoryComparison) -> dict[str, str]:
    return {"judge": comparison.judge} if comparison.judge else {}


def _link_formers(comparison: MemoryComparison, locked: Mapping[uuid.UUID, Memory], *, now: datetime) -> None:
    """Links the memory to what gives way to it, but for what a language model judged to hold beside it."""
    newer = locked[comparison.memory.pk]
    for one in comparison.settled.linked:
        unsure = one.decision.confidence < LEAST_CONFIDENCE
        if unsure and unsure_pairs.both_hold(newer, locked[one.key], start=one.start):
            continue
        _link(comparison, LinkKind.SUPERSEDES, one.key, one.decision, words=(one.start, one.end), now=now)


def _link(
    comparison: MemoryComparison,
    kind: LinkKind,
    other: uuid.UUID,
    decision: Decision,
    *,
    words: tuple[int, int] | None = None,
    now: datetime,
) -> bool:
    """Links the memory to the other, once; whether that is new. What a person said of the two stays as it is. `words`:
    those of the other that are meant."""
    scope, newer_id = comparison.scope, comparison.memory.pk
    if other == newer_id or (kind is LinkKind.SUPERSEDES and person_said_both_hold(scope, newer_id, other)):
        return False
    defaults = {
        "reason": decision.reason[:MAX_REASON_CHARS],
        "confidence": decision.confidence,
        "actor": scope.actor,
        "created_at": now,
        "start": words[0] if words else None,
        "end": words[1] if words else None,
    }
    _, made = MemoryLink.objects.get_or_create(
        namespace_id=scope.namespace_id, memory_id=newer_id, other_id=other, kind=kind, defaults=defaults
    )
    return made


def _ask_for_review(comparison: MemoryComparison, older: Memory, decision: Decision, *, now: datetime) -> None:
    made = _link(comparison, LinkKind.CONTRADICTS, older.pk, decision, now=now)
    if not made or older.review or decision.relation is not Relation.CONTRADICTS:
        return
    older.review = Review.CONTRADICTION
    older.revision += 1
    older.save(update_fields=["review", "revision"])
    audit.record(
        comparison.scope,
        AuditEvent.MEMORY_CONTRADICTION,
        session=older.session,
        subject=str(older.pk),
        details={
            "by": str(comparison.memory.pk),
            "reason": reason_of(decision),
            "confidence": decision.confidence,
            "before": {"review": ""},
            "after": {"review": older.review},
            "revision": older.revision,
        },
        now=now,
    )
