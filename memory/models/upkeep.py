"""The use, expiry and exemptions of memories, and the marks of background work."""

from __future__ import annotations

from django.db import models

from memory.models.memory import Memory
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet


class MemoryUpkeep(models.Model):
    """Holds what decay and importance need to know of a memory. A new memory that was never used has no row.

    This is a separate table, because memories are wide and every search reads them, and so no query waits for a use to
    be counted. `expires_at` overrides the policy's time to live. `importance` is the last computed value: if the memory
    has another one, a person set it, and it is kept. `stale`: the importance must be computed again.
    """

    pk = models.CompositePrimaryKey("namespace_id", "memory_id")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    uses = models.IntegerField(default=0, db_default=0, help_text="Packs that carried it")
    last_used_at = models.DateTimeField(null=True)
    restored_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    legal_hold = models.BooleanField(default=False, db_default=False)
    repeats = models.SmallIntegerField(default=1, db_default=1, help_text="Memories with the same text, itself too")
    importance = models.FloatField(null=True)
    stale = models.BooleanField(default=False, db_default=False)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["namespace", "memory"], name="upkeep_stale", condition=models.Q(stale=True)),
        ]

    def __str__(self) -> str:
        return f"upkeep of {self.memory_id}"


class UpkeepMark(models.Model):
    """Records the progress of background work, so that it continues there; one row for each kind of work, of no tenant.

    `position`: the last audit event that was counted. `at_namespace`: the last namespace that was done, or -1 if all
    were. The other columns are the state of the clock, as `memory.governance.clock` judges it.
    """

    name = models.CharField(primary_key=True, max_length=20)
    position = models.UUIDField(null=True)
    at_namespace = models.BigIntegerField(default=-1)
    trusted_at = models.DateTimeField(null=True)
    doubted_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
