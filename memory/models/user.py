"""Users, whose memories are stored, and their namespaces."""

from __future__ import annotations

from django.db import models

from memory.models.keys import new_id
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow


class User(ScopedRow):
    """Represents a person or program that memories belong to. Only callers who reach its namespace see it.

    It has no password; staff who sign in are Django's users. `preferences` and `metadata` are stored for clients.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_index=False)
    name = models.CharField(max_length=128, db_collation="C", help_text="Unique in the namespace")
    display_name = models.CharField(max_length=128, blank=True, default="")
    preferences = models.JSONField(default=dict, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    revision = models.IntegerField(default=1, help_text="Raised by every change")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = ScopedQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["namespace_id", "name"], name="user_name_once")]

    def __str__(self) -> str:
        return str(self.pk)


class UserNamespace(models.Model):
    """Gives a user another namespace, besides the one that the user belongs to."""

    pk = models.CompositePrimaryKey("namespace_id", "user_id")
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_index=False)
    user_id = models.UUIDField()

    objects = ScopedQuerySet.as_manager()

    class Meta:
        # Finds the namespaces of a user.
        indexes = [models.Index(fields=["user_id"], name="usernamespace_of_user")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.namespace_id}"


class UserErasure(ScopedRow):
    """Represents the receipt of an erased user, without a name.

    `erasures`: those of the user's memories, as {namespace_id, id}.
    """

    user_id = models.UUIDField(primary_key=True)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_index=False)
    reason = models.CharField(max_length=300)
    erasures = models.JSONField(default=list)
    keys_revoked = models.IntegerField(default=0)
    shares_ended = models.IntegerField(default=0)
    cubes_disowned = models.IntegerField(default=0)
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    objects = ScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return str(self.user_id)
