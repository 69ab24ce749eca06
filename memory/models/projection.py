"""The map of a namespace: axes through its vectors, and the coordinates of its memories."""

from __future__ import annotations

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.enums import EmbeddingState
from memory.models.keys import new_id
from memory.models.memory import Memory
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet
from memory.models.search import EmbeddingModel


class Projection(models.Model):
    """Holds the axes of a namespace's vectors under one model (`memory.retrieval.axes`), which the worker computes.

    - `version`: changes with the axes; while it is the same, memories keep their coordinates
    - `mean`, `components`, `centroids`: float32 [dimensions], [3, dimensions] and [clusters, dimensions], as bytes
    - `explained`: the share of the variance on each axis
    - `clusters`: the names of the clusters, a list of {words}
    - `fitted_on`, `fitted_of`: the number of vectors that the axes were computed from, and that there were then
    - `memories`: the number of memories with a vector now
    - `read_at`: when the vectors of the axes were read; `placed_at`: when memories were last placed
    """

    pk = models.CompositePrimaryKey("namespace_id", "model_id")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+", db_index=False)
    version = models.UUIDField(default=new_id)
    mean = models.BinaryField()
    components = models.BinaryField()
    explained = ArrayField(models.FloatField())
    centroids = models.BinaryField()
    clusters = models.JSONField(default=list)
    fitted_on = models.IntegerField()
    fitted_of = models.BigIntegerField()
    memories = models.BigIntegerField(help_text="Memories that have a vector")
    read_at = models.DateTimeField()
    placed_at = models.DateTimeField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.namespace_id} by {self.model_id}"


class ProjectedMemoryQuerySet(ScopedQuerySet["ProjectedMemory"]):
    def of_memory(self) -> Self:
        """Select the places of the memory that an outer query looks at, under the active model."""
        return self.filter(
            namespace_id=models.OuterRef("namespace_id"),
            memory_id=models.OuterRef("pk"),
            model__state=EmbeddingState.ACTIVE,
        )


class ProjectedMemory(models.Model):
    """Holds the coordinates of a memory on the axes of its namespace's Projection, and the number of its topic."""

    pk = models.CompositePrimaryKey("namespace_id", "model_id", "memory_id")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    x = models.FloatField()
    y = models.FloatField()
    z = models.FloatField()
    cluster = models.SmallIntegerField()

    objects = ProjectedMemoryQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["namespace", "memory"], name="projected_by_memory")]

    def __str__(self) -> str:
        return f"{self.memory_id} at {self.x:.2f}, {self.y:.2f}, {self.z:.2f}"
