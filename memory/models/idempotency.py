"""Stored answers to writes, so that a repeated write changes nothing."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class IdempotencyRecord(models.Model):
    """Holds the answer to a write with an idempotency key.

    It belongs to a caller (`principal`), not to a tenant, and has no memory text.
    """

    id = models.BigAutoField(primary_key=True)
    principal = models.CharField(max_length=150)
    key = models.CharField(max_length=200)
    body_hash = models.CharField(max_length=64)
    memory_ids = models.JSONField()
    answer = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    degraded = models.JSONField(default=list)
    keep_forever = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["principal", "key"], name="idempotency_once")]
        indexes = [models.Index(fields=["created_at"], name="idempotency_age", condition=models.Q(keep_forever=False))]

    def __str__(self) -> str:
        return f"{self.principal}: {self.key}"
