"""The audit log: append-only, and independent of the rows it speaks of."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.enums import AuditEvent
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet

FREQUENT = (AuditEvent.INGEST.value, AuditEvent.QUERY.value, AuditEvent.CONTEXT_PACK.value)


class AuditLog(models.Model):
    """One thing that happened. Names are kept as text, so that the event outlives what it describes.

    The database refuses UPDATE, DELETE and TRUNCATE on this table. `details` never holds memory text. The table has
    one column more, `xact`, which only the database sets: the transaction that wrote the row, as a number that never
    goes back (see `memory.services.audit_chain`).
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

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["namespace_id", "session", "-id"], name="audit_of_session"),
            # Decisions about one thing; the events that every turn and question makes are not in it.
            models.Index(
                fields=["namespace_id", "subject", "-id"],
                name="audit_of_subject",
                condition=~models.Q(event_type__in=FREQUENT),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.created_at:%Y-%m-%d %H:%M:%S}"


class AuditSeal(models.Model):
    """A link of the audit chain: it fixes the rows after the seal before it, up to (`last_xact`, `last_id`).

    The database refuses UPDATE, DELETE and TRUNCATE. `members` holds, row by row, its id (16 bytes) and the first 8
    bytes of its digest: they tell which row is missing or changed when `hash` does not hold. `era`, `xact_offset` and
    `cluster` say how the numbers of the rows after it are made. A `late` seal holds rows that lie in the ranges of
    earlier ones.
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
