"""Sessions: how long they are, and how much of them their summary covers."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import OuterRef, Subquery, Sum
from django.utils import timezone

from memory.models.memory import Memory
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet


class SessionQuerySet(ScopedQuerySet["Session"]):
    def active_since(self, moment: datetime) -> Self:
        """Sessions with a message since `moment`."""
        return self.filter(last_message_at__gte=moment, message_count__gt=0)

    def with_new_tokens(self) -> Self:
        """Each with `new_tokens`: those of the messages that its summary does not cover; None without any."""
        new = Memory.objects.filter(
            namespace_id=OuterRef("namespace_id"), session=OuterRef("name"), turn__gt=OuterRef("summarised_turn")
        )
        total = new.order_by().values("session").annotate(total=Sum("tokens")).values("total")
        return self.annotate(new_tokens=Subquery(total))


class Session(models.Model):
    """One conversation of a namespace.

    `message_count` is also the number of its newest turn; `summarised_turn` is the last turn its summary covers.
    `settled_turn` is the last turn of which it was looked what it does to earlier memories; `skipped_turn` is where
    that stood when the policy turned it off, and the turns since wait for the day on which it is on again.
    `extracted_turn` is the last turn in which facts were looked for, `preference_turn` that for preferences.
    `summary_requested_at` is set while a summary is queued or being made (single flight) and empty otherwise.
    """

    pk = models.CompositePrimaryKey("namespace_id", "name")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="sessions", db_index=False)
    name = models.CharField(max_length=128, db_collation="C")
    message_count = models.IntegerField(default=0)
    summarised_turn = models.IntegerField(default=0)
    settled_turn = models.IntegerField(default=0, db_default=0)
    extracted_turn = models.IntegerField(default=0, db_default=0)
    preference_turn = models.IntegerField(default=0, db_default=0)
    skipped_turn = models.IntegerField(null=True, blank=True)
    summary_requested_at = models.DateTimeField(null=True, blank=True)
    first_message_at = models.DateTimeField(default=timezone.now)
    last_message_at = models.DateTimeField(default=timezone.now)
    audit_hidden_before = models.DateTimeField(
        null=True, blank=True, help_text="A reset with clear_audit hides earlier events from the session's listing"
    )

    # Given by `with_new_tokens`.
    new_tokens: int | None

    objects = SessionQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["namespace", "-last_message_at"], name="session_recent"),
            # Those with turns that were not compared with earlier ones yet.
            models.Index(
                fields=["namespace", "last_message_at"],
                name="session_unsettled",
                condition=models.Q(message_count__gt=models.F("settled_turn")),
            ),
            models.Index(fields=["namespace"], name="session_skipped", condition=models.Q(skipped_turn__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def unsummarised(self) -> int:
        """Messages that the summary does not cover yet."""
        return self.message_count - self.summarised_turn
