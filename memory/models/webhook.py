"""Webhooks of a namespace, and what was or is to be delivered to them."""

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
    """An address that is told of a namespace's events.

    (`seen_xact`, `seen_id`) is the place in the audit log up to which deliveries were made. `secret` and
    `former_secret` are encrypted. Texts are sent only on behalf of `reader`, a key that may read them. While it is
    `leased_until` a moment, one process is at its deliveries; none is tried before `paused_until`.
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
        """What is still to be delivered."""
        return self.filter(state=DeliveryState.WAITING)


class WebhookDelivery(ScopedRow):
    """One event on its way to a webhook. What is sent is made of the audit event when it is sent, and not kept.

    A test delivery has an event that the audit log does not have. `tries` are the attempts as {at, status, ms, error},
    the newest last; `answer` is the beginning of the last answer's body.
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
            # Of all namespaces together: for the upkeep that deletes the oldest.
            models.Index(fields=["id"], name="delivery_oldest"),
            # Few of many rows: what is still to be sent.
            models.Index(
                fields=["namespace_id", "webhook_id", "next_at", "id"],
                name="delivery_waiting",
                condition=models.Q(state=DeliveryState.WAITING),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} to {self.webhook_id}"
