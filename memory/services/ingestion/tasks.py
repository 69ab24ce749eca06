"""Background jobs that read document files."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memory.services.ingestion import file_run, files

__all__ = ["forget_document_files", "read_document_file"]

forget_document_files = files.forget


def read_document_file(namespace_id: int, file_id: str, *, now: datetime) -> bool:
    """Read a file that was given as a document; return False if it was finished already, or did not become one."""
    return file_run.carry_out(namespace_id=namespace_id, file_id=UUID(file_id), now=timezone.now)
