"""Archives, restores and corrects stored memories. Every change says who made it and why."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.db.models import F

from memory import audit
from memory.enums import AccessScope, AuditEvent, MemoryState, Review
from memory.errors import Forbidden, InvalidInput, NotFound
from memory.governance.importance import SUSPECTED_SHARE
from memory.kinds import PREFERENCE_KEY
from memory.models import Memory, Namespace, RetiredStatement
from memory.models.memory import content_hash
from memory.models.queries.memories import note_restored
from memory.services.facts.store import METADATA_KEY as FACT_KEY
from memory.services.index import entries as index
from memory.services.index.embedding import embed_or_none, passages_to_embed
from memory.services.index.entries import Indexed
from memory.services.index.membership import bring_back, take_out
from memory.services.ingestion.admission import Admitted, admit_fields, admit_text
from memory.services.ingestion.documents import METADATA_KEY
from memory.services.ingestion.ingest import EMBEDDING_DELAYED
from memory.services.jobs import queue
from memory.services.memories import recompare
from memory.services.memories.change import AS_IT_COMES, MemoryChange, change, check_reason
from memory.services.memories.versions import keep_version
from memory.services.summaries.stale import mark
from memory.services.tenancy import holds
from memory.text.json_values import fault_of
from memory.text.tokens import count_tokens
from memory.types import Access, ChangeTerms, Scope

REWRITTEN = (*sorted(holds.SAID), "importance", "review", "content_hash", "terms", "length", "tokens", "retired_spans")
# Summaries are made from these fields of a memory.
SUMMARISED = frozenset({"text", "speaker", "occurred_at"})
# The most memories that one transaction changes, so that it holds its locks only for a moment.
BATCH = 500
MAX_TEXT_CHARS = 20_000
MAX_METADATA_BYTES = 65_536
MAX_METADATA_DEPTH = 16


def archive(
    access: Access, *, memory_ids: Iterable[uuid.UUID], reason: str, now: datetime, request_id: str = ""
) -> list[uuid.UUID]:
    """Take memories of any namespace that the caller reaches out of retrieval; return the ids of the archived ones.

    Idempotent: archived memories and unknown ids are passed over. Each batch is committed, so that an interrupted call
    can be repeated. Windows and summaries no longer show the memories. Raises InvalidInput, and Conflict for a batch
    with a memory under a legal hold, of which nothing is archived.
    """
    reason = check_reason(reason)
    done = [_archive_batch(access, ids, reason, now=now, request_id=request_id) for ids in _batches(memory_ids)]
    return [identity for batch in done for identity in batch]


def restore(
    access: Access, *, memory_ids: Iterable[uuid.UUID], reason: str, now: datetime, request_id: str = ""
) -> list[uuid.UUID]:
    """Bring archived memories back into retrieval, with the terms that today's analyser finds; return their ids.

    Idempotent and committed batch by batch, as `archive`. Raises InvalidInput.
    """
    reason = check_reason(reason)
    done = [_restore_batch(access, ids, reason, now=now, request_id=request_id) for ids in _batches(memory_ids)]
    return [identity for batch in done for identity in batch]


def edit(
    access: Access,
    *,
    memory_id: uuid.UUID,
    reason: str,
    now: datetime,
    text: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    speaker: str | None = None,
    occurred_at: datetime | None = None,
    importance: float | None = None,
    reviewed: bool = False,
    terms: ChangeTerms = AS_IT_COMES,
) -> dict[str, Any]:
    """Correct a memory; None leaves a value as it is. The former content is kept as a version.

    A new text or speaker is embedded and indexed again. Without the embedding provider, the memory is found by its
    words at once, and by its meaning when the worker has embedded it (`degraded`). A new text, and `reviewed`, take it
    off the review list. Without a difference nothing is written. Answers as `change` does, and with the gate's
    `verdict` and `reasons`. Raises NotFound, InvalidInput, PreconditionFailed, IdempotencyConflict, Conflict.
    """
    if reviewed:
        _refuse_clearing(access, memory_id)
    if importance is not None and not 0 <= importance <= 1:
        raise InvalidInput("The importance is a number from 0 to 1.", detail={"field": "importance"})
    return rewrite(
        access,
        memory_id=memory_id,
        wanted={
            "text": None if text is None else check_text(text),
            "metadata": None if metadata is None else check_metadata(metadata),
            "speaker": speaker,
            "occurred_at": occurred_at,
            "importance": importance,
            "review": "" if reviewed else None,
        },
        event=AuditEvent.MEMORY_EDIT,
        details={"reason": check_reason(reason)},
        now=now,
        terms=terms,
    )


def _refuse_clearing(access: Access, memory_id: uuid.UUID) -> None:
    """Raise Forbidden for a suspected memory, which otherwise everyone who can write could clear."""
    rows = Memory.objects.reachable_by(access).filter(pk=memory_id, review=Review.SUSPECTED)
    if access.may(AccessScope.ADMIN):
        # An administrator may clear memories of their own namespaces, but not those of a namespace shared with them.
        rows = rows.filter(namespace_id__in=[identity for identity, _ in access.shares])
    if rows.exists():
        raise Forbidden(
            "The memory may try to steer its readers: only staff, or a key with the scope admin, may say that it does "
            "not. Leave `reviewed` out.",
            detail={"field": "reviewed"},
        )


def rewrite(
    access: Access,
    *,
    memory_id: uuid.UUID,
    wanted: Mapping[str, Any],
    event: AuditEvent,
    details: Mapping[str, Any],
    now: datetime,
    terms: ChangeTerms,
) -> dict[str, Any]:
    """Give a memory other values of its columns (None: unchanged). The values are checked already; `details` has the
    reason."""
    columns = ("namespace_id", "text", "role", "speaker", "context")
    before = Memory.objects.reachable_by(access).filter(pk=memory_id).only(*columns).first()
    if before is None:
        raise NotFound(f"There is no memory {memory_id} that this key reaches.", detail={"field": "memory_id"})
    admitted = Admitted({})
    if wanted["text"] not in (None, before.text):
        speaker = before.speaker if wanted["speaker"] is None else wanted["speaker"]
        admitted = admit_text(
            access, namespace_id=before.namespace_id, text=wanted["text"], role=before.role, speaker=speaker
        )
    fields = {name: wanted[name] for name in ("speaker", "metadata") if wanted[name] is not None}
    if fields:
        admitted += admit_fields(access, namespace_id=before.namespace_id, fields=fields)
    wanted, suspected = {**wanted, **admitted.values}, admitted.suspected
    said = (
        before.text if wanted["text"] is None else wanted["text"],
        before.speaker if wanted["speaker"] is None else wanted["speaker"],
    )
    embedded = None
    if said != (before.text, before.speaker):
        embedded = embed_or_none([passages_to_embed(*said, before.context)])

    def apply(memory: Memory) -> MemoryChange | None:
        new = {name: value for name, value in wanted.items() if value is not None}
        if memory.turn < 0 and "metadata" in new:
            # A chunk keeps its document and position, a fact its holder and value, a preference its object.
            own = (METADATA_KEY, FACT_KEY, PREFERENCE_KEY)
            kept = {key: memory.metadata[key] for key in own if key in memory.metadata}
            new["metadata"] = {**new["metadata"], **kept}
        if memory.review == Review.SUSPECTED and not suspected and ("text" in new or new.get("review") == ""):
            # The importance that the suspicion cost returns when it ends.
            new.setdefault("importance", min(1.0, round(memory.importance - SUSPECTED_SHARE, 4)))
        changed = [name for name, value in new.items() if value != getattr(memory, name)]
        if not changed:
            return None
        if "occurred_at" in changed and memory.valid_to is not None and new["occurred_at"] > memory.valid_to:
            raise InvalidInput(
                f"The memory holds until {memory.valid_to.isoformat()}: it cannot have happened after that. Take back "
                "what supersedes it first (restore with undo_supersede).",
                detail={"field": "occurred_at"},
            )
        former = _describe_standing(memory, changed)
        if not holds.SAID.isdisjoint(changed):
            keep_version(access, memory, str(details["reason"]), now=now)
        degraded = False
        if suspected or "text" in changed:
            memory.review = Review.SUSPECTED if suspected else ""
        if "text" in changed or "speaker" in changed:
            # If the content changed between our look and the lock, the vectors are outdated and the worker makes them.
            current = embedded if (new.get("text", memory.text), new.get("speaker", memory.speaker)) == said else None
            memory.speaker = new.get("speaker", memory.speaker)
            _put_text(memory, new.get("text", memory.text))
            index.forget_entities(memory)
            queue.enqueue(queue.SETTLE, memory.namespace_id, str(memory.pk))
            index.replace_vectors(memory, current, searchable=memory.state == MemoryState.ACTIVE)
            degraded = current is None
            if degraded and memory.state == MemoryState.ACTIVE:
                queue.enqueue(queue.EMBED_PENDING)
        if not SUMMARISED.isdisjoint(changed):
            mark([memory])
        for name in changed:
            setattr(memory, name, new[name])
        return MemoryChange(
            event,
            changed,
            REWRITTEN,
            {**details, "changed": changed, "before": former, "after": _describe_standing(memory, changed)},
            [EMBEDDING_DELAYED] if degraded else [],
        )

    done = change(access, memory_id=memory_id, terms=terms, now=now, apply=apply)
    return {**done, **admitted.describe()}


def check_text(text: str) -> str:
    """Return the text if it may be stored. Raises InvalidInput."""
    if not text.strip() or len(text) > MAX_TEXT_CHARS or "\0" in text:
        raise InvalidInput(
            f"A memory's text has 1 to {MAX_TEXT_CHARS} characters, not only white space and no NUL.",
            detail={"field": "text"},
        )
    return text


def check_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata if they may be stored. Raises InvalidInput."""
    if fault := fault_of(metadata, most_levels=MAX_METADATA_DEPTH):
        place = f"metadata.{fault.place}" if fault.place else "metadata"
        raise InvalidInput(f"{place}: {fault.problem}", detail={"field": place})
    if len(orjson.dumps(metadata)) > MAX_METADATA_BYTES:
        raise InvalidInput(f"Metadata has at most {MAX_METADATA_BYTES} bytes as JSON.", detail={"field": "metadata"})
    return dict(metadata)


