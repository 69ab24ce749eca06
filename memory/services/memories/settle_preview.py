"""Previews the effects of settling without storing them, and undoes what settling did since a moment."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from memory.enums import LinkKind
from memory.errors import InvalidInput
from memory.models import HOLDS_ON, Memory, MemoryLink, Namespace, RetiredStatement, Session, UnsurePair
from memory.models.locks import Lock, lock_in_transaction
from memory.services.memories import reinstate, settle
from memory.services.memories.change import AS_IT_COMES, check_reason, store_change
from memory.services.memories.give_back import by_machine
from memory.services.memories.retire import ACTOR
from memory.types import Access, Scope


@dataclass(frozen=True, slots=True)
class Would:
    """An effect that settling would have on `memory_id` because of `newer_id`. `what`: retire (a part leaves search),
    supersede (all of it), link (it stays, and "later" is shown with it) or review (a person is to decide)."""

    what: str
    memory_id: uuid.UUID
    newer_id: uuid.UUID
    old_words: str
    new_words: str
    reason: str
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """Return the effect as JSON."""
        return {
            "what": self.what,
            "memory_id": str(self.memory_id),
            "newer_id": str(self.newer_id),
            "old_words": self.old_words,
            "new_words": self.new_words,
            "reason": self.reason,
            "confidence": self.confidence,
        }


def would_do(scope: Scope, *, everything: bool, now: datetime) -> Iterator[Would]:
    """Yield the effects of settling the waiting turns (or `everything` said so far), in the order of the turns.

    Each memory is compared in a separate transaction that is rolled back, so its locks are held only for a moment. The
    comparison therefore sees what the others say now, and an effect is yielded only once. The policy is ignored. Raises
    EmbeddingUnavailable, Conflict.
    """
    told: set[tuple[str, uuid.UUID, int]] = set()
    for memory_id in _waiting(scope, everything=everything):
        for key, one in _try(scope, memory_id, now=now):
            if key not in told:
                told.add(key)
                yield one


@dataclass(slots=True)
class Undone:
    """The numbers of effects that were undone, and of the memories concerned."""

    memories: int = 0
    statements: int = 0
    superseded: int = 0
    links: int = 0

    def to_dict(self) -> dict[str, int]:
        """Return the numbers as JSON."""
        return asdict(self)


def undo_since(access: Access, *, namespace: str | None, since: datetime, reason: str, now: datetime) -> Undone:
    """Undo, for good, the automatic retirements, supersessions and links since then that still apply.

    Works memory by memory, each with its audit event; repeating it finds nothing. Raises InvalidInput.
    """
    reason = check_reason(reason)
    if since > now:
        raise InvalidInput("That moment is still to come: name one that is past.", detail={"field": "since"})
    undone = Undone()
    rows = Namespace.objects.order_by("pk")
    rows = rows if access.all_namespaces else rows.filter(pk__in=access.namespace_ids)
    for space in rows if namespace is None else rows.filter(name=namespace):
        scope = Scope(space.pk, space.name, access.actor)
        for memory_id in _list_touched(scope, since):
            _undo_one(access, scope, memory_id, undone, since=since, reason=reason, now=now)
        links = MemoryLink.objects.in_scope(scope).filter(kind=LinkKind.SUPERSEDES, actor=ACTOR, created_at__gte=since)
        undone.links += links.delete()[0]
        # Otherwise a language model would decide these pairs later after all.
        UnsurePair.objects.in_scope(scope).filter(verdict="", created_at__gte=since).delete()
    return undone


def _waiting(scope: Scope, *, everything: bool) -> Iterator[uuid.UUID]:
    for session in Session.objects.in_scope(scope).order_by("last_message_at", "name"):
        after = session.skipped_turn if session.skipped_turn is not None else session.settled_turn
        rows = Memory.objects.in_scope(scope).in_session(session.name).active()
        rows = rows.filter(turn__gt=0 if everything else after, superseded_by=None).order_by("turn")
        yield from list(rows.values_list("pk", flat=True))


def _try(scope: Scope, memory_id: uuid.UUID, *, now: datetime) -> list[tuple[tuple[str, uuid.UUID, int], Would]]:
    ours = Scope(scope.namespace_id, scope.namespace, ACTOR)
    with transaction.atomic():
        before = _standing(scope, memory_id)
        settle.settle_one(ours, memory_id=memory_id, now=now)
        found = [(key, one) for key, one in _standing(scope, memory_id).items() if key not in before]
        transaction.set_rollback(True)
    return found


def _standing(scope: Scope, memory_id: uuid.UUID) -> dict[tuple[str, uuid.UUID, int], Would]:
    """Return all current effects between one memory and others."""
    statements = list(
        RetiredStatement.objects.in_scope(scope).filter(
            Q(by=memory_id) | Q(memory_id=memory_id), withdrawn_at=None, valid_to__lt=HOLDS_ON
        )
    )
    links = list(
        MemoryLink.objects.in_scope(scope).filter(
            Q(memory_id=memory_id) | Q(other_id=memory_id), kind__in=(LinkKind.SUPERSEDES, LinkKind.CONTRADICTS)
        )
    )
    named = {one for row in statements for one in (row.memory_id, row.by)}
    named |= {one for link in links for one in (link.memory_id, link.other_id)}
    rows = {one.pk: one for one in Memory.objects.in_scope(scope).filter(pk__in=named)}
    texts = {identity: row.text for identity, row in rows.items()}
    found = {
        ("retire", row.memory_id, row.start): Would(
            "retire", row.memory_id, row.by, texts[row.memory_id][row.start : row.end],
            texts.get(row.by, "")[row.by_start : row.by_end], row.reason, row.confidence,
        )
        for row in statements
    }  # fmt: skip
    cut = {(row.memory_id, row.by) for row in statements}
    for link in links:
        older, newer = link.other_id, link.memory_id
        if link.kind == LinkKind.CONTRADICTS:
            what = "review"
        elif (older, newer) in cut:
            continue
        else:
            what = "supersede" if rows[older].superseded_by == newer else "link"
        found[(what, older, -1)] = Would(what, older, newer, texts[older], texts[newer], link.reason, link.confidence)
    return found


def _list_touched(scope: Scope, since: datetime) -> list[uuid.UUID]:
    statements = RetiredStatement.objects.in_scope(scope).filter(retired_at__gte=since, withdrawn_at=None)
    superseded = Memory.objects.in_scope(scope).filter(superseded_by__isnull=False, superseded_at__gte=since)
    return sorted({*statements.values_list("memory_id", flat=True), *superseded.values_list("pk", flat=True)})


def _undo_one(
    access: Access, scope: Scope, memory_id: uuid.UUID, undone: Undone, *, since: datetime, reason: str, now: datetime
) -> None:
    with transaction.atomic():
        memory = (
            Memory.objects.in_scope(scope)
            .filter(pk=memory_id)
            .select_related("namespace")
            .select_for_update(of=("self",))
            .first()
        )
        if memory is None:
            return
        lock_in_transaction(Lock.SUPERSEDE, scope.namespace_id)
        recent = memory.superseded_at is not None and memory.superseded_at >= since
        ends = recent and bool(by_machine(scope.namespace_id, [memory.pk]))
        rows = RetiredStatement.objects.filter(namespace_id=scope.namespace_id, memory_id=memory.pk, withdrawn_at=None)
        starts = list(rows.filter(retired_at__gte=since).values_list("start", flat=True))
        memory_change = reinstate.take_back(
            memory, starts=starts, superseded=ends, reason=reason, actor=access.actor, now=now
        )
        if memory_change is not None:
            store_change(access, memory, memory_change, terms=AS_IT_COMES, now=now)
            undone.memories += 1
            undone.statements += len(starts)
            undone.superseded += ends
