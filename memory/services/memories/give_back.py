"""Undoes the automatic supersessions of a newer memory that says something else now, or is away.

A person's decisions stay: supersessions by hand, and parts that were taken back already. What is undone here was not
decided by a person, so it may be retired again.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from datetime import datetime

from django.db import transaction

from memory.enums import AuditEvent, LinkKind, PairVerdict
from memory.models import AuditLog, Memory, MemoryLink, RetiredStatement, UnsurePair
from memory.models.locks import Lock, lock_in_transaction
from memory.services.index.embedding import Embedded, embed_or_none, passages_to_embed
from memory.services.memories import retire, supersede
from memory.services.memories.change import AS_IT_COMES, MemoryChange, store_change
from memory.services.memories.retire import ACTOR
from memory.services.summaries.stale import mark
from memory.types import Scope, system_access

# The number of older memories that one transaction changes.
AT_ONCE = 50
GONE = "The newer memory is away or says something else now."
_COLUMNS = ("valid_to", "superseded_by", "superseded_at", "retired_spans", "terms", "length")


def give_back(scope: Scope, *, newer_ids: Collection[uuid.UUID], now: datetime) -> list[uuid.UUID]:
    """Undo all automatic effects of these newer memories, even if they are gone; return the ids of the changed older
    ones."""
    namespace_id, by = scope.namespace_id, list(newer_ids)
    statements = RetiredStatement.objects.in_scope(scope).filter(by__in=by, withdrawn_at=None)
    superseded = Memory.objects.in_scope(scope).filter(superseded_by__in=by)
    links = MemoryLink.objects.in_scope(scope).filter(memory_id__in=by, kind=LinkKind.SUPERSEDES, actor=ACTOR)
    older = sorted(
        {
            *statements.values_list("memory_id", flat=True),
            *superseded.values_list("pk", flat=True),
            *links.values_list("other_id", flat=True),
        }
    )
    changed = []
    for start in range(0, len(older), AT_ONCE):
        made = _embed_remaining(scope, older[start : start + AT_ONCE], by)
        with transaction.atomic():
            rows = Memory.objects.in_scope(scope).filter(pk__in=older[start : start + AT_ONCE]).order_by("pk")
            locked = list(rows.select_related("namespace").select_for_update(of=("self",)))
            lock_in_transaction(Lock.SUPERSEDE, namespace_id)
            ours = by_machine(namespace_id, [one.pk for one in locked if one.superseded_by in by])
            for memory in locked:
                memory_change = _memory_change(memory, by, ends=memory.pk in ours, made=made)
                if memory_change is not None:
                    store_change(system_access(scope.actor), memory, memory_change, terms=AS_IT_COMES, now=now)
                    changed.append(memory.pk)
            links.filter(other_id__in=[one.pk for one in locked]).delete()
            # The language model is asked again about pairs that it judged as replaced, should the newer memory come
            # back.
            judged = UnsurePair.objects.in_scope(scope).filter(newer_id__in=by, verdict=PairVerdict.REPLACES)
            judged.filter(older_id__in=[one.pk for one in locked]).delete()
    return changed


def by_machine(namespace_id: int, memory_ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return those of the superseded memories that were superseded automatically, by the actor of their last such
    event.

    The link between the two names the actor as well, but is deleted with the newer memory.
    """
    events = AuditLog.objects.filter(
        namespace_id=namespace_id,
        subject__in=[str(identity) for identity in memory_ids],
        event_type=AuditEvent.MEMORY_SUPERSEDE.value,
    )
    last = events.order_by("subject", "-id").distinct("subject").values_list("subject", "actor")
    return {uuid.UUID(subject) for subject, actor in last if actor == ACTOR}


_Said = tuple[uuid.UUID, int]


def _embed_remaining(scope: Scope, older: Collection[uuid.UUID], by: Collection[uuid.UUID]) -> dict[_Said, Embedded]:
    """Embed the text that each memory will have afterwards, before a transaction opens; return the vectors by id and
    revision. The worker makes any missing vectors."""
    found: dict[_Said, Embedded] = {}
    for memory in Memory.objects.in_scope(scope).filter(pk__in=older):
        if memory.retired_spans:
            text = retire.remaining_text_after(memory, by=by)
            embedded = embed_or_none([passages_to_embed(text, memory.speaker, memory.context)])
            if embedded is not None:
                found[memory.pk, memory.revision] = embedded
    return found


def _memory_change(
    memory: Memory, by: Collection[uuid.UUID], *, ends: bool, made: Mapping[_Said, Embedded]
) -> MemoryChange | None:
    before = supersede.validity(memory)
    count = retire.give_back(memory, by=by, embedded=made.get((memory.pk, memory.revision)))
    if ends:
        memory.valid_to = memory.superseded_by = memory.superseded_at = None
        mark([memory])
    if not count and not ends:
        return None
    changed = [*(["valid_to", "superseded_by"] if ends else []), *(["retired_statements"] if count else [])]
    details = {"reason": GONE, "statements": count, "before": before, "after": supersede.validity(memory)}
    return MemoryChange(AuditEvent.MEMORY_REINSTATE, changed, _COLUMNS, details)