def _archive_batch(
    access: Access, memory_ids: Sequence[uuid.UUID], reason: str, *, now: datetime, request_id: str
) -> list[uuid.UUID]:
    with transaction.atomic():
        memories = _lock_in_state(access, memory_ids, MemoryState.ACTIVE)
        if not memories:
            return []
        put_away(memories)
        _look_again(memories)
        _record(access, AuditEvent.MEMORY_ARCHIVE, memories, reason, now=now, request_id=request_id)
    return [memory.pk for memory in memories]


def _restore_batch(
    access: Access, memory_ids: Sequence[uuid.UUID], reason: str, *, now: datetime, request_id: str
) -> list[uuid.UUID]:
    with transaction.atomic():
        memories = _lock_in_state(access, memory_ids, MemoryState.ARCHIVED)
        if not memories:
            return []
        _rows(memories).update(state=MemoryState.ACTIVE, revision=F("revision") + 1)
        note_restored([(memory.namespace_id, memory.pk) for memory in memories], now=now)
        bring_back(memories)
        mark(memories)
        _look_again(memories, all_of_them=True)
        _record(access, AuditEvent.MEMORY_RESTORE, memories, reason, now=now, request_id=request_id)
    return [memory.pk for memory in memories]


def put_away(memories: Sequence[Memory]) -> None:
    """Archive active memories, locked by the caller. Memories that they superseded stay superseded.

    Raises Conflict when one is under a legal hold.
    """
    for namespace_id in sorted({memory.namespace_id for memory in memories}):
        holds.refuse(namespace_id, [memory.pk for memory in memories if memory.namespace_id == namespace_id])
    take_out(memories)
    mark(memories)
    _rows(memories).update(state=MemoryState.ARCHIVED, revision=F("revision") + 1)


