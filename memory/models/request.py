"""Counts of requests by minute, and their latencies."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.models.scoped import ScopedQuerySet


class RequestMinute(models.Model):
    """Counts the requests of one route in one minute, for one namespace or (namespace 0) for all together.

    `latency` has the number of requests in each bucket of duration; BOUNDS in memory.services.monitoring.request_log
    are the upper ends of the buckets.
    """

    ALL = 0

    pk = models.CompositePrimaryKey("namespace_id", "minute", "route")
    namespace_id = models.BigIntegerField()
    minute = models.DateTimeField()
    route = models.CharField(max_length=100, db_collation="C")
    count = models.IntegerField()
    errors = models.IntegerField(help_text="Answered with a status of 400 or more")
    empty_recalls = models.IntegerField(help_text="Queries that brought nothing back")
    latency = ArrayField(models.IntegerField())

    objects = ScopedQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["minute"], name="requests_of_minute")]

    def __str__(self) -> str:
        return f"{self.route} at {self.minute}: {self.count}"
