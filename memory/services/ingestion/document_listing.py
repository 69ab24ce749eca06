"""Lists the documents of a namespace, and the chunks of one, as clients see them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db.models import Count

from memory.enums import MemoryState
from memory.errors import NotFound
from memory.models import Document, DocumentChunk, Memory
from memory.models.paging import page_of
from memory.services.ingestion.documents import METADATA_KEY, split_data
from memory.services.ingestion.file_listing import file_in_force
from memory.types import Scope


def list_documents(
    scope: Scope, *, session: str | None, cursor: uuid.UUID | None, limit: int
) -> tuple[list[dict[str, Any]], uuid.UUID | None]:
    """Return the namespace's documents, newest first, from `cursor` on, and the cursor of the next page, if there is
    one."""
    rows = Document.objects.in_scope(scope)
    if session is not None:
        rows = rows.filter(session=session)
    if cursor is not None:
        rows = rows.filter(id__lte=cursor)
    page, following = page_of(rows.order_by("-id"), limit)
    counts = _chunk_counts(scope, [row.id for row in page])
    return [_to_dict(row, counts.get(row.id, 0)) for row in page], following.id if following else None


def get_document(
    scope: Scope, *, document_id: str, cursor: int, limit: int, active_only: bool = False
) -> dict[str, Any]:
    """Return `{document, chunks, next_cursor}`: a document, and its chunks from the index `cursor` on. Raises NotFound.

    Archived chunks are included unless `active_only`.
    """
    row = Document.objects.in_scope(scope).filter(document_id=document_id).first()
    if row is None:
        raise NotFound(
            f"There is no document {document_id!r} in the namespace {scope.namespace!r}.",
            detail={"field": "document_id"},
        )
    of_document = DocumentChunk.objects.in_scope(scope).filter(document_key=row.id)
    # The join is by the id alone: without this it reads every namespace's partition of a distributed table.
    page = of_document.filter(index__gte=cursor, memory__namespace_id=scope.namespace_id)
    if active_only:
        page = page.filter(memory__state=MemoryState.ACTIVE)
    page = page.order_by("index").select_related("memory")
    chunks, following = page_of(page, limit)
    memories = Memory.objects.in_scope(scope).filter(pk__in=of_document.values("memory_id"))
    pending = memories.awaiting_vector().count()
    file = file_in_force(scope, row)
    _, data = split_data(row.metadata)
    whole = {"data": data, "file_id": str(file.id) if file else None, "pending_embeddings": pending}
    return {
        "document": {**_to_dict(row, of_document.count()), **whole},
        "chunks": [
            {
                "memory_id": str(chunk.memory_id),
                "index": chunk.index,
                "start": chunk.start,
                "end": chunk.end,
                **_place_of(chunk.memory),
                "text": chunk.memory.text,
                "tokens": chunk.memory.tokens,
                "state": chunk.memory.state,
            }
            for chunk in chunks
        ],
        "next_cursor": following.index if following else None,
    }


def _place_of(memory: Memory) -> dict[str, Any]:
    """Return the position of a chunk in its document, from its metadata."""
    place = memory.metadata.get(METADATA_KEY)
    if not isinstance(place, dict):
        place = {}
    return {
        "heading": place.get("heading", memory.context),
        "page": place.get("page"),
        "last_page": place.get("last_page"),
        "table": place.get("table", ""),
    }


def _chunk_counts(scope: Scope, identities: Sequence[uuid.UUID]) -> dict[uuid.UUID, int]:
    rows = DocumentChunk.objects.in_scope(scope).filter(document_key__in=identities)
    return dict(rows.values_list("document_key").annotate(Count("index")))


def _to_dict(row: Document, chunk_count: int) -> dict[str, Any]:
    """Return a document as clients see it."""
    metadata, _ = split_data(row.metadata)
    return {
        "document_id": row.document_id,
        "version": row.version,
        "title": row.title,
        "source": row.source,
        "format": row.format,
        "session_id": row.session or None,
        "metadata": metadata,
        "characters": row.characters,
        "chunk_count": chunk_count,
        "occurred_at": row.occurred_at.isoformat(),
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat(),
    }
