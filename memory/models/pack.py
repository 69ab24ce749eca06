"""Context packs, stored exactly as they were returned to an agent, so that they can be inspected."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memory.models.keys import new_id
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow


class ContextPack(ScopedRow):
    """Holds the answer to a query, as it was returned."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_constraint=False, db_index=False)
    session = models.CharField(max_length=128, db_collation="C")
    query_text = models.TextField()
    session_summary_id = models.UUIDField(null=True, blank=True)
    retrieved_count = models.IntegerField()
    token_original = models.IntegerField()
    token_condensed = models.IntegerField()
    pack = models.JSONField()
    memory_ids = ArrayField(
        models.UUIDField(),
        default=list,
        db_default=models.Value([], ArrayField(models.UUIDField())),
        help_text="The memories whose text the pack holds: hits and window",
    )
    created_at = models.DateTimeField(default=timezone.now)

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            # The sums of tokens over time are read from this index alone.
            models.Index(
                fields=["namespace", "-id"],
                include=["created_at", "token_original", "token_condensed"],
                name="pack_recent_tokens",
            ),
            models.Index(fields=["namespace", "session", "-id"], name="pack_of_session"),
        ]

    def __str__(self) -> str:
        return str(self.id)
