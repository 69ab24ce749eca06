"""Changes of many memories at once: what is wanted, of which memories, and how far it is."""

from __future__ import annotations

from typing import Self

from django.db import models

from memory.enums import BulkChangeVerb, BulkOutcome
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow


class BulkChange(ScopedRow):
    """One change that was asked for of many memories, and its result. Its id is the request id of its audit events.

    The filter that chose the memories is not kept: which they are was written down when the change was asked for.
    `wanted` has the reason and the new values, as long as they are needed; it is empty when the change is over.
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
        """How many memories were dealt with."""
        return self.changed + self.unchanged + self.refused


class BulkChangeMemoryQuerySet(ScopedQuerySet["BulkChangeMemory"]):
    def waiting(self) -> Self:
        """What is still to be dealt with, in the order in which it is."""
        return self.filter(outcome=BulkOutcome.WAITING).order_by("memory_id")


class BulkChangeMemory(models.Model):
    """A memory that a bulk change is about, by its id, and what became of it."""

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
