"""Stores documents: long texts cut into chunks, each of which is a memory that knows its document and its place in
it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from memory import audit, deadline
from memory.enums import AuditEvent, DocumentFormat, GateDecision, Review, Role
from memory.errors import InvalidInput
from memory.gate.judgement import Judgement
from memory.governance.importance import importance
from memory.models import Document, DocumentChunk, DocumentFile, DocumentFilePart, EmbeddingModel, Memory
from memory.models.keys import new_id
from memory.models.memory import content_hash
from memory.models.queries import memories as queries
from memory.services.index import entries as index
from memory.services.index.embedding import Embedded, embed_or_none, passages_to_embed
from memory.services.index.entries import Indexed
from memory.services.ingestion.admission import (
    JudgedDocument,
    audit_details,
    judge_document,
    keep_document_out,
    list_reasons,
    over_quota,
)
from memory.services.ingestion.ingest import EMBEDDING_DELAYED
from memory.services.ingestion.replies import put_away_replies
from memory.services.ingestion.second_opinion import hear_model
from memory.services.jobs import queue
from memory.services.tenancy import idempotency as answers
from memory.services.tenancy import quota
from memory.services.tenancy.namespaces import miss_namespaces
from memory.services.tenancy.quota import Granted
from memory.text.documents import Chunk, chunks
from memory.text.json_values import encode
from memory.text.tokens import count_tokens
from memory.types import Idempotency, NewDocument, Scope, StoredDocument

# A request embeds up to this many chunks (a few seconds with the bundled model); the worker embeds longer documents.
INLINE_CHUNKS = 128
MAX_SPEAKER_CHARS = 128
# The key under which a chunk's metadata describes its document.
METADATA_KEY = "document"
# Under METADATA_KEY of a document's own metadata, which clients cannot write: the data that its chunks do not carry.
_DATA_KEY = "data"


def put_document(
    scope: Scope,
    *,
    document: NewDocument,
    now: datetime,
    idempotency: Idempotency | None = None,
    before: Callable[[], None] = lambda: None,
    beside: Callable[[StoredDocument], None] = lambda stored: None,
) -> StoredDocument:
    """Store a document as chunks; given again under the same id, it replaces the former version in one transaction.

    Each chunk is a memory: an exact slice of the text that the gate lets in, embedded and indexed with the title and
    the headings above it. With more than INLINE_CHUNKS, or without the provider, the chunks are found by words at once
    and `degraded` says that the worker embeds them. If the gate or a quota refuses the document, the former version
    stays in force. `before` and `beside` are called inside the transaction, before the document is written (the quota
    is locked by then) and after it.

    Raises InvalidInput for a text of white space, IdempotencyConflict, and Conflict when a chunk of the former version
    is under a legal hold.
    """
    if idempotency and (record := answers.find_answer(idempotency)):
        return StoredDocument(**record.answer)
    [checked], unheard = hear_model([judge_document(scope, document)], now=now)
    ready = prepare_document(scope, checked.document, now=now) if checked.judgement.decision.lets_in else None
    deadline.check()
    with transaction.atomic():
        if idempotency and not answers.claim(idempotency, memory_ids=[checked.id], now=now):
            record = answers.find_answer(idempotency)
            assert record is not None
            return StoredDocument(**record.answer)
        if ready is not None:
            granted = _room_for(scope, ready, now=now)
            if granted is not None:
                checked = replace(checked, judgement=over_quota(checked.judgement, granted))
        before()
        if ready is not None and checked.judgement.decision.lets_in:
            stored = insert_document(scope, ready, judgement=checked.judgement, now=now)
        else:
            stored = _keep_out(scope, checked, now=now)
        stored = replace(stored, degraded=[*stored.degraded, *unheard])
        if idempotency:
            # Store the id of the document, or of its quarantined item, by which an erasure finds the answer.
            keys = Document.objects.in_scope(scope).filter(document_id=stored.document_id).values_list("id", flat=True)
            ids = [checked.id] if stored.quarantine_id else list(keys)
            answers.amend(
                idempotency,
                answer=_fields(stored),
                degraded=stored.degraded,
                memory_ids=[str(identity) for identity in ids],
            )
        beside(stored)
    return stored


def add_data(metadata: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a document with these data."""
    return {**metadata, METADATA_KEY: {_DATA_KEY: data}} if data else dict(metadata)


