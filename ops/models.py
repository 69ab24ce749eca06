"""What the console keeps of its own: which namespaces staff reach, what they may do in it, and their saved views."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from memory.models import Namespace


class StaffGrant(models.Model):
    """One namespace that a member of staff reaches. Without a grant, staff reach none (superusers reach all).

    The permissions of the console, which Django's admin grants to staff and groups by name, hang on this model.
    """

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="namespace_grants")
    namespace = models.ForeignKey(Namespace, on_delete=models.CASCADE, related_name="staff_grants")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["namespace", "user"], name="one_grant_a_namespace")]
        ordering = ["user_id", "namespace_id"]
        permissions = [
            ("view_console", "Can open the console"),
            ("all_namespaces", "Reaches every namespace without a grant for each"),
            ("view_memory_text", "Can read what memories, summaries and packs say"),
            ("run_probe", "Can search in the console (radar, inspector) without side effects"),
            ("operate_jobs", "Can replay and discard jobs"),
            ("export", "Can export rows"),
            ("reset_session", "Can reset a session"),
        ]

    def __str__(self) -> str:
        return f"{self.user} → {self.namespace}"


class SavedView(models.Model):
    """A list with its filters under a name: one member's own, or shared with all staff who may open the list."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=60)
    model = models.CharField(max_length=100, help_text="The list's model, for example memory.memory")
    querystring = models.CharField(max_length=2000, blank=True)
    shared = models.BooleanField(default=False)
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "model", "name"], name="one_saved_view_a_name"),
            models.UniqueConstraint(
                fields=["user", "model"], condition=models.Q(is_default=True), name="one_default_view_a_list"
            ),
        ]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
