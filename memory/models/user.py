"""Users: the people whose memories are kept, and the namespaces that are theirs."""

from __future__ import annotations

from django.db import models

from memory.models.keys import new_id
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet, ScopedRow


class User(ScopedRow):
    """A person or program that memories belong to. Who reaches the namespace it belongs to sees it, and nobody else.

    It has no password: staff who sign in are Django's users. `preferences` are what the user wants, as clients keep
    it; `metadata` is the clients' own.
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
    """That a namespace is a user's, besides the one that the user belongs to."""

    pk = models.CompositePrimaryKey("namespace_id", "user_id")
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="+", db_index=False)
    user_id = models.UUIDField()

    objects = ScopedQuerySet.as_manager()

    class Meta:
        # Of all namespaces together: those of one user.
        indexes = [models.Index(fields=["user_id"], name="usernamespace_of_user")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.namespace_id}"


class UserErasure(ScopedRow):
    """The receipt of a user who was erased. `erasures` are those of memories, as {namespace_id, id}. No name."""

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