def _look_again(memories: Sequence[Memory], *, all_of_them: bool = False) -> None:
    """Queue the comparison of those of the locked memories that changed others, or of all of them."""
    own: dict[int, list[uuid.UUID]] = {}
    for memory in memories:
        own.setdefault(memory.namespace_id, []).append(memory.pk)
    for namespace_id, ids in sorted(own.items()):
        if all_of_them:
            recompare.ask(namespace_id, ids)
        else:
            recompare.ask_of_authors(namespace_id, ids)


def _batches(memory_ids: Iterable[uuid.UUID]) -> list[list[uuid.UUID]]:
    ordered = sorted(set(memory_ids))
    return [ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH)]


def _lock_in_state(access: Access, memory_ids: Sequence[uuid.UUID], state: MemoryState) -> list[Memory]:
    """Lock the memories that are in `state` and return them: of two concurrent calls, only one gets each memory."""
    wanted = ["id", "namespace_id", "session", "turn", "speaker", "context", "terms", "length", "retired_spans"]
    if state == MemoryState.ARCHIVED:
        wanted.append("text")
    return list(
        Memory.objects.reachable_by(access)
        .filter(pk__in=memory_ids, state=state)
        .order_by("pk")
        .select_for_update()
        .only(*wanted)
    )


def _rows(memories: Sequence[Memory]) -> Any:
    """Select the memories' rows by their whole primary key."""
    namespace_ids = {memory.namespace_id for memory in memories}
    return Memory.objects.filter(namespace_id__in=namespace_ids, pk__in=[memory.pk for memory in memories])


