"""API keys, which are shown once, stored as an HMAC, and found by their prefix."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memory.enums import AccessScope, BudgetPeriod
from memory.models.namespace import Namespace

TOKEN_MARK = "mos"  # noqa: S105 - the visible mark in front of every key, not a secret


def token_digest(secret: str) -> str:
    """Returns the HMAC-SHA256 (hex) of a key's secret part, under the server's own key (MEMOS_KEY_PEPPER)."""
    return hmac.new(settings.MEMOS_KEY_PEPPER.encode(), secret.encode(), hashlib.sha256).hexdigest()


class ApiKey(models.Model):
    """Represents a client's key, `mos_<prefix>_<secret>`. Only the prefix and a digest of the secret are stored."""

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, unique=True, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    scopes = ArrayField(models.CharField(max_length=10, choices=AccessScope.choices), default=list)
    all_namespaces = models.BooleanField(default=False)
    namespaces = models.ManyToManyField(Namespace, blank=True, related_name="api_keys")
    default_namespace = models.CharField(
        "default namespace",
        max_length=128,
        blank=True,
        default="",
        db_default="",
        help_text="Of requests that name none",
    )
    owner_id = models.UUIDField(
        null=True, blank=True, editable=False, help_text="The user whose key it is: what is shared with them it reaches"
    )
    requests_per_minute = models.PositiveIntegerField(
        null=True, blank=True, help_text="Empty: the server's own limit (MEMOS_RATE_LIMIT_PER_MINUTE)"
    )
    budget_period = models.CharField(
        max_length=5,
        choices=BudgetPeriod.choices,
        default=BudgetPeriod.MONTH,
        help_text="What calls of models for this key may cost in it (UTC); 0: no limit",
    )
    budget_soft_usd = models.DecimalField(
        max_digits=12, decimal_places=4, default=0, help_text="US dollars from which answers warn"
    )
    budget_hard_usd = models.DecimalField(
        max_digits=12, decimal_places=4, default=0, help_text="US dollars beyond which no model is called"
    )
    budget_soft_tokens = models.BigIntegerField(default=0, help_text="Tokens from which answers warn")
    budget_hard_tokens = models.BigIntegerField(default=0, help_text="Tokens beyond which no model is called")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "API key"
        verbose_name_plural = "API keys"
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["owner_id"], name="apikey_of_owner")]

    def __str__(self) -> str:
        return f"{self.name} ({TOKEN_MARK}_{self.prefix}_…)"

    def set_new_secret(self) -> str:
        """Gives the key a new prefix and secret, and returns the full key, which cannot be shown again."""
        self.prefix = secrets.token_hex(4)
        secret = secrets.token_urlsafe(32)
        self.digest = token_digest(secret)
        return f"{TOKEN_MARK}_{self.prefix}_{secret}"

    @property
    def budget(self) -> dict[str, Any]:
        """Returns the fields of the key's budget, by their names without `budget_`."""
        limits = ("soft_usd", "hard_usd", "soft_tokens", "hard_tokens")
        amounts = {name: getattr(self, f"budget_{name}") for name in limits}
        return {"period": BudgetPeriod(self.budget_period), **amounts}

    @property
    def is_usable(self) -> bool:
        """Tells whether the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > timezone.now())
