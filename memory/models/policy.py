"""The versions of a namespace's policy."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet


class NamespacePolicy(models.Model):
    """Holds one version of the policy values that a namespace overrides; the highest version is in force.

    Versions are numbered from 1 without gaps and are never changed. `overrides` has values by key, as
    `memory.governance.policy` declares them.
    """

    pk = models.CompositePrimaryKey("namespace_id", "version")
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="policies", db_index=False)
    version = models.IntegerField()
    overrides = models.JSONField(default=dict)
    reason = models.CharField(max_length=300, blank=True, default="")
    updated_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.namespace_id}/{self.version}"
