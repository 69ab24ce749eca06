"""Session summaries, one row for each version."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memory.enums import SummaryTrigger
from memory.models.keys import new_id
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow

SUMMARY_VERSION = "memos.session_summary.v1"


class Condensation(ScopedRow):
    """Represents one version of a session's summary: a JSON card, its sources, and its cost in tokens.

    `token_original` counts the tokens of all turns that it covers, from the first on; `token_condensed` those of the
    card.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    session = models.CharField(max_length=128, db_collation="C")
    number = models.IntegerField(help_text="1 for the session's first summary, then counting up")
    version = models.CharField(max_length=40, default=SUMMARY_VERSION)
    trigger_reason = models.CharField(max_length=40, choices=SummaryTrigger.choices)
    trigger_details = models.JSONField(default=dict)
    source_memory_ids = ArrayField(models.UUIDField(), default=list)
    covers_to_turn = models.IntegerField()
    condensed_text = models.TextField()
    item_sources = models.JSONField(
        default=dict, help_text="For each bucket of the card, the memory ids behind each item, in the items' order"
    )
    method = models.CharField(max_length=80, help_text="What wrote the card: extractive, or the language model's name")
    token_original = models.IntegerField()
    token_condensed = models.IntegerField()
    tokenizer = models.CharField(max_length=40)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["namespace", "session", "number"], name="condensation_number")]
        indexes = [models.Index(fields=["namespace", "-id"], name="condensation_recent")]

    def __str__(self) -> str:
        return f"{self.session} #{self.number}"


class StaleSource(models.Model):
    """Represents a memory that has changed, in part or in whole, since the newest summary of its session was made.

    A statement of it left search or came back. Lines of the summary that were made from it are not returned until the
    summary is made again.
    """

    pk = models.CompositePrimaryKey("namespace_id", "session", "memory_id")
    namespace_id = models.BigIntegerField()
    session = models.CharField(max_length=128, db_collation="C")
    memory_id = models.UUIDField()
    created_at = models.DateTimeField(default=timezone.now)

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return str(self.memory_id)
