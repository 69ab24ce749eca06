"""Sessions: their length, and the last turns that summaries and background work have covered."""

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
        """Selects the sessions with a message since `moment`."""
        return self.filter(last_message_at__gte=moment, message_count__gt=0)

    def with_new_tokens(self) -> Self:
        """Adds `new_tokens`, the tokens of the messages that the summary does not cover; None if there are none."""
        new = Memory.objects.filter(
            namespace_id=OuterRef("namespace_id"), session=OuterRef("name"), turn__gt=OuterRef("summarised_turn")
        )
        total = new.order_by().values("session").annotate(total=Sum("tokens")).values("total")
        return self.annotate(new_tokens=Subquery(total))


class Session(models.Model):
    """Represents a conversation of a namespace.

    `message_count` is also the number of the newest turn. `summarised_turn`: the last turn that the summary covers.
    `settled_turn`: the last turn that was compared with earlier memories. `skipped_turn`: the value of `settled_turn`
    when the policy turned settling off; turns since then wait until it is turned on again. `extracted_turn`: the last
    turn that was searched for facts; `preference_turn`: for preferences. `summary_requested_at`: set while a summary is
    queued or being made, so that it is made only once.
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

    # Set by `with_new_tokens`.
    new_tokens: int | None

    objects = SessionQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["namespace", "-last_message_at"], name="session_recent"),
            # Finds sessions with turns that were not compared with earlier memories yet.
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
        """Returns the number of messages that the summary does not cover yet."""
        return self.message_count - self.summarised_turn
