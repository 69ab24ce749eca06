"""Tenants, and the exact counts of their memories for ranking and the console."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class Namespace(models.Model):
    """Represents a tenant, whose memories are only found within it."""

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=128, unique=True, db_collation="C")
    description = models.CharField(max_length=300, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    mem0_project = models.JSONField(
        db_default={}, default=dict, help_text="Settings of a project that mem0's clients store and read back"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class NamespaceStat(models.Model):
    """Holds the counts of a namespace's searchable memories and their terms, updated in the transaction of each change.

    They are split into shards, so that concurrent writers do not wait for one row. Only the sum of the shards is
    meaningful.
    """

    SHARDS = 16

    pk = models.CompositePrimaryKey("namespace_id", "shard")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="stats", db_index=False)
    shard = models.SmallIntegerField()
    memories = models.BigIntegerField(default=0)
    terms = models.BigIntegerField(default=0, help_text="Sum of the memories' lengths in terms")

    def __str__(self) -> str:
        return f"{self.namespace_id}/{self.shard}: {self.memories}"
