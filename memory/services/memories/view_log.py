"""Records in the audit log that a person read a text or exported memories."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime

from memory import audit
from memory.enums import AuditEvent
from memory.models import Namespace
from memory.types import Access, Scope


def note_viewed(
    access: Access,
    *,
    what: str,
    namespace_id: int,
    subject: uuid.UUID,
    session: str,
    now: datetime,
    request_id: str = "",
) -> None:
    """Record that a person opened a text. `what`: its kind (memory, quarantine, summary, pack, document, topic, import,
    receipt)."""
    audit.record(
        _scope(access, namespace_id, request_id),
        AuditEvent.MEMORY_VIEW,
        session=session,
        subject=str(subject),
        details={"what": what},
        now=now,
    )


def note_exported(
    access: Access, *, counts: Mapping[int, int], format_name: str, texts: bool, now: datetime, request_id: str = ""
) -> None:
    """Record that a person exported memories to a file, with or without their texts. `counts`: by namespace id."""
    for namespace_id, count in sorted(counts.items()):
        audit.record(
            _scope(access, namespace_id, request_id),
            AuditEvent.MEMORY_EXPORT,
            details={"memories": count, "format": format_name, "texts": texts},
            now=now,
        )


def _scope(access: Access, namespace_id: int, request_id: str) -> Scope:
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first() or ""
    return Scope(namespace_id, name, access.actor, request_id)
