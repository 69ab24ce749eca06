"""Items that the gate quarantined, and the counts for daily quotas."""

from __future__ import annotations

from typing import Self

from django.db import models
from django.utils import timezone

from memory.enums import QuarantineState, Role
from memory.models.keys import new_id
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow


class QuarantineQuerySet(ScopedQuerySet["QuarantinedItem"]):
    def pending(self) -> Self:
        """Selects the items that wait for a decision."""
        return self.filter(state=QuarantineState.PENDING)


class QuarantinedItem(ScopedRow):
    """Represents a turn or a document that the gate quarantined until a person or a policy decides.

    No search, window, summary or count reads this table. `id` becomes the id of the memory when the item is released;
    then, and when it is discarded, `text` and `metadata` are emptied. `rule` is that of the first of `reasons`, which
    are {rule, says, score, spans}; `spans` is a number. `document` is empty for a turn; otherwise it has the document's
    fields and `version`, the version that was stored at the time (0: none).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="quarantine", db_index=False)
    session = models.CharField(max_length=128, blank=True, default="", db_collation="C")
    role = models.CharField(max_length=8, choices=Role.choices)
    speaker = models.CharField(max_length=128, blank=True, default="")
    text = models.TextField(blank=True, default="")
    metadata = models.JSONField(default=dict, blank=True)
    document = models.JSONField(default=dict, blank=True)
    characters = models.IntegerField()
    occurred_at = models.DateTimeField()
    rule = models.CharField(max_length=60)
    reasons = models.JSONField(default=list)
    confidence = models.FloatField(help_text="How sure the gate is of its verdict, 0 to 1")
    content_hash = models.BinaryField(max_length=32)
    state = models.CharField(max_length=10, choices=QuarantineState.choices, default=QuarantineState.PENDING)
    reviewer = models.CharField(max_length=150, blank=True, default="")
    note = models.CharField(max_length=300, blank=True, default="")
    reviewed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = QuarantineQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["namespace", "state", "-id"], name="quarantine_by_state"),
            models.Index(
                fields=["namespace", "session"],
                name="quarantine_of_session",
                condition=models.Q(state=QuarantineState.PENDING),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class WritesOfDay(models.Model):
    """Counts the memories that a namespace with a daily quota added on the last day (UTC); one row a namespace."""

    namespace = models.OneToOneField(Namespace, models.CASCADE, primary_key=True, related_name="+")
    day = models.DateField()
    memories = models.BigIntegerField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.namespace_id}, {self.day}: {self.memories}"
