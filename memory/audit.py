"""Records audit events, inside the transactions of services and never with the text of memories."""

from __future__ import annotations

import hashlib
import hmac
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from memory import tracing
from memory.models import AuditLog, AuditWords
from memory.models.audit import MARK, TYPED
from memory.models.keys import new_id
from memory.models.sql import fetch
from memory.postgresql import reach
from memory.postgresql.reach import NO_NAMESPACE
from memory.text.json_values import encode
from memory.types import Scope

# PostgreSQL's `synchronous_commit` for a transaction that records a read: a crash of the database may lose such records
# of the last second. Ingested data always waits for the disk.
COMMIT_OF_READS = "off"
_ID_CHARS = 36


def record(
    scope: Scope,
    event: str,
    *,
    session: str = "",
    subject: str = "",
    details: Mapping[str, Any] | None = None,
    now: datetime,
) -> AuditLog:
    """Append one event of a namespace."""
    return record_many([fields(scope, event, session=session, subject=subject, details=details, now=now)])[0]


# The head of a statement that appends events. The hot routes, which store everything in one statement, append theirs to
# it, with a value for each column; nothing else writes to the table.
APPEND_EVENTS = """
INSERT INTO memory_auditlog (id, namespace_id, namespace, session, event_type, actor, subject, details, request_id,
                             created_at)"""

_RECORD_READ = f"""
WITH commit AS MATERIALIZED (
    SELECT set_config('synchronous_commit', coalesce(%(commit)s, current_setting('synchronous_commit')), true)
)
{APPEND_EVENTS}
SELECT %(id)s::uuid, %(namespace_id)s, %(namespace)s, %(session)s, %(event_type)s, %(actor)s, %(subject)s,
       %(details)s::jsonb, %(request_id)s, %(created_at)s
FROM commit RETURNING id
"""  # noqa: S608 - the head of the audit


def record_read(scope: Scope, event: str, *, details: Mapping[str, Any], now: datetime) -> None:
    """Append one event of a read, without waiting for the disk."""
    event_fields = fields(scope, event, details=details, now=now)
    parameters = {
        **event_fields,
        "id": new_id(),
        "details": encode(event_fields["details"]).decode(),
        "commit": COMMIT_OF_READS,
    }
    fetch(_RECORD_READ, parameters, prepared=True)


def hash_words(scope: Scope, kind: str, words: str) -> str:
    """Return an HMAC-SHA256 (hex) that replaces words in the audit log and can't be guessed without the secret.

    It depends on the namespace and `kind`; equal words have equal hashes, so that events can be joined.
    """
    said = f"{kind}:{scope.namespace_id}:{words}".encode()
    return hmac.new(settings.MEMOS_KEY_PEPPER.encode(), said, hashlib.sha256).hexdigest()


def record_many(entries: Sequence[dict[str, Any]]) -> list[AuditLog]:
    """Append events made by `fields`; words that people typed are stored separately, where erasures delete them."""
    rows, words = [AuditLog(**entry) for entry in entries], []
    for row in rows:
        typed = {name: row.details[name] for name in TYPED if isinstance(row.details.get(name), str)}
        typed = {name: said for name, said in typed.items() if said}
        if not typed:
            continue
        memory_ids = sorted(_ids_in([row.subject, row.details]))
        scope = Scope(row.namespace_id, row.namespace, row.actor)
        words.append(
            AuditWords(
                namespace_id=row.namespace_id, event_id=row.pk, session=row.session, memory_ids=memory_ids, words=typed
            )
        )
        hashes = {name: f"{MARK}{hash_words(scope, name, said)[:32]}" for name, said in typed.items()}
        row.details = {**row.details, **hashes}
    AuditLog.objects.bulk_create(rows)
    if words:
        AuditWords.objects.bulk_create(words)
    return rows


def _ids_in(value: Any) -> set[uuid.UUID]:
    """Return the ids in an event, at any depth."""
    if isinstance(value, dict):
        return _ids_in(list(value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(_ids_in, value))
    try:
        return {uuid.UUID(value)} if isinstance(value, str) and len(value) == _ID_CHARS else set()
    except ValueError:
        return set()


def record_system(actor: str, event: str, *, subject: str = "", details: Mapping[str, Any], now: datetime) -> AuditLog:
    """Append one event that belongs to no namespace."""
    with reach.within(NO_NAMESPACE):
        return AuditLog.objects.create(
            event_type=event, actor=actor, subject=subject, details={**details, **tracing.mark()}, created_at=now
        )


def fields(
    scope: Scope,
    event: str,
    *,
    session: str = "",
    subject: str = "",
    details: Mapping[str, Any] | None = None,
    now: datetime,
) -> dict[str, Any]:
    """Return the columns of one event."""
    return {
        "namespace_id": scope.namespace_id,
        "namespace": scope.namespace,
        "session": session,
        "event_type": event,
        "actor": scope.actor,
        "subject": subject,
        "details": {**(details or {}), **tracing.mark()},
        "request_id": scope.request_id,
        "created_at": now,
    }
