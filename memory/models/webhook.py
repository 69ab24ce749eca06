"""Webhooks of a namespace, and their deliveries."""

from __future__ import annotations

import uuid
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.enums import DeliveryState
from memory.models.access import ApiKey
from memory.models.keys import new_id
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow


class Webhook(ScopedRow):
    """Represents an address to which a namespace's events are delivered.

    (`seen_xact`, `seen_id`): the place in the audit log up to which deliveries were created. `secret` and
    `former_secret` are encrypted. Texts are only sent on behalf of `reader`, a key that may read them. `leased_until`:
    the time until which one process has the deliveries to itself. `paused_until`: the time before which none is
    attempted.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="webhooks", db_index=False)
    url = models.CharField(max_length=2000)
    description = models.CharField(max_length=300, blank=True, default="")
    types = ArrayField(models.CharField(max_length=40), default=list, help_text="Empty: all")
    includes_text = models.BooleanField(default=False)
    reader = models.ForeignKey(
        ApiKey, models.DO_NOTHING, null=True, blank=True, related_name="+", db_constraint=False, db_index=False,
        help_text="The key on whose behalf texts are sent",
    )  # fmt: skip
    secret = models.BinaryField()
    former_secret = models.BinaryField(null=True, blank=True)
    former_until = models.DateTimeField(null=True, blank=True, help_text="Until then the former secret signs as well")
    enabled = models.BooleanField(default=True)
    disabled_why = models.CharField(max_length=300, blank=True, default="", help_text="Empty: by a person, or enabled")
    seen_xact = models.BigIntegerField()
    seen_id = models.UUIDField(default=uuid.UUID(int=0))
    failures = models.IntegerField(default=0, help_text="Attempts in a row that failed")
    failing_since = models.DateTimeField(null=True, blank=True)
    paused_until = models.DateTimeField(null=True, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return str(self.id)


class WebhookDeliveryQuerySet(ScopedQuerySet["WebhookDelivery"]):
    def waiting(self) -> Self:
        """Selects the deliveries that are still to be made."""
        return self.filter(state=DeliveryState.WAITING)


class WebhookDelivery(ScopedRow):
    """Represents the delivery of one event to a webhook. The body is made from the audit event for each attempt.

    The body is not stored. The event of a test delivery is not in the audit log. `tries`: the attempts as {at, status,
    ms, error}, newest last. `answer`: the beginning of the body of the last answer.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField()
    webhook_id = models.UUIDField()
    event_id = models.UUIDField()
    type = models.CharField(max_length=40)
    memory_ids = ArrayField(models.UUIDField(), default=list, help_text="The memories whose texts are sent with it")
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    attempts = models.IntegerField(default=0, help_text="Since it was made, or replayed")
    tries = models.JSONField(default=list)
    answer = models.CharField(max_length=500, blank=True, default="")
    next_at = models.DateTimeField(null=True, blank=True, help_text="When it is tried; empty: not any more")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = WebhookDeliveryQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "webhook deliveries"
        constraints = [
            models.UniqueConstraint(fields=["namespace_id", "webhook_id", "event_id"], name="delivery_once"),
        ]
        indexes = [
            models.Index(fields=["namespace_id", "webhook_id", "-id"], name="delivery_recent"),
            # Serves the upkeep, which deletes the oldest deliveries of all namespaces.
            models.Index(fields=["id"], name="delivery_oldest"),
            # The few deliveries that are still to be made.
            models.Index(
                fields=["namespace_id", "webhook_id", "next_at", "id"],
                name="delivery_waiting",
                condition=models.Q(state=DeliveryState.WAITING),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} to {self.webhook_id}"
