"""The audit log: append-only, and independent of the rows it speaks of."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet


class AuditLog(models.Model):
    """One thing that happened. Names are kept as text, so that the event outlives what it describes.

    The database refuses UPDATE and DELETE on this table. `details` never holds memory text.
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
            models.Index(fields=["namespace_id", "-id"], name="audit_recent"),
            models.Index(fields=["namespace_id", "session", "-id"], name="audit_of_session"),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.created_at:%Y-%m-%d %H:%M:%S}"
