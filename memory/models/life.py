"""Feedback on memories, links between them, retired statements, and pairs that a model has to decide."""

from __future__ import annotations

from datetime import UTC, datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memory.enums import Feedback, LinkKind, PairVerdict
from memory.models.keys import new_id
from memory.models.memory import Memory
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow

# The `valid_to` of a statement that left search but still holds.
HOLDS_ON = datetime(9999, 1, 1, tzinfo=UTC)


class MemoryFeedback(ScopedRow):
    """Holds one actor's opinion of a memory; a new opinion replaces the earlier one."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="feedback", db_constraint=False, db_index=False)
    kind = models.CharField(max_length=10, choices=Feedback.choices)
    note = models.CharField(max_length=500, blank=True, default="")
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now, help_text="When the actor said so last")

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["namespace", "memory", "actor"], name="feedback_once_an_actor")]

    def __str__(self) -> str:
        return f"{self.memory_id}: {self.kind}"


class MemoryLink(ScopedRow):
    """Links `memory` to `other`, with who says so and why. The row is deleted when the link is taken back.

    [start, end): the words of `other` that the link is about, if it is not about all of it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="links", db_constraint=False, db_index=False)
    kind = models.CharField(max_length=12, choices=LinkKind.choices)
    other = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    reason = models.CharField(max_length=300)
    confidence = models.FloatField(default=1.0, help_text="0 to 1; what a person or a client says is 1")
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    start = models.IntegerField(null=True, blank=True)
    end = models.IntegerField(null=True, blank=True)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "memory", "other", "kind"], name="link_between_memories"),
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1), name="link_confidence_0_1"
            ),
        ]
        indexes = [models.Index(fields=["namespace", "other"], name="link_by_other")]

    def __str__(self) -> str:
        return f"{self.memory_id} {self.kind} {self.other_id}"


class RetiredStatement(ScopedRow):
    """Represents the statement at [start, end) of `memory` that `by` replaced with its words at [by_start, by_end).

    It left search at `retired_at`, and held until `valid_to` in the time that the memory tells of. `terms`: its index
    terms, by which a search as of an earlier time finds it. `names`: terms by which the memory can still be found. A
    statement whose retirement was withdrawn counts again, and is not retired a second time.

    A statement with `valid_to` HOLDS_ON only left search ("I no longer eat meat", after that was carried out): it still
    holds, is returned with the rest of its memory, and is not among its `retired_spans`.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey(Memory, models.DO_NOTHING, related_name="retired", db_constraint=False, db_index=False)
    start = models.IntegerField()
    end = models.IntegerField()
    by = models.UUIDField(help_text="It may be gone: an id outlives its memory here")
    by_start = models.IntegerField()
    by_end = models.IntegerField()
    reason = models.CharField(max_length=300)
    confidence = models.FloatField()
    terms = ArrayField(models.CharField(max_length=64), default=list)
    names = ArrayField(models.CharField(max_length=64), default=list)
    valid_to = models.DateTimeField()
    retired_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["memory_id", "start"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "memory", "start"], name="statement_retired_once"),
            models.CheckConstraint(condition=models.Q(end__gt=models.F("start")), name="statement_has_length"),
        ]
        indexes = [
            models.Index(fields=["namespace", "-retired_at"], name="statement_by_time"),
            models.Index(fields=["namespace", "by"], name="statement_by_newer"),
            # The namespace does not lead this index, because staff list the statements of all namespaces.
            models.Index(fields=["-retired_at"], name="statement_newest", condition=models.Q(withdrawn_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} [{self.start}:{self.end}]"


class UnsurePair(ScopedRow):
    """Represents a pair of statements of which the rules are not sure whether the newer one replaces the older one.

    The statements are at [by_start, by_end) of `newer` and [start, end) of `older`; `reason` and `confidence` are those
    of the rules. From `due_at` on, a language model (`judge`) is asked for a `verdict` and an `explanation`, which may
    quote both memories. `can_cut`: the older words could leave search without harm to the words around them.
    `texts_hash`: the hash of both texts, which make another question when they change. `attempts`: the number of times
    that no answer came.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    newer = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    older = models.ForeignKey(Memory, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    start = models.IntegerField()
    end = models.IntegerField()
    by_start = models.IntegerField()
    by_end = models.IntegerField()
    can_cut = models.BooleanField()
    reason = models.CharField(max_length=300)
    confidence = models.FloatField()
    texts_hash = models.BinaryField(max_length=32)
    attempts = models.IntegerField(default=0)
    due_at = models.DateTimeField()
    verdict = models.CharField(max_length=10, choices=PairVerdict.choices, blank=True, default="")
    explanation = models.CharField(max_length=300, blank=True, default="")
    judge = models.CharField(max_length=100, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    judged_at = models.DateTimeField(null=True, blank=True)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["namespace", "newer", "older", "start"], name="pair_asked_once"),
            models.CheckConstraint(condition=models.Q(end__gt=models.F("start")), name="pair_has_words"),
        ]
        indexes = [
            models.Index(fields=["namespace", "older"], name="pair_by_older"),
            # The namespace does not lead these, because the worker takes the oldest pairs first, and statistics count
            # those of all namespaces.
            models.Index(fields=["due_at"], name="pair_due", condition=models.Q(verdict="")),
            models.Index(fields=["verdict"], name="pair_by_verdict"),
        ]

    def __str__(self) -> str:
        return f"{self.newer_id} ? {self.older_id} [{self.start}:{self.end}]"
