"""The search index: embedding models, vectors, postings, and the record of its changes."""

from __future__ import annotations

from typing import Self

from django.db import models
from django.utils import timezone
from pgvector.django import HalfVectorField

from memory.enums import EmbeddingState
from memory.models.memory import Memory
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet


class EmbeddingModelManager(models.Manager["EmbeddingModel"]):
    def in_use(self, model_id: int) -> bool:
        """Tells whether search uses this model."""
        return self.filter(pk=model_id, state=EmbeddingState.ACTIVE).exists()


class EmbeddingModel(models.Model):
    """Represents a model whose vectors are stored. One is active, another may be building (`manage.py reembed`)."""

    id = models.SmallAutoField(primary_key=True)
    provider = models.CharField(max_length=20)
    name = models.CharField(max_length=200)
    dimensions = models.IntegerField()
    state = models.CharField(max_length=10, choices=EmbeddingState.choices)
    created_at = models.DateTimeField(default=timezone.now)
    activated_at = models.DateTimeField(null=True, blank=True)

    objects = EmbeddingModelManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "name", "dimensions"], name="embedding_model_identity"),
            models.UniqueConstraint(
                fields=["state"], condition=models.Q(state=EmbeddingState.ACTIVE), name="embedding_model_one_active"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider}/{self.name} ({self.dimensions})"


class MemoryVectorQuerySet(ScopedQuerySet["MemoryVector"]):
    def searchable(self) -> Self:
        return self.filter(searchable=True)


class MemoryVector(models.Model):
    """Holds the vector of one passage of a memory under one embedding model.

    Nearly every memory is short and has one passage, 0; a long one has all passages 0, 1, … of `memory.text.passages`,
    or none. `searchable` repeats whether the memory is active, so that the filter is part of the search.
    """

    pk = models.CompositePrimaryKey("namespace_id", "model_id", "memory_id", "passage")
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    model = models.ForeignKey(EmbeddingModel, models.PROTECT, related_name="vectors", db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="vectors", db_constraint=False, db_index=False)
    passage = models.SmallIntegerField(default=0, db_default=0)
    embedding = HalfVectorField()
    searchable = models.BooleanField(default=True)

    objects = MemoryVectorQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.memory_id}/{self.passage} by {self.model_id}"


class Posting(models.Model):
    """Holds one term of one searchable memory, with what BM25 needs, in one covering index.

    Rows exist for searchable memories only; archiving a memory removes them, and restoring it writes them again.
    """

    pk = models.CompositePrimaryKey("namespace_id", "term", "memory_id")
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    term = models.CharField(max_length=64, db_collation="C")
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    frequency = models.SmallIntegerField(help_text="Occurrences of the term in the memory")
    length = models.IntegerField(help_text="Terms in the memory, with repeats")

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.term} in {self.memory_id}"


class IndexChange(models.Model):
    """Records that a transaction changed the index entries of a memory or of a name.

    Triggers write the row in that transaction. A process that holds a namespace's index in memory reads again what
    transactions have changed that its last snapshot did not see. `subject` is the id of a memory or, with `of_alias`,
    of an entity's name. Rows are deleted after a while (services/index/changes.py).
    """

    pk = models.CompositePrimaryKey("namespace_id", "transaction", "subject")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    transaction = models.BigIntegerField(help_text="PostgreSQL's number of it, with its epoch")
    subject = models.UUIDField()
    of_alias = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.subject} in {self.transaction}"


def has_vector(model_id: int | models.Subquery) -> models.Exists:
    """Returns an expression that tells whether a memory has a vector of a model, by looking for it.

    For the active model, `Memory.embedded` says the same without the look-up.
    """
    return models.Exists(
        MemoryVector.objects.filter(
            namespace_id=models.OuterRef("namespace_id"), model_id=model_id, memory_id=models.OuterRef("pk")
        )
    )
