"""Procedural memory: prompts and tools for agents."""

from __future__ import annotations

from typing import Self

from django.db import models
from django.utils import timezone

from memory.enums import ProcedureKind
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet
from memory.types import Access, Scope


class ProcedureQuerySet(ScopedQuerySet["Procedure"]):
    def in_scope(self, scope: Scope) -> Self:
        """Selects the namespace's own entries and the shared ones."""
        return self.filter(models.Q(namespace_id=scope.namespace_id) | models.Q(namespace=None))

    def reachable_by(self, access: Access) -> Self:
        if access.all_namespaces:
            return self.across_namespaces()
        return self.filter(models.Q(namespace_id__in=access.namespace_ids) | models.Q(namespace=None))

    def enabled(self) -> Self:
        return self.filter(enabled=True)


class Procedure(models.Model):
    """Represents a registered prompt or tool of one namespace, or of all if it has none."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(Namespace, models.CASCADE, null=True, blank=True, related_name="procedures")
    kind = models.CharField(max_length=6, choices=ProcedureKind.choices)
    name = models.CharField(max_length=100)
    version = models.CharField(max_length=20, default="1")
    description = models.CharField(max_length=300, blank=True, default="")
    text = models.TextField(blank=True, default="", help_text="A prompt's text")
    parameters = models.JSONField(default=dict, blank=True, help_text="A tool's parameters as a JSON schema")
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ProcedureQuerySet.as_manager()

    class Meta:
        ordering = ["kind", "name", "-version"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "kind", "name", "version"], name="procedure_identity", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} v{self.version}"
