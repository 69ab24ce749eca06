"""What is kept beside the rows of a large namespace, so that a search need not look at all of them.

Hints only: the vectors and postings are the truth, and results are read from them. Made by the worker.
"""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models.keys import new_id
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet
from memory.models.search import EmbeddingModel


class IVFIndex(models.Model):
    """Says that a namespace has IVF lists under a model. `version` is another one whenever the centroids change.

    `deleted_at`: when memories of the namespace were last deleted, whose codes are still in lists that were not
    compared since.
    """

    pk = models.CompositePrimaryKey("namespace_id", "model_id")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+", db_index=False)
    version = models.UUIDField(default=new_id)
    deleted_at = models.DateTimeField(null=True)

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.namespace_id} by {self.model_id}"


class IVFList(models.Model):
    """Vectors that lie near each other: float16 `centroid`, and their `codes` as `memory.retrieval.ivf` packs them.

    Vectors may be gone, archived or replaced meanwhile; `refreshed_at`: when the codes were last compared with them.
    """

    pk = models.CompositePrimaryKey("namespace_id", "model_id", "number")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+", db_index=False)
    number = models.IntegerField()
    centroid = models.BinaryField()
    codes = models.BinaryField(default=b"")
    size = models.IntegerField(default=0, help_text="How many codes")
    unsplit_size = models.IntegerField(default=0, help_text="Codes when it was last found that they cannot be split")
    refreshed_at = models.DateTimeField(default=timezone.now)

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.namespace_id} by {self.model_id}: list {self.number}, {self.size} codes"


class Corpus(models.Model):
    """How many memories a large namespace had when its common terms were counted."""

    namespace = models.OneToOneField(Namespace, models.CASCADE, primary_key=True, related_name="+", db_constraint=False)
    memories = models.BigIntegerField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.namespace_id}: {self.memories}"


class CommonTerm(models.Model):
    """How many memories of a large namespace hold a term, for terms that many hold."""

    pk = models.CompositePrimaryKey("namespace_id", "term")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    term = models.CharField(max_length=64, db_collation="C")
    memories = models.BigIntegerField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.term} in {self.memories} of {self.namespace_id}"
