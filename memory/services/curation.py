"""What staff do to memories that are there already: archive, restore, correct. Every change says who and why."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, EmbeddingState, MemoryState
from memory.errors import InvalidInput, NotFound
from memory.models import EmbeddingModel, Memory, MemoryVersion, Namespace
from memory.models.memory import content_hash
from memory.models.search import lacking_vector
from memory.services import index, queue, upkeep
from memory.services.embedding import embed_or_none, embedded_passages
from memory.services.index import Indexed
from memory.text.tokens import count_tokens
from memory.types import Access, Scope

# Memories that one transaction changes: few enough to hold its locks for a moment only.
BATCH = 500
MAX_REASON_CHARS = 300
MAX_TEXT_CHARS = 20_000
MAX_METADATA_BYTES = 65_536


def archive(
    access: Access, *, memory_ids: Iterable[uuid.UUID], reason: str, now: datetime, request_id: str = ""
) -> int:
    """Takes memories out of retrieval, of every namespace that the caller reaches; returns how many that were.

    Idempotent: archived ones and unknown ids count nothing. Kept batch by batch, so a call that broke off can be made
    again. The session window and summaries made before are not changed. Raises InvalidInput.
    """
    reason = checked_reason(reason)
    return sum(_archive_batch(access, ids, reason, now=now, request_id=request_id) for ids in _batches(memory_ids))


def restore(
    access: Access, *, memory_ids: Iterable[uuid.UUID], reason: str, now: datetime, request_id: str = ""
) -> int:
    """Brings archived memories back into retrieval, with the terms that today's analyser finds; returns how many.

    Idempotent and kept batch by batch, as `archive`. Raises InvalidInput.
    """
    reason = checked_reason(reason)
    return sum(_restore_batch(access, ids, reason, now=now, request_id=request_id) for ids in _batches(memory_ids))


def edit(
    access: Access,
    *,
    memory_id: uuid.UUID,
    reason: str,
    now: datetime,
    text: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    importance: float | None = None,
    request_id: str = "",
) -> Memory:
    """Corrects a memory; None leaves a value as it is. The former text and metadata are kept as a version.

    A new text is embedded and indexed anew; with the embedding provider away it is found by its words at once and by
    its meaning when the worker has embedded it. Without a difference nothing is written. Raises NotFound, InvalidInput.
    """
    reason = checked_reason(reason)
    if text is not None:
        text = checked_text(text)
    if metadata is not None:
        metadata = checked_metadata(metadata)
    if importance is not None and not 0 <= importance <= 1:
        raise InvalidInput("The importance is a number from 0 to 1.", detail={"field": "importance"})
    found = Memory.objects.reachable_by(access).filter(pk=memory_id)
    before = found.only("text", "speaker", "context").first()
    if before is None:
        raise NotFound("There is no such memory.", detail={"field": "memory_id"})
    text_may_change = text is not None and text != before.text
    embedded = (
        embed_or_none([embedded_passages(text or "", before.speaker, before.context)]) if text_may_change else None
    )
    with transaction.atomic():
        memory = found.select_for_update().first()
        if memory is None:
            raise NotFound("There is no such memory.", detail={"field": "memory_id"})
        wanted = {"text": text, "metadata": metadata, "importance": importance}
        changed = [name for name, value in wanted.items() if value is not None and value != getattr(memory, name)]
        if not changed:
            return memory
        former = {"state": memory.state, "importance": memory.importance, "characters": len(memory.text)}
        MemoryVersion.objects.create(
            namespace_id=memory.namespace_id,
            memory_id=memory.pk,
            text=memory.text,
            metadata=memory.metadata,
            reason=reason,
            actor=access.actor,
            replaced_at=now,
        )
        if "text" in changed:
            assert text is not None
            if not text_may_change:
                # Someone changed the text between our look and the lock: its vector is made by the worker.
                embedded = None
            _put_text(memory, text)
            index.replace_vectors(memory, embedded, searchable=memory.state == MemoryState.ACTIVE)
            if embedded is None and memory.state == MemoryState.ACTIVE:
                queue.enqueue(queue.EMBED_PENDING)
        if "metadata" in changed:
            memory.metadata = dict(metadata or {})
        if "importance" in changed:
            assert importance is not None
            memory.importance = importance
        memory.save(update_fields=["text", "metadata", "importance", "content_hash", "terms", "length", "tokens"])
        audit.record(
            Scope(memory.namespace_id, memory.namespace.name, access.actor, request_id),
            AuditEvent.MEMORY_EDIT,
            session=memory.session,
            subject=str(memory.pk),
            details={
                "reason": reason,
                "changed": changed,
                "before": former,
                "after": {
                    "state": memory.state,
                    "importance": memory.importance,
                    "characters": len(memory.text),
                },
                "embedded": embedded is not None if "text" in changed else None,
            },
            now=now,
        )
    return memory


def take_out(memories: Sequence[Memory]) -> None:
    """Takes active memories, whose rows the caller has locked, out of retrieval. They need `terms` and `length`."""
    index.delete_postings(memories)
    index.mark_searchable(memories, searchable=False)
    _rows(memories).update(state=MemoryState.ARCHIVED)
    index.change_counts(index.counts_of(((memory.namespace_id, memory.length) for memory in memories), sign=-1))


def checked_reason(reason: str) -> str:
    """The reason without white space around it. Raises InvalidInput when it says nothing or is too long."""
    reason = reason.strip()
    if not reason or len(reason) > MAX_REASON_CHARS or "\0" in reason:
        raise InvalidInput(f"Say why, in 1 to {MAX_REASON_CHARS} characters.", detail={"field": "reason"})
    return reason


def checked_text(text: str) -> str:
    """The text as it may be stored. Raises InvalidInput."""
    if not text.strip() or len(text) > MAX_TEXT_CHARS or "\0" in text:
        raise InvalidInput(
            f"A memory's text has 1 to {MAX_TEXT_CHARS} characters, not only white space and no NUL.",
            detail={"field": "text"},
        )
    return text


def checked_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata as it may be stored. Raises InvalidInput."""
    try:
        encoded = orjson.dumps(metadata)
    except TypeError:
        encoded = None
    # PostgreSQL's jsonb cannot hold the character U+0000, however it is written.
    if encoded is None or len(encoded) > MAX_METADATA_BYTES or b"\\u0000" in encoded:
        raise InvalidInput(
            f"Metadata is a JSON object of at most {MAX_METADATA_BYTES} bytes without NUL characters.",
            detail={"field": "metadata"},
        )
    return dict(metadata)


