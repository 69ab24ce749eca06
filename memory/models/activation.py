"""Activation caches: the keys and values that a model computed for a prefix, each in a file."""

from __future__ import annotations

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.enums import ActivationEngine, ActivationState, DropReason, PromptForm
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow


class ActivationCacheQuerySet(ScopedQuerySet["ActivationCache"]):
    def ready(self) -> Self:
        """Selects the caches that may be used."""
        return self.filter(state=ActivationState.READY)


class ActivationCache(ScopedRow):
    """Represents the keys and values of one prefix for one model, in `file` of the folder `folder_id`.

    The row is stored before the file and deleted after it, so that each file has a row that names its memories. A
    change of one of `memory_ids` makes the cache stale in the same transaction (a trigger). `model_sha256` identifies
    everything that the keys and values depend on, as far as the model's server reports it. `prefix_sha256` is the one
    of the packs.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField()
    engine = models.CharField(max_length=12, choices=ActivationEngine.choices)
    model = models.CharField(max_length=200, db_collation="C")
    model_sha256 = models.CharField(max_length=64, db_collation="C")
    form = models.CharField(max_length=10, choices=PromptForm.choices)
    prefix_sha256 = models.CharField(max_length=64, db_collation="C")
    memory_ids = ArrayField(models.UUIDField(), default=list, help_text="The memories that it holds")
    state = models.CharField(max_length=8, choices=ActivationState.choices, default=ActivationState.BUILDING)
    reason = models.CharField(
        max_length=11, choices=DropReason.choices, blank=True, default="", help_text="Why it is stale"
    )
    folder_id = models.UUIDField(help_text="Of the folder that has the file, in its file `.memos-activation`")
    file = models.CharField(max_length=120, db_collation="C")
    bytes = models.BigIntegerField(default=0)
    tokens = models.IntegerField(default=0, help_text="Of the prompt's beginning, as the model counts them")
    build_ms = models.IntegerField(null=True, blank=True, help_text="Milliseconds that the model took to compute it")
    uses = models.IntegerField(default=0, help_text="How often it was loaded")
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    written_at = models.DateTimeField(null=True, blank=True, help_text="When its file was begun")
    used_at = models.DateTimeField(null=True, blank=True, help_text="When it was loaded last, or found in its slot")

    objects = ActivationCacheQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace_id", "engine", "model", "form", "prefix_sha256", "model_sha256"],
                condition=models.Q(state__in=["building", "ready"]),
                name="activation_once",
            )
        ]

    def __str__(self) -> str:
        return self.file
