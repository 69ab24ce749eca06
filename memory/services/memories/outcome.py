"""Stores the decisions of settling about a memory and earlier ones: statements that leave search, links, and pairs that
wait for a person or a language model. `reinstate` undoes all of it.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, LinkKind, MemoryState, Review
from memory.errors import Conflict
from memory.governance.settling import Decision, Linked, Retired
from memory.models import Memory, MemoryLink
from memory.models.locks import Lock, lock_in_transaction
from memory.models.memory import spans_of
from memory.services.index.embedding import Embedded, embed_or_none, passages_to_embed
from memory.services.index.searchable_text import list_unsearched_spans
from memory.services.memories import unsure_pairs
from memory.services.memories.change import AS_IT_COMES, MAX_REASON_CHARS, store_change
from memory.services.memories.comparison import MemoryComparison
from memory.services.memories.retire import RetiredBefore, list_retired, remaining_text, retire
from memory.services.memories.supersede import end_memory
from memory.types import Scope, system_access

log = logging.getLogger("memos.settling")

_SAME = Decision("Both say the same.", 1.0)


def store_outcome(comparison: MemoryComparison, *, now: datetime) -> bool:
    """Store the decisions; return False, and store nothing, if one of the memories was changed since it was read."""
    settled = comparison.settled
    retired: dict[uuid.UUID, list[Retired[uuid.UUID]]] = {}
    for one in settled.retired:
        retired.setdefault(one.key, []).append(one)
    embedded = _embed_remaining(comparison, retired)
    with transaction.atomic():
        locked = _lock(comparison)
        if locked is None:
            return False
        lock_in_transaction(Lock.SUPERSEDE, comparison.scope.namespace_id)
        both_hold = _list_both_hold(comparison)
        for key, ones in retired.items():
            if key not in both_hold:
                _retire(comparison, locked, locked[key], ones, embedded=embedded.get(key), now=now)
        made = _link(comparison, _list_links(comparison, locked, both_hold), now=now)
        unsure_pairs.note(comparison.scope, locked[comparison.memory.pk], locked, _list_unsure(comparison), now=now)
        for disputed in settled.review:
            if (LinkKind.CONTRADICTS, disputed.key) in made:
                _ask_for_review(comparison, locked[disputed.key], disputed.decision, now=now)
    return True


def person_said_both_hold(scope: Scope, newer_id: uuid.UUID, older_id: uuid.UUID) -> bool:
    """Return whether a person decided that both hold."""
    links = MemoryLink.objects.in_scope(scope).filter(memory_id=newer_id, other_id=older_id)
    return links.filter(kind=LinkKind.BOTH_HOLD).exists()


def _list_both_hold(comparison: MemoryComparison) -> frozenset[uuid.UUID]:
    """Return the earlier memories of which a person decided that they hold together with the newer one."""
    links = MemoryLink.objects.in_scope(comparison.scope).filter(memory_id=comparison.memory.pk)
    return frozenset(links.filter(kind=LinkKind.BOTH_HOLD).order_by().values_list("other_id", flat=True))


def _embed_remaining(
    comparison: MemoryComparison, retired: Mapping[uuid.UUID, Sequence[Retired[uuid.UUID]]]
) -> dict[uuid.UUID, Embedded]:
    """Embed the remaining text of each memory, if any, where the model is available; before the transaction."""
    memories = comparison.memories
    unsearched = list_unsearched_spans([memories[key] for key in retired])
    texts = {key: remaining_text(memories[key], ones, unsearched[key]) for key, ones in retired.items()}
    left = [key for key, text in texts.items() if text]
    passages = [passages_to_embed(texts[key], memories[key].speaker, memories[key].context) for key in left]
    embedded = embed_or_none(passages) if left else None
    if embedded is None:
        return {}
    return {key: embedded.only([place]) for place, key in enumerate(left)}


def _lock(comparison: MemoryComparison) -> dict[uuid.UUID, Memory] | None:
    """Lock the memories and return them by id; None when one that was judged has changed since it was read."""
    settled, read = comparison.settled, comparison.memories
    judged = {
        comparison.memory.pk,
        *(one.key for one in settled.retired),
        *(one.key for one in settled.linked),
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
    """Take the statements out of `older`; supersede it when no statement is left."""
    newer = locked[comparison.memory.pk]
    known = list_retired(older)
    going = _list_open(known, retired)
    if not going:
        return
    if len(going) < len(retired):
        # The vectors were made of a text without the statements that are kept.
        embedded = None
    unsearched = [*spans_of(older.retired_spans), *((one.start, one.end) for one in known if one.holds)]
    if older.pk == newer.pk or remaining_text(older, going, unsearched):
        _retire_part(comparison, older, going, newer=newer, embedded=embedded, now=now)
    else:
        _supersede(comparison, older, newer, _surest(going), now=now)


def _list_open(known: Sequence[RetiredBefore], retired: Sequence[Retired[uuid.UUID]]) -> list[Retired[uuid.UUID]]:
    """Leave out statements that are retired already or that a person took back; the latter are never retired again."""
    ended = {one.start for one in known if one.ended}
    return [
        one
        for one in retired
        if one.start not in ended
        and not any(kept.withdrawn and kept.start < one.end and one.start < kept.end for kept in known)
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
            "reason": decision.reason,
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
        memory_change = end_memory(older, newer, decision.reason, decision.confidence, actor, now=now)
    except Conflict as error:
        log.info("not superseded", extra={"memory": str(older.pk), "reason": error.message})
        return
    if memory_change is not None:
        memory_change.details.update(_name_judge(comparison))
    store_change(system_access(actor), older, memory_change, terms=AS_IT_COMES, now=now)


def _name_judge(comparison: MemoryComparison) -> dict[str, str]:
    return {"judge": comparison.judge} if comparison.judge else {}


@dataclass(frozen=True, slots=True)
class _NewLink:
    """A link of the memory to `other`. `words`: the span of the other that is meant, if not all of it."""

    kind: LinkKind
    other: uuid.UUID
    decision: Decision
    words: tuple[int, int] | None = None


def _list_links(
    comparison: MemoryComparison, locked: Mapping[uuid.UUID, Memory], both_hold: Container[uuid.UUID]
) -> list[_NewLink]:
    """List the memory's links to memories that give way to it, unless a person or a language model says that both
    hold; to memories that it contradicts; and to memories that say the same.
    """
    settled = comparison.settled
    links = [
        _NewLink(LinkKind.SUPERSEDES, one.key, one.decision, (one.start, one.end))
        for one in _list_formers(comparison, locked)
        if one.key not in both_hold
    ]
    links += [
        _NewLink(LinkKind.CONTRADICTS, one.key, one.decision) for one in settled.review if one.key not in both_hold
    ]
    return links + [_NewLink(LinkKind.RESTATES, key, _SAME) for key in comparison.same if key in locked]


def _list_formers(comparison: MemoryComparison, locked: Mapping[uuid.UUID, Memory]) -> list[Linked[uuid.UUID]]:
    """List the memories that give way to the memory, unless a language model judged that both hold."""
    linked = comparison.settled.linked
    held = unsure_pairs.list_both_hold(locked[comparison.memory.pk], locked) if linked else ()
    return [one for one in linked if (one.key, one.start) not in held]


def _list_unsure(comparison: MemoryComparison) -> list[Linked[uuid.UUID]]:
    """List links without a retirement, about which a language model may be asked; none if no model is configured."""
    settled = comparison.settled
    if not settled.linked or unsure_pairs.judge_of(comparison.scope.namespace_id) is None:
        return []
    retired = {(one.key, one.start) for one in settled.retired}
    return [one for one in settled.linked if (one.key, one.start) not in retired]


def _link(
    comparison: MemoryComparison, links: Sequence[_NewLink], *, now: datetime
) -> frozenset[tuple[LinkKind, uuid.UUID]]:
    """Link the memory to others, to each once in a kind; return which links are new."""
    scope, newer_id = comparison.scope, comparison.memory.pk
    if not links:
        return frozenset()
    others = {one.other for one in links}
    rows = MemoryLink.objects.in_scope(scope).filter(memory_id=newer_id, other_id__in=others).order_by()
    known = {(LinkKind(kind), other) for kind, other in rows.values_list("kind", "other_id")}
    wanted: dict[tuple[LinkKind, uuid.UUID], _NewLink] = {}
    for one in links:
        if one.other != newer_id and (one.kind, one.other) not in known:
            wanted.setdefault((one.kind, one.other), one)
    MemoryLink.objects.bulk_create(
        (
            MemoryLink(
                namespace_id=scope.namespace_id,
                memory_id=newer_id,
                kind=one.kind,
                other_id=one.other,
                reason=one.decision.reason[:MAX_REASON_CHARS],
                confidence=one.decision.confidence,
                actor=scope.actor,
                created_at=now,
                start=one.words[0] if one.words else None,
                end=one.words[1] if one.words else None,
            )
            for one in wanted.values()
        ),
        ignore_conflicts=True,
    )
    return frozenset(wanted)


def _ask_for_review(comparison: MemoryComparison, older: Memory, decision: Decision, *, now: datetime) -> None:
    """Request a person's review of an earlier memory, unless it waits for another review."""
    if older.review:
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
            "reason": decision.reason,
            "confidence": decision.confidence,
            "before": {"review": ""},
            "after": {"review": older.review},
            "revision": older.revision,
        },
        now=now,
    )
