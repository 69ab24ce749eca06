"""Cubes, which give a namespace's memories a name and an owner, and the users with whom they are shared."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.enums import CubeKind, ShareLevel
from memory.models.keys import new_id
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow


def default_kinds() -> list[str]:
    """Returns the kinds of memory that a new cube has."""
    return [CubeKind.TEXTUAL.value]


class Cube(ScopedRow):
    """Represents the memories of one namespace, with a name and an owner, so that they can be shared.

    `owner_id` is the id of a user, who need not belong to the namespace. The contents, the models and the policy are
    those of the namespace.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.OneToOneField(Namespace, models.PROTECT, related_name="cube")
    name = models.CharField(max_length=128)
    description = models.CharField(max_length=1000, blank=True, default="")
    owner_id = models.UUIDField(null=True, blank=True)
    kinds = ArrayField(
        models.CharField(max_length=10, choices=CubeKind.choices), default=default_kinds,
        help_text="The kinds of memory that are on",
    )  # fmt: skip
    revision = models.IntegerField(default=1, help_text="Raised by every change")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        # Finds the cubes of a user in all namespaces.
        indexes = [models.Index(fields=["owner_id"], name="cube_of_owner")]

    def __str__(self) -> str:
        return self.name


class CubeShareQuerySet(ScopedQuerySet["CubeShare"]):
    def in_force(self, now: datetime) -> Self:
        """Selects the shares that have not expired."""
        return self.filter(models.Q(expires_at=None) | models.Q(expires_at__gt=now))


class CubeShare(models.Model):
    """Lets a user's keys read a cube, or also write to it. The row is deleted when the share is revoked."""

    pk = models.CompositePrimaryKey("namespace_id", "user_id")
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_index=False)
    user_id = models.UUIDField()
    level = models.CharField(max_length=5, choices=ShareLevel.choices)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: it does not expire")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    objects = CubeShareQuerySet.as_manager()

    class Meta:
        # Finds everything that is shared with the owner of a key, in all namespaces.
        indexes = [models.Index(fields=["user_id"], name="cubeshare_of_user")]

    def __str__(self) -> str:
        return f"{self.namespace_id} with {self.user_id}"