def split_data(metadata: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a document's metadata; return the client's metadata, and the document's data."""
    own = metadata.get(METADATA_KEY)
    data = own.get(_DATA_KEY) if isinstance(own, dict) else None
    rest = {name: value for name, value in metadata.items() if name != METADATA_KEY}
    return rest, data if isinstance(data, dict) else {}


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document ready to be written: its chunks, their terms, positions and vectors (None: the worker makes them)."""

    document: NewDocument
    memories: list[Memory]
    entries: list[Indexed]
    places: list[Chunk]
    embedded: Embedded | None


def prepare_document(scope: Scope, document: NewDocument, *, now: datetime) -> PreparedDocument:
    """Cut, index and embed a document, without writing anything. Raises InvalidInput for a text of white space."""
    places = chunks(document.text, markdown=document.format == DocumentFormat.MARKDOWN)
    if not places:
        raise InvalidInput("The document's text holds only white space.", detail={"field": "text"})
    memories = [_chunk_memory(scope, document, place, now=now) for place in places]
    entries = [Indexed.of(memory, text=memory.text) for memory in memories]
    embedded = None
    if len(memories) <= INLINE_CHUNKS:
        texts = [passages_to_embed(memory.text, memory.speaker, memory.context) for memory in memories]
        embedded = embed_or_none(texts)
    return PreparedDocument(document, memories, entries, places, embedded)


def insert_document(
    scope: Scope, ready: PreparedDocument, *, judgement: Judgement | None = None, now: datetime
) -> StoredDocument:
    """Write an admitted document in place of its former version. Inside the caller's transaction.

    Raises Conflict when a chunk of the former version is under a legal hold.
    """
    document = ready.document
    row = _upsert(scope, document, now=now)
    put_away_replies(scope, _list_chunks(scope, row), now=now)
    replaced = index.remove_chunks(scope, documents=[row.id])
    _drop_originals(scope, row)
    _insert(
        row, ready.memories, ready.entries, ready.places, ready.embedded, suspected=_find_suspected(ready, judgement)
    )
    stored = StoredDocument(
        document_id=row.document_id,
        version=row.version,
        chunks=len(ready.places),
        characters=len(document.text),
        degraded=[] if ready.embedded is not None else [EMBEDDING_DELAYED],
        verdict=judgement.decision.value if judgement else GateDecision.ACCEPT.value,
        reasons=list_reasons(judgement) if judgement else [],
    )
    if ready.embedded is None:
        queue.enqueue(queue.EMBED_PENDING)
    audit.record(
        scope,
        AuditEvent.DOCUMENT_INGEST,
        session=document.session,
        subject=row.document_id,
        details={
            "document_id": row.document_id,
            "version": row.version,
            "chunks": stored.chunks,
            "characters": stored.characters,
            "degraded": stored.degraded,
            "replaced_chunks": replaced,
            "embedded": ready.embedded is not None,
            **(audit_details(judgement) if judgement else {}),
        },
        now=now,
    )
    return stored


def _find_suspected(ready: PreparedDocument, judgement: Judgement | None) -> set[uuid.UUID]:
    """Return the ids of the chunks that the gate suspects; all of them if it cannot say which."""
    if judgement is None or not judgement.suspected:
        return set()
    spans = [span for reason in judgement.reasons if reason.family in ("injection", "hidden") for span in reason.spans]
    places = list(zip(ready.memories, ready.places, strict=True))
    redacted = judgement.decision == GateDecision.ACCEPT_REDACTED
    if redacted or not spans:
        return {memory.pk for memory, _ in places}
    return {
        memory.pk for memory, place in places if any(start < place.end and end > place.start for start, end in spans)
    }


def count_document(scope: Scope, ready: PreparedDocument, *, enforce: bool, now: datetime) -> Granted | None:
    """Count the chunks against the namespace's quota; replaced chunks make room. Returns None without a quota."""
    if not quota.has_quota(scope.namespace_id):
        return None
    of_former = Document.objects.in_scope(scope).filter(document_id=ready.document.document_id)
    former = DocumentChunk.objects.in_scope(scope).filter(document_key__in=of_former.values("id")).count()
    wanted = {scope.namespace_id: len(ready.places)}
    return quota.take(wanted, whole=True, freed=former, enforce=enforce, now=now).get(scope.namespace_id)


def version_in_force(scope: Scope, document_id: str) -> int:
    """Return the version of the stored document; 0 if there is none."""
    found = Document.objects.in_scope(scope).filter(document_id=document_id).values_list("version", flat=True)
    return found.first() or 0


def _room_for(scope: Scope, ready: PreparedDocument, *, now: datetime) -> Granted | None:
    """Return the limit that the document would break, if any."""
    granted = count_document(scope, ready, enforce=True, now=now)
    return granted if granted is not None and granted.memories < len(ready.places) else None


def _keep_out(scope: Scope, checked: JudgedDocument, *, now: datetime) -> StoredDocument:
    """Store a quarantined document under a lasting name, and report the quarantine."""
    document_id = checked.document.document_id or str(checked.id)
    version = version_in_force(scope, document_id)
    named = replace(checked, document=replace(checked.document, document_id=document_id))
    keep_document_out(named, version=version, now=now)
    quarantined = checked.judgement.decision == GateDecision.QUARANTINE
    return StoredDocument(
        document_id=document_id,
        version=version,
        chunks=0,
        characters=len(checked.document.text),
        degraded=[],
        verdict=checked.judgement.decision.value,
        reasons=list_reasons(checked.judgement),
        quarantine_id=str(checked.id) if quarantined else None,
    )


def _drop_originals(scope: Scope, row: Document) -> None:
    """Delete the kept originals of former versions; a file that is being read keeps its bytes until it is read."""
    former = DocumentFile.objects.in_scope(scope).filter(document_key=row.id, finished_at__isnull=False)
    DocumentFilePart.objects.in_scope(scope).filter(file_id__in=former.values("id")).delete()


def _list_chunks(scope: Scope, row: Document) -> QuerySet[Memory]:
    chunks = DocumentChunk.objects.in_scope(scope).filter(document_key=row.id)
    return Memory.objects.in_scope(scope).filter(pk__in=chunks.values("memory_id"))


def delete_document(scope: Scope, *, document_id: str, now: datetime) -> int | None:
    """Delete a document, its chunks, its files and all dependent rows; return the number of chunks.

    Returns None if there is neither the document nor a waiting file for it. Raises Conflict when a chunk is under a
    legal hold.
    """
    with transaction.atomic():
        found = Document.objects.in_scope(scope).filter(document_id=document_id)
        row = found.select_for_update().first()
        files = DocumentFile.objects.in_scope(scope).filter(document_id=document_id)
        if row is None:
            return 0 if files.delete()[0] else None
        put_away_replies(scope, _list_chunks(scope, row), now=now)
        removed = index.remove_chunks(scope, documents=[row.id])
        files.delete()
        found.delete()
        audit.record(
            scope,
            AuditEvent.DOCUMENT_DELETE,
            session=row.session,
            subject=row.document_id,
            details={"document_id": row.document_id, "version": row.version, "chunks": removed},
            now=now,
        )
    return removed


def _chunk_memory(scope: Scope, document: NewDocument, place: Chunk, *, now: datetime) -> Memory:
    """Return a chunk as an unsaved memory. The document itself speaks, so its title is the speaker."""
    deadline.check()
    text = document.text[place.start : place.end]
    return Memory(
        id=new_id(),
        namespace_id=scope.namespace_id,
        role=Role.SYSTEM,
        speaker=document.title[:MAX_SPEAKER_CHARS],
        text=text,
        context=place.context,
        occurred_at=document.occurred_at or now,
        created_at=now,
        content_hash=content_hash(text),
        tokens=count_tokens(text, settings.MEMOS_TOKENIZER),
    )


def _upsert(scope: Scope, document: NewDocument, *, now: datetime) -> Document:
    """Write the new version of the document's row, locked until the transaction ends. Raises NamespaceGone."""
    identity = new_id()
    row = Document(
        namespace_id=scope.namespace_id,
        id=identity,
        document_id=document.document_id or str(identity),
        session=document.session,
        title=document.title,
        source=document.source,
        format=document.format,
        metadata=document.metadata,
        characters=len(document.text),
        occurred_at=document.occurred_at or now,
    )
    stored = queries.put_document(row, metadata=encode(row.metadata).decode(), now=now)
    if stored is None:
        raise miss_namespaces([scope])
    row.id, row.version = stored
    return row


def _insert(
    row: Document,
    memories: Sequence[Memory],
    entries: Sequence[Indexed],
    places: Sequence[Chunk],
    embedded: Embedded | None,
    *,
    suspected: Collection[uuid.UUID],
) -> None:
    """Write the chunks of a document that has none, with postings, vectors and counts; `suspected` ones wait for
    review."""
    own = {"document_id": row.document_id, "title": row.title, "source": row.source, "version": row.version}
    made = embedded is not None and EmbeddingModel.objects.in_use(embedded.model_id)
    for position, (memory, entry, place) in enumerate(zip(memories, entries, places, strict=True)):
        memory.session = row.chunk_session
        memory.turn = position - len(memories)
        memory.terms, memory.length = list(entry.frequencies), entry.length
        memory.importance = importance(memory.text, memory.role, memory.terms, suspected=memory.pk in suspected).value
        memory.metadata = {**row.metadata, METADATA_KEY: {**own, "index": position, **place.to_dict()}}
        memory.embedded = made
        memory.review = Review.SUSPECTED if memory.pk in suspected else ""
    Memory.objects.bulk_create(memories, batch_size=500)
    DocumentChunk.objects.bulk_create(
        [
            DocumentChunk(
                namespace_id=row.namespace_id,
                document_key=row.id,
                index=position,
                memory_id=memory.pk,
                start=place.start,
                end=place.end,
            )
            for position, (memory, place) in enumerate(zip(memories, places, strict=True))
        ],
        batch_size=1000,
    )
    index.insert_postings(entries)
    if embedded is not None:
        index.insert_vectors(memories, embedded, searchable=True)
    index.change_counts(index.counts_of((entry.namespace_id, entry.length) for entry in entries))


def _fields(stored: StoredDocument) -> dict[str, Any]:
    return {name: getattr(stored, name) for name in StoredDocument.__slots__}
