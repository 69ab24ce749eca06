"""Holds the counts of a large namespace's common terms, so that a search need not count them. Made by the worker."""

from __future__ import annotations

from django.db import models

from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet


class Corpus(models.Model):
    """Holds how many memories a large namespace had when its common terms were counted."""

    namespace = models.OneToOneField(Namespace, models.CASCADE, primary_key=True, related_name="+", db_constraint=False)
    memories = models.BigIntegerField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.namespace_id}: {self.memories}"


class CommonTerm(models.Model):
    """Holds how many memories of a large namespace hold a term, for terms that many hold."""

    pk = models.CompositePrimaryKey("namespace_id", "term")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    term = models.CharField(max_length=64, db_collation="C")
    memories = models.BigIntegerField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.term} in {self.memories} of {self.namespace_id}"
