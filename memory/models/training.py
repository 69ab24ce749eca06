"""Training data sets and the adapters trained on them; each records the memories that it has learnt."""

from __future__ import annotations

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.enums import AdapterState, TrainingFile
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow


class TrainingDataset(ScopedRow):
    """Represents lines to train a model on, made of memories. Its id is the request id of its audit events.

    `options`: those of the request. `manifest`: the account of the result. `stale`: the number of its memories that
    have changed since, by reason. `erasures`: the erasures that deleted one of them. `problem`: why nothing was made.
    `rebuild_of`: the adapter that is trained on it afterwards.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField()
    options = models.JSONField(default=dict)
    manifest = models.JSONField(default=dict)
    problem = models.CharField(max_length=500, help_text="Why nothing was made")
    rebuild_of = models.UUIDField(null=True)
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    dropped_at = models.DateTimeField(null=True, help_text="When its files were deleted")
    stale_at = models.DateTimeField(null=True, help_text="When a memory of it was first seen not to be as it was")
    stale = models.JSONField(default=dict, help_text="Reason to how many memories")
    erasures = ArrayField(models.UUIDField(), default=list)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.id)


class TrainingPart(models.Model):
    """Holds a part of a file of a data set, compressed by zlib."""

    pk = models.CompositePrimaryKey("namespace_id", "dataset_id", "file", "number")
    namespace_id = models.BigIntegerField()
    dataset_id = models.UUIDField()
    file = models.CharField(max_length=10, choices=TrainingFile.choices)
    number = models.IntegerField()
    data = models.BinaryField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.dataset_id}, {self.file}, part {self.number}"


class TrainingSource(models.Model):
    """Records a memory that a data set was made of. `fingerprint` identifies the content that held then.

    `superseded`: another memory had replaced it already, and the data set says so.
    """

    pk = models.CompositePrimaryKey("namespace_id", "dataset_id", "memory_id")
    namespace_id = models.BigIntegerField()
    dataset_id = models.UUIDField()
    memory_id = models.UUIDField()
    fingerprint = models.BinaryField(max_length=32)
    superseded = models.BooleanField()

    objects = ScopedQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["namespace_id", "memory_id"], name="trainingsource_by_memory")]

    def __str__(self) -> str:
        return f"{self.dataset_id}: {self.memory_id}"


class AdapterQuerySet(ScopedQuerySet["Adapter"]):
    def current(self) -> Self:
        """Selects the adapters that are used, or may still be."""
        return self.filter(state__in=(AdapterState.TRAINING, AdapterState.CANDIDATE, AdapterState.ACTIVE))


class Adapter(ScopedRow):
    """Represents a LoRA adapter that was trained on a data set.

    `files`: by name, each with `sha256` and `bytes`; empty if there are none yet, or they were deleted. `metrics`:
    those that the trainer measured. `refusals`: why the evaluation rejected it. `served_by`: the addresses of the
    servers that have it loaded. `rebuild`: another one is to be trained in its place. `erasures`: the erasures that
    deleted a memory that it has learnt.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField()
    name = models.CharField(max_length=64)
    dataset_id = models.UUIDField()
    options = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=AdapterState.choices, default=AdapterState.TRAINING)
    problem = models.CharField(max_length=500, help_text="Why it is refused, stale or not rebuilt")
    base_model = models.CharField(max_length=200, help_text="Name of the folder or file")
    base_sha256 = models.CharField(max_length=64)
    files = models.JSONField(default=dict)
    metrics = models.JSONField(default=dict)
    refusals = models.JSONField(default=list)
    served_by = models.JSONField(default=list)
    rebuild = models.BooleanField(default=False)
    erasures = ArrayField(models.UUIDField(), default=list)
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    trained_at = models.DateTimeField(null=True)
    activated_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = AdapterQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace_id", "name"],
                condition=models.Q(state=AdapterState.ACTIVE),
                name="adapter_active_once",
            )
        ]
        indexes = [models.Index(fields=["namespace_id", "dataset_id"], name="adapter_by_dataset")]

    def __str__(self) -> str:
        return f"{self.name} ({self.state})"

    @property
    def served_name(self) -> str:
        """Returns its name on a model server, which is unique among namespaces."""
        return f"memos-{self.namespace_id}-{self.name}"
