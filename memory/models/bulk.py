"""Bulk changes: the requested change, the memories that it is about, and its progress."""

from __future__ import annotations

from typing import Self

from django.db import models

from memory.enums import BulkChangeVerb, BulkOutcome
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow


class BulkChange(ScopedRow):
    """Represents a change of many memories, and its result. Its id is the request id of its audit events.

    The filter that selected the memories is not stored; their ids were stored when the change was requested. `wanted`
    has the reason and the new values as long as they are needed, and is empty after the change.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField()
    verb = models.CharField(max_length=10, choices=BulkChangeVerb.choices)
    wanted = models.JSONField(default=dict)
    matched = models.IntegerField(default=0)
    changed = models.IntegerField(default=0)
    unchanged = models.IntegerField(default=0)
    refused = models.IntegerField(default=0)
    refusals = models.JSONField(default=dict, help_text="Error code to how many memories it is of")
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def done(self) -> int:
        """Returns the number of memories that were processed."""
        return self.changed + self.unchanged + self.refused


class BulkChangeMemoryQuerySet(ScopedQuerySet["BulkChangeMemory"]):
    def waiting(self) -> Self:
        """Selects the memories that are still to be processed, in the order of processing."""
        return self.filter(outcome=BulkOutcome.WAITING).order_by("memory_id")


class BulkChangeMemory(models.Model):
    """Represents a memory of a bulk change, by its id, and the outcome."""

    pk = models.CompositePrimaryKey("namespace_id", "change_id", "memory_id")
    namespace_id = models.BigIntegerField()
    change_id = models.UUIDField()
    memory_id = models.UUIDField()
    outcome = models.CharField(max_length=10, choices=BulkOutcome.choices, default=BulkOutcome.WAITING)

    objects = BulkChangeMemoryQuerySet.as_manager()

    class Meta:
        indexes = [
            # The next batch of a change, and the rows of a memory that is erased.
            models.Index(
                fields=["namespace_id", "change_id", "memory_id"],
                condition=models.Q(outcome=BulkOutcome.WAITING),
                name="bulkchange_waiting",
            ),
            models.Index(fields=["namespace_id", "memory_id"], name="bulkchange_by_memory"),
        ]

    def __str__(self) -> str:
        return str(self.memory_id)
