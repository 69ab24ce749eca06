"""What is known of a memory beside itself: how it is used, and what it is exempt from."""

from __future__ import annotations

from django.db import models

from memory.models.memory import Memory
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet


class MemoryUpkeep(models.Model):
    """What decay and importance need to know of one memory. A memory that is new and was never used has no row.

    A table of its own, for memories are wide and are read by every search: no query ever waits for a use to be counted.
    `expires_at` takes the place of the policy's time to live. `importance` is what was last computed: a memory that has
    another one was given it by a person, and keeps it. `stale`: something that importance is made of has changed.
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
    """How far background work has come, so that it goes on there. One row for each kind of work, of no tenant.

    `position`: the last audit event that was counted. `at_namespace`: the last namespace that was done, -1 when all
    were. The others are the clock as `memory.governance.clock` judges it.
    """

    name = models.CharField(primary_key=True, max_length=20)
    position = models.UUIDField(null=True)
    at_namespace = models.BigIntegerField(default=-1)
    trusted_at = models.DateTimeField(null=True)
    doubted_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
