"""The console's own data: namespaces granted to staff, saved views, login sessions, and bulk actions."""

from __future__ import annotations

from datetime import datetime, timedelta
from importlib import import_module

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models import Namespace
from memory.models.keys import new_id

UNDO_FOR = timedelta(minutes=10)


class StaffGrant(models.Model):
    """A namespace granted to a member of staff. Without grants, staff reach none (superusers reach all).

    The permissions of the console, which Django's admin grants to staff and groups, are defined on this model.
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
    """Named filters of a list: a user's own, or shared with all staff who may open the list."""

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


class StaffSession(AbstractBaseSession):
    """A login of a member of staff: Django's session, with its user and where it was last seen.

    The address and the browser are those of the latest visit, so that people recognise their own logins.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="logins", db_index=True
    )
    address = models.CharField(max_length=45, blank=True, default="")
    browser = models.CharField(max_length=200, blank=True, default="")
    since = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)

    class Meta(AbstractBaseSession.Meta):
        verbose_name = "login"
        verbose_name_plural = "logins"
        default_permissions = ()

    @classmethod
    def get_session_store_class(cls) -> type[SessionStore]:
        store: type[SessionStore] = import_module(settings.SESSION_ENGINE).SessionStore
        return store


class BulkVerb(models.TextChoices):
    """Bulk actions on memories. `UNDOABLE` lists the reversible ones."""

    ARCHIVE = "archive", _("archive")
    RESTORE = "restore", _("restore")
    MERGE = "merge", _("merge")
    TAG = "tag", _("tag")
    REEMBED = "reembed", _("re-embed")
    ERASE = "erase", _("erase")


UNDOABLE = frozenset({BulkVerb.ARCHIVE, BulkVerb.RESTORE, BulkVerb.MERGE, BulkVerb.TAG})


class BulkState(models.TextChoices):
    QUEUED = "queued", _("queued")
    RUNNING = "running", _("running")
    DONE = "done", _("done")
    UNDOING = "undoing", _("being undone")
    UNDONE = "undone", _("undone")


class BulkAction(models.Model):
    """A bulk action of a member of staff: the selected memories, the progress, and exactly what it changed.

    `changed` maps the id of each changed memory to what undo needs; it has ids and tags, never text. `position` is how
    many of `memory_ids` are done (while undoing: undone). The id is also the request id of its audit events.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="bulk_actions")
    verb = models.CharField(max_length=10, choices=BulkVerb.choices)
    parameters = models.JSONField(default=dict, help_text="reason; of a merge the survivor, of tags those to put on")
    memory_ids = ArrayField(models.UUIDField())
    changed = models.JSONField(default=dict)
    problems = models.JSONField(default=dict, help_text="Message to how many memories it is of")
    selected = models.IntegerField(help_text="How many memories were chosen")
    changed_count = models.IntegerField(default=0)
    state = models.CharField(max_length=10, choices=BulkState.choices, default=BulkState.QUEUED)
    position = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["user", "-id"], name="bulk_action_of_user")]

    def __str__(self) -> str:
        return f"{self.verb} {self.created_at:%Y-%m-%d %H:%M:%S}"

    @property
    def undo_until(self) -> datetime | None:
        """Return until when it can be undone, or None if it cannot be."""
        if (
            self.verb not in UNDOABLE
            or self.state != BulkState.DONE
            or not self.changed_count
            or self.finished_at is None
        ):
            return None
        return self.finished_at + UNDO_FOR
