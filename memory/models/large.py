"""The counts of a large namespace's common terms, made by the worker so that searches need not count them."""

from __future__ import annotations

from django.db import models

from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet


class Corpus(models.Model):
    """Holds the number of memories of a large namespace when its common terms were counted."""

    namespace = models.OneToOneField(Namespace, models.CASCADE, primary_key=True, related_name="+", db_constraint=False)
    memories = models.BigIntegerField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.namespace_id}: {self.memories}"


class CommonTerm(models.Model):
    """Holds the number of memories of a large namespace that have a common term."""

    pk = models.CompositePrimaryKey("namespace_id", "term")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    term = models.CharField(max_length=64, db_collation="C")
    memories = models.BigIntegerField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.term} in {self.memories} of {self.namespace_id}"
