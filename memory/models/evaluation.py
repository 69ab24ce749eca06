"""Evaluations of retrieval: runs, the results of their questions, and people's judgements of hits."""

from __future__ import annotations

import hashlib

from django.db import models
from django.utils import timezone

from memory.enums import EvaluationStatus
from memory.models.keys import new_id
from memory.models.memory import Memory
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow


def query_hash(text: str) -> str:
    """Returns the SHA-256 (hex) of a question, stored in the row with its text; white space makes no difference."""
    return hashlib.sha256(normal_question(text).encode()).hexdigest()


def normal_question(text: str) -> str:
    """Returns a question with normalised white space, from which its hashes are made."""
    return " ".join(text.split())


class EvaluationRun(ScopedRow):
    """Represents a measurement of retrieval, on a dataset or on the judgements of a namespace.

    Names are stored as text, so that the run outlives what it measured. `metrics` are from 0 to 1.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField(default=0, help_text="0: a dataset was measured, of no namespace")
    namespace = models.CharField(max_length=128, blank=True, default="")
    dataset = models.CharField(max_length=255, blank=True, default="", help_text="Name of the dataset's folder")
    label = models.CharField(max_length=100, blank=True, default="")
    content_digest = models.CharField(
        max_length=64, blank=True, default="", help_text="SHA-256 of the dataset's files, or of the judgements"
    )
    options = models.JSONField(default=dict, help_text="top_k, types, groups, arms")
    configuration = models.JSONField(default=dict, help_text="Version, embedding model, weights and settings")
    metrics = models.JSONField(default=dict)
    notes = models.JSONField(default=list, help_text="What was left out or cut, in words")
    status = models.CharField(max_length=10, choices=EvaluationStatus.choices, default=EvaluationStatus.QUEUED)
    error = models.TextField(blank=True, default="")
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace_id", "dataset"],
                condition=models.Q(status__in=[EvaluationStatus.QUEUED, EvaluationStatus.RUNNING]),
                name="evaluation_open_once",
            )
        ]
        indexes = [models.Index(fields=["namespace_id", "-id"], name="evaluation_recent")]

    def __str__(self) -> str:
        return str(self.id)


class EvaluationResult(models.Model):
    """Holds the result of one question in a run. Runs are compared by results with equal `fingerprint`.

    It has no text: the question and its evidence are in the dataset, or among the namespace's judgements.
    """

    pk = models.CompositePrimaryKey("namespace_id", "run_id", "number")
    namespace_id = models.BigIntegerField(default=0)
    run = models.ForeignKey(
        EvaluationRun, models.DO_NOTHING, related_name="results", db_constraint=False, db_index=False
    )
    number = models.IntegerField()
    group = models.TextField(blank=True, default="")
    query_id = models.TextField()
    type = models.TextField(blank=True, default="")
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the group, the question and its evidence")
    metrics = models.JSONField()
    context_tokens = models.IntegerField()
    milliseconds = models.FloatField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.run_id}/{self.number}"


class RelevanceJudgement(ScopedRow):
    """Says whether a memory answers a question, as a person or a client judged; the latest judgement counts."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    query_text = models.TextField()
    query_hash = models.CharField(max_length=64)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    relevant = models.BooleanField()
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now, help_text="When it was marked last")

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "query_hash", "memory"], name="judgement_of_memory")
        ]
        indexes = [
            models.Index(fields=["namespace", "-id"], name="judgement_recent"),
            # Finds the judgements that are deleted with a memory.
            models.Index(fields=["namespace", "memory"], name="judgement_by_memory"),
        ]

    def __str__(self) -> str:
        return str(self.id)
