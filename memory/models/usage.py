"""Model calls over the network: their tokens and costs, sums by day, and reservations of open calls."""

from __future__ import annotations

from django.db import models

from memory.enums import ModelCallStatus
from memory.models.access import ApiKey
from memory.models.keys import new_id
from memory.models.scoped import ScopedQuerySet, ScopedRow


class ModelCall(ScopedRow):
    """Represents a model call over the network. Models that run inside MemOS cost nothing, and are not recorded.

    `estimated`: the provider did not count the tokens. `cost` (US dollars) is empty if no price is known.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.BigIntegerField(default=0, help_text="0: for no namespace, or for several at once")
    key = models.ForeignKey(
        ApiKey, models.DO_NOTHING, null=True, blank=True, related_name="+", db_constraint=False, db_index=False,
        help_text="Empty: the worker or a member of staff",
    )  # fmt: skip
    at = models.DateTimeField(help_text="When it began")
    purpose = models.CharField(max_length=20, db_collation="C")
    kind = models.CharField(max_length=20, db_collation="C")
    provider = models.CharField(max_length=40, db_collation="C")
    model = models.CharField(max_length=200, db_collation="C")
    prompt_tokens = models.BigIntegerField(null=True, blank=True)
    cached_tokens = models.BigIntegerField(null=True, blank=True, help_text="Of the prompt")
    completion_tokens = models.BigIntegerField(null=True, blank=True)
    activation_tokens = models.IntegerField(
        null=True, blank=True, help_text="Tokens of the activation cache that the model was given before; empty: none"
    )
    estimated = models.BooleanField(default=False, help_text="The provider did not count the tokens")
    ttft_ms = models.IntegerField(null=True, blank=True, help_text="Milliseconds to the first token of a stream")
    duration_ms = models.IntegerField(help_text="Milliseconds")
    status = models.CharField(max_length=10, choices=ModelCallStatus.choices)
    cost = models.DecimalField(
        max_digits=18, decimal_places=9, null=True, blank=True, help_text="US dollars; empty: no price is known"
    )
    price_source = models.CharField(max_length=60, blank=True, default="", db_collation="C")
    price_date = models.DateField(null=True, blank=True, help_text="Since when that price holds, where it is said")
    request_id = models.CharField(max_length=64, blank=True, default="", db_collation="C", help_text="Or the job's id")

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        # Serves lists of all namespaces, and the upkeep that deletes the oldest calls.
        indexes = [models.Index(fields=["-id"], name="model_call_recent")]

    def __str__(self) -> str:
        return f"{self.purpose} by {self.provider}/{self.model} at {self.at}"


class UsageDay(models.Model):
    """Holds the sums of the model calls of one UTC day that agree in all columns of the primary key.

    It is updated with each call, and stays when the calls' rows are deleted. `key_id` 0 is the worker or staff.
    `unpriced` calls are not part of the cost.
    """

    pk = models.CompositePrimaryKey("namespace_id", "day", "key_id", "purpose", "kind", "provider", "model")
    namespace_id = models.BigIntegerField()
    day = models.DateField()
    key_id = models.BigIntegerField()
    purpose = models.CharField(max_length=20, db_collation="C")
    kind = models.CharField(max_length=20, db_collation="C")
    provider = models.CharField(max_length=40, db_collation="C")
    model = models.CharField(max_length=200, db_collation="C")
    calls = models.BigIntegerField()
    failed = models.BigIntegerField(help_text="Calls that brought nothing")
    unpriced = models.BigIntegerField(help_text="Calls that brought something and have no known price")
    prompt_tokens = models.BigIntegerField()
    cached_tokens = models.BigIntegerField()
    completion_tokens = models.BigIntegerField()
    cost = models.DecimalField(max_digits=24, decimal_places=9, help_text="US dollars, as far as prices are known")

    objects = ScopedQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["key_id", "day"], name="usage_of_key"),
                   models.Index(fields=["day"], name="usage_of_day")]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.provider}/{self.model} on {self.day}: {self.calls}"


class UsageReservation(ScopedRow):
    """Reserves the most that an open call may take of the budgets that it counts against. `id` is that of the call."""

    id = models.UUIDField(primary_key=True, editable=False)
    namespace_id = models.BigIntegerField()
    key_id = models.BigIntegerField()
    tokens = models.BigIntegerField()
    cost = models.DecimalField(max_digits=18, decimal_places=9)
    expires_at = models.DateTimeField(help_text="When its process must have ended without settling it")

    objects = ScopedQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["key_id"], name="reservation_of_key")]

    def __str__(self) -> str:
        return f"{self.id}: {self.tokens} tokens"
