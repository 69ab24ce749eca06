"""What is said about memories: opinions of them, what they are to each other, and what of them holds no longer."""

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

# `valid_to` of a statement that left search and holds.
HOLDS_ON = datetime(9999, 1, 1, tzinfo=UTC)


class MemoryFeedback(ScopedRow):
    """One actor's opinion of one memory; a new one takes the place of the former."""

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
    """What `memory` is to `other`, who says so and why. The row goes when what it says is taken back.

    [start, end): the words of `other` that are meant, where not all of it is.
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
    """The statement at [start, end) of `memory` that holds no longer since what `by` says at [by_start, by_end).

    It left search at `retired_at`; in the time of what is told it held until `valid_to`. `terms` are its own index
    terms, by which a search of an earlier time finds it; `names` are terms by which the memory stays findable. One that
    was withdrawn counts again, and is not retired a second time.

    One with `valid_to` HOLDS_ON left search only ("I no longer eat meat", once that was carried out): it holds, is
    handed over with the rest of its memory and does not count among its `retired_spans`.
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
            # The namespace does not lead it: for staff who look at all of them at once.
            models.Index(fields=["-retired_at"], name="statement_newest", condition=models.Q(withdrawn_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} [{self.start}:{self.end}]"


class UnsurePair(ScopedRow):
    """What `newer` says at [by_start, by_end) may take the place of what `older` says at [start, end), and the rules
    (`reason`, `confidence`) are not sure: a language model is asked, from `due_at` on, and its `verdict` kept.

    `can_cut`: the words could leave search without harm to what stands beside them. `texts_hash` is of both texts: with
    other words it is another question. `attempts` counts the times that no answer came. `explanation` is the model's
    own sentence, which may quote both memories; `judge` is the model's name.
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
            # The namespace does not lead them: the worker asks about the oldest first, and figures are of all.
            models.Index(fields=["due_at"], name="pair_due", condition=models.Q(verdict="")),
            models.Index(fields=["verdict"], name="pair_by_verdict"),
        ]

    def __str__(self) -> str:
        return f"{self.newer_id} ? {self.older_id} [{self.start}:{self.end}]"
