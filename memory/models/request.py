"""How many requests were answered in each minute, and how fast."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.models.scoped import ScopedQuerySet


class RequestMinute(models.Model):
    """The requests of one route in one minute, of one namespace; under namespace 0 those of all together.

    `latency` counts them by how long they took; the upper ends of its buckets are BOUNDS in
    memory.services.monitoring.request_log.
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
