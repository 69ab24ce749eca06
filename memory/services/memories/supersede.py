"""Has a memory supersede an older one, which stays stored and linked but no longer holds.

A legal hold does not prevent it: the older memory's content does not change, and `reinstate` undoes it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memory.enums import AuditEvent, LinkKind, MemoryState, Review
from memory.errors import Conflict, InvalidInput, NotFound
from memory.kinds import SESSION_PREFIX
from memory.models import Memory, MemoryLink
from memory.models.locks import Lock, lock_in_transaction
from memory.models.queries import memories as queries
from memory.services.index.embedding import embed_or_none, passages_to_embed
from memory.services.index.insert import LetIn, prepare, write
from memory.services.ingestion.admission import admit_fields, admit_text
from memory.services.ingestion.ingest import EMBEDDING_DELAYED, WINDOW_SKIPPED, append_to_windows, ask_for_summaries
from memory.services.memories.change import (
    AS_IT_COMES,
    MemoryChange,
    check_reason,
    lock_memories,
    run_once,
    store_change,
)
from memory.services.memories.edit import check_metadata, check_text
from memory.services.summaries.stale import mark
from memory.services.tenancy import idempotency as answers
from memory.types import Access, ChangeTerms, NewMemory, Scope


def remaining_review(review: str) -> str:
    """Return the review that a superseded memory still waits for: suspicion remains, because readers can ask for former
    times."""
    return review if review == Review.SUSPECTED else ""


def supersede(
    access: Access,
    *,
    older_id: uuid.UUID,
    newer_id: uuid.UUID,
    reason: str,
    now: datetime,
    confidence: float = 1.0,
    terms: ChangeTerms = AS_IT_COMES,
) -> dict[str, Any]:
    """Have the newer memory supersede the older one, which ends when the newer begins.

    The older one keeps its text and state, gets `valid_to` and leaves the review list. `terms` apply to the older one,
    and the answer is its standing, as of `change`. Repeating it changes nothing. Raises, in addition to what `change`
    raises, InvalidInput for the same memory, NotFound for a memory of another namespace, and Conflict when the older
    one was superseded by another, when the newer is archived, or when it was itself superseded by the older.
    """
    reason = check_reason(reason)
    if older_id == newer_id:
        raise InvalidInput("A memory cannot supersede itself.", detail={"field": "by"})

    def act() -> dict[str, Any]:
        found = lock_memories(access, [older_id, newer_id], terms=terms)
        older, newer = found[older_id], found[newer_id]
        if older.namespace_id != newer.namespace_id:
            raise NotFound(f"There is no memory {newer_id} in the namespace of the older one.", detail={"field": "by"})
        lock_in_transaction(Lock.SUPERSEDE, older.namespace_id)
        memory_change = end_memory(older, newer, reason, confidence, access.actor, now=now)
        return store_change(access, older, memory_change, terms=terms, now=now)

    return run_once(terms.idempotency, act, now=now)[0]


def supersede_by_text(
    access: Access,
    *,
    older_id: uuid.UUID,
    text: str,
    reason: str,
    now: datetime,
    metadata: Mapping[str, Any] | None = None,
    occurred_at: datetime | None = None,
    terms: ChangeTerms = AS_IT_COMES,
) -> dict[str, Any]:
    """Supersede a memory as `supersede` does, by a new memory of `text`: the session's next turn, by the same speaker.

    The new memory is stored in the same transaction, as an ingested turn is. Raises InvalidInput for a document's chunk
    or a fact, whose sessions have no turns: they can only be superseded by an existing memory.
    """
    reason, text = check_reason(reason), check_text(text)
    older = Memory.objects.reachable_by(access).filter(pk=older_id).select_related("namespace").first()
    if older is None:
        raise NotFound(f"There is no memory {older_id} that this key reaches.", detail={"field": "memory_id"})
    if older.turn < 0 and not older.session.startswith(SESSION_PREFIX):
        raise InvalidInput(
            "This is a fact that was read in turns: correct its text, or name the memory that supersedes it as `by`.",
            detail={"field": "text"},
        )
    if older.turn < 0:
        raise InvalidInput(
            "This is a chunk of a document: put the document anew, or name the memory that supersedes it as `by`.",
            detail={"field": "text"},
        )
    namespace_id, role, speaker = older.namespace_id, older.role, older.speaker
    admitted = admit_text(access, namespace_id=namespace_id, text=text, role=role, speaker=speaker)
    admitted += admit_fields(access, namespace_id=namespace_id, fields={"metadata": check_metadata(metadata or {})})
    new = NewMemory(
        session=older.session,
        role=older.role,
        text=admitted.values["text"],
        speaker=older.speaker,
        metadata=admitted.values["metadata"],
        occurred_at=occurred_at,
    )
    rows = prepare(
        [(Scope(older.namespace_id, older.namespace.name, access.actor, terms.request_id), new)],
        let_in=LetIn(suspected=admitted.suspected),
    )
    embedded = embed_or_none([passages_to_embed(new.text, older.speaker)])

    def act() -> dict[str, Any]:
        # The session's row is locked before the memory's, as a reset does.
        sessions.extend(write(rows, embedded, now=now))
        found = lock_memories(access, [older_id, rows[0].id], terms=terms)
        lock_in_transaction(Lock.SUPERSEDE, older.namespace_id)
        memory_change = end_memory(found[older_id], found[rows[0].id], reason, 1.0, access.actor, now=now)
        answer = store_change(access, found[older_id], memory_change, terms=terms, now=now)
        return {**answer, "degraded": [] if embedded is not None else [EMBEDDING_DELAYED]}

    sessions: list = []
    answer, made = run_once(terms.idempotency, act, now=now)
    if made:
        ask_for_summaries(sessions, now=now)
        if not append_to_windows(rows, now=now):
            answer["degraded"].append(WINDOW_SKIPPED)
            if terms.idempotency:
                answers.amend(terms.idempotency, answer=answer)
    return {**answer, **admitted.describe()}


def end_memory(
    older: Memory, newer: Memory, reason: str, confidence: float, actor: str, *, now: datetime
) -> MemoryChange | None:
    """End the older memory where the newer begins, and link the two. The caller has locked both and holds
    `Lock.SUPERSEDE`.

    Raises Conflict as `supersede` does.
    """
    if older.superseded_by == newer.pk:
        return None
    if older.superseded_by is not None:
        raise Conflict(
            f"The memory was superseded by {older.superseded_by} already: supersede that one, or take it back first "
            "(restore with undo_supersede).",
            detail={"superseded_by": str(older.superseded_by)},
        )
    if newer.state != MemoryState.ACTIVE:
        raise Conflict(
            f"The memory {newer.pk} is {newer.state}: restore it first, or nothing would hold.", detail={"field": "by"}
        )
    if older.pk in queries.list_successors(newer.namespace_id, newer.pk):
        raise Conflict(
            f"The memory {newer.pk} was itself superseded by this one: take that back first (restore it with "
            "undo_supersede).",
            detail={"field": "by"},
        )
    before = {**validity(older), "review": older.review}
    mark([older])
    # It never ends before it began: what was never right held for no time.
    older.valid_to = max(newer.holds_from, older.holds_from)
    older.superseded_by, older.superseded_at, older.review = newer.pk, now, remaining_review(older.review)
    MemoryLink.objects.filter(
        namespace_id=older.namespace_id, memory_id=newer.pk, kind=LinkKind.BOTH_HOLD, other_id=older.pk
    ).delete()
    # The link exists already when the newer memory had superseded a part of this one.
    MemoryLink.objects.update_or_create(
        namespace_id=older.namespace_id,
        memory_id=newer.pk,
        kind=LinkKind.SUPERSEDES,
        other_id=older.pk,
        defaults={"reason": reason, "confidence": confidence, "actor": actor, "created_at": now},
    )
    return MemoryChange(
        AuditEvent.MEMORY_SUPERSEDE,
        ["valid_to", "superseded_by"],
        ["valid_to", "superseded_by", "superseded_at", "review"],
        {
            "reason": reason,
            "confidence": confidence,
            "before": before,
            "after": {**validity(older), "review": older.review},
        },
    )


def find_superseded(scope: Scope, memory_id: uuid.UUID) -> list[uuid.UUID]:
    """Return the memories that the memory superseded, directly or through others."""
    return queries.list_superseded(scope.namespace_id, memory_id)


def validity(memory: Memory) -> dict[str, Any]:
    """Return until when the memory holds and how much of it was retired, for the audit log."""
    return {
        "valid_to": memory.valid_to.isoformat() if memory.valid_to else None,
        "superseded_by": str(memory.superseded_by) if memory.superseded_by else None,
        "retired_statements": len(memory.retired_spans) // 2,
    }
