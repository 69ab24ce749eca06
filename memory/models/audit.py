"""The audit log, which is append-only and independent of the rows that its events are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memory.enums import AuditEvent
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow

# People type these details of events. They are stored apart from the event, which cannot be changed, so that an erasure
# can delete them.
TYPED = ("reason", "note")
# The event itself has a keyed hash with the prefix MARK instead. REDACTED is shown for words that were erased.
MARK = "hmac:"
REDACTED = "redacted"
FREQUENT = (AuditEvent.INGEST.value, AuditEvent.QUERY.value, AuditEvent.CONTEXT_PACK.value)


class AuditQuerySet(ScopedQuerySet["AuditLog"]):
    """Fills in what people typed into events, as long as it is stored; `values` returns the rows as they are stored."""

    def _fetch_all(self) -> None:
        fresh = self._result_cache is None
        super()._fetch_all()
        if fresh:
            _tell([row for row in self._result_cache or () if isinstance(row, AuditLog)])


class AuditLog(ScopedRow):
    """Represents an audit event. Names are stored as text, so that the event outlives the rows that it is about.

    The database refuses UPDATE, DELETE and TRUNCATE on this table. `details` never holds memory text; for each of TYPED
    it holds a keyed hash, and `AuditWords` has the words. The table has another column, `xact`, which only the database
    sets: the number of the transaction that wrote the row, which never decreases (see `memory.services.audit.chain`).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField(default=0, help_text="0: the event is of no namespace")
    namespace = models.CharField(max_length=128, blank=True, default="")
    session = models.CharField(max_length=128, blank=True, default="", db_collation="C")
    event_type = models.CharField(max_length=40)
    actor = models.CharField(max_length=150)
    subject = models.CharField(max_length=200, blank=True, default="")
    details = models.JSONField(default=dict)
    request_id = models.CharField(max_length=64, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["namespace_id", "session", "-id"], name="audit_of_session"),
            # Decisions about one subject, without the frequent events of turns and questions.
            models.Index(
                fields=["namespace_id", "subject", "-id"],
                name="audit_of_subject",
                condition=~models.Q(event_type__in=FREQUENT),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.created_at:%Y-%m-%d %H:%M:%S}"


class AuditWords(models.Model):
    """Holds what a person typed into an audit event. An erasure deletes it; the event stays in the chain.

    `memory_ids` are the memories (or the erasure) that the event is about: its subject and the ids in its details.
    """

    pk = models.CompositePrimaryKey("namespace_id", "event_id")
    namespace_id = models.BigIntegerField()
    event_id = models.UUIDField()
    session = models.CharField(max_length=128, blank=True, default="", db_collation="C")
    memory_ids = ArrayField(models.UUIDField(), default=list)
    words = models.JSONField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"words of {self.event_id}"


def _tell(rows: Sequence[AuditLog]) -> None:
    """Replaces the hashes in `details` by what people typed, or by REDACTED."""
    marked = {row.pk: row for row in rows if "details" in row.__dict__ and _marks(row.details)}
    if not marked:
        return
    kept = AuditWords.objects.filter(
        namespace_id__in={row.namespace_id for row in marked.values()}, event_id__in=list(marked)
    )
    words = dict(kept.values_list("event_id", "words"))
    for identity, row in marked.items():
        told = words.get(identity, {})
        row.details = {**row.details, **{name: told.get(name, REDACTED) for name in _marks(row.details)}}


def _marks(details: Any) -> list[str]:
    if not isinstance(details, dict):
        return []
    return [name for name in TYPED if str(details.get(name, "")).startswith(MARK)]


class AuditSeal(models.Model):
    """Represents a link of the audit chain, which seals the events after the previous seal up to (`last_xact`,
    `last_id`).

    The database refuses UPDATE, DELETE and TRUNCATE. `members` has the id of each event (16 bytes) and the first 8
    bytes of its digest, which show the missing or changed events if `hash` does not match. `era`, `xact_offset` and
    `cluster` say how the events after it are numbered. A `late` seal has events that lie in the ranges of earlier
    seals.
    """

    number = models.BigIntegerField(primary_key=True)
    previous = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32)
    count = models.IntegerField()
    total = models.BigIntegerField(help_text="Rows of this seal and all before it")
    first_xact = models.BigIntegerField()
    first_id = models.UUIDField()
    last_xact = models.BigIntegerField()
    last_id = models.UUIDField()
    members = models.BinaryField()
    late = models.BooleanField(default=False)
    era = models.IntegerField()
    xact_offset = models.BigIntegerField()
    cluster = models.CharField(max_length=20)
    sealed_at = models.DateTimeField()

    class Meta:
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.number}: {bytes(self.hash).hex()[:16]}"