def _archive_batch(
    access: Access, memory_ids: Sequence[uuid.UUID], reason: str, *, now: datetime, request_id: str
) -> int:
    with transaction.atomic():
        memories = _locked(access, memory_ids, MemoryState.ACTIVE)
        if not memories:
            return 0
        take_out(memories)
        _record(access, AuditEvent.MEMORY_ARCHIVE, memories, reason, now=now, request_id=request_id)
    return len(memories)


def _restore_batch(
    access: Access, memory_ids: Sequence[uuid.UUID], reason: str, *, now: datetime, request_id: str
) -> int:
    with transaction.atomic():
        memories = _locked(access, memory_ids, MemoryState.ARCHIVED)
        if not memories:
            return 0
        entries = [Indexed.of(memory, text=memory.text) for memory in memories]
        index.insert_postings(entries)
        index.mark_searchable(memories, searchable=True)
        _rows(memories).update(state=MemoryState.ACTIVE)
        _keep_new_terms(memories, entries)
        upkeep.note_restored([(memory.namespace_id, memory.pk) for memory in memories], now=now)
        index.change_counts(index.counts_of((entry.namespace_id, entry.length) for entry in entries))
        if _any_without_vector(memories):
            queue.enqueue(queue.EMBED_PENDING)
        _record(access, AuditEvent.MEMORY_RESTORE, memories, reason, now=now, request_id=request_id)
    return len(memories)


def _batches(memory_ids: Iterable[uuid.UUID]) -> list[list[uuid.UUID]]:
    ordered = sorted(set(memory_ids))
    return [ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH)]


def _locked(access: Access, memory_ids: Sequence[uuid.UUID], state: MemoryState) -> list[Memory]:
    """The memories that are still in `state` once their rows are ours: of two runs at once, one finds each."""
    wanted = ["id", "namespace_id", "session", "speaker", "context", "terms", "length"]
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
    """The memories' rows, by their whole key."""
    namespace_ids = {memory.namespace_id for memory in memories}
    return Memory.objects.filter(namespace_id__in=namespace_ids, pk__in=[memory.pk for memory in memories])


def _keep_new_terms(memories: Sequence[Memory], entries: Sequence[Indexed]) -> None:
    """Stores the terms of memories that another version of the analyser had indexed."""
    differing = []
    for memory, entry in zip(memories, entries, strict=True):
        if memory.length != entry.length or set(memory.terms) != entry.frequencies.keys():
            memory.terms, memory.length = list(entry.frequencies), entry.length
            differing.append(memory)
    Memory.objects.bulk_update(differing, ["terms", "length"])


def _put_text(memory: Memory, text: str) -> None:
    """Gives the memory its new text in memory, and the index its new terms."""
    former_length = memory.length
    entry = Indexed.of(memory, text=text)
    if memory.state == MemoryState.ACTIVE:
        index.delete_postings([memory])
        index.insert_postings([entry])
        index.change_counts({memory.namespace_id: (0, entry.length - former_length)})
    memory.text = text
    memory.content_hash = content_hash(text)
    memory.terms = list(entry.frequencies)
    memory.length = entry.length
    memory.tokens = count_tokens(text, settings.MEMOS_TOKENIZER)


def _any_without_vector(memories: Sequence[Memory]) -> bool:
    model = EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first()
    return model is None or lacking_vector(_rows(memories), model.pk).exists()


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