def _describe_standing(memory: Memory, changed: Sequence[str]) -> dict[str, Any]:
    """Return the memory's standing for the audit log, with the `changed` values, but without its content."""
    shown: dict[str, Any] = {
        "state": str(memory.state),
        "importance": memory.importance,
        "characters": len(memory.text),
    }
    if "occurred_at" in changed:
        shown["occurred_at"] = memory.occurred_at.isoformat()
    if "review" in changed or memory.review:
        shown["review"] = memory.review
    return shown


def _put_text(memory: Memory, text: str) -> None:
    """Set the memory's new text on the instance, and index its new terms."""
    entry = Indexed.of(memory, text=text)
    if memory.state == MemoryState.ACTIVE:
        index.index_anew(memory, entry)
    memory.text = text
    memory.content_hash = content_hash(text)
    memory.terms, memory.length = list(entry.frequencies), entry.length
    RetiredStatement.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk).delete()
    memory.retired_spans = []
    memory.tokens = count_tokens(text, settings.MEMOS_TOKENIZER)


def _record(
    access: Access, event: AuditEvent, memories: Sequence[Memory], reason: str, *, now: datetime, request_id: str
) -> None:
    names = Namespace.objects.in_bulk({memory.namespace_id for memory in memories})
    archived = event == AuditEvent.MEMORY_ARCHIVE
    before, after = (
        (MemoryState.ACTIVE, MemoryState.ARCHIVED) if archived else (MemoryState.ARCHIVED, MemoryState.ACTIVE)
    )
    audit.record_many(
        [
            audit.fields(
                Scope(memory.namespace_id, names[memory.namespace_id].name, access.actor, request_id),
                event,
                session=memory.session,
                subject=str(memory.pk),
                details={"reason": reason, "before": {"state": before}, "after": {"state": after}},
                now=now,
            )
            for memory in memories
        ]
    )
