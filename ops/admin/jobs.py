"""Background jobs, read-only. A job names a function to run, so no one may create one by hand.

Jobs are replayed and discarded by `/v1/ops/jobs` and `manage.py jobs`, which audit it.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy
from django_q.admin import FailAdmin, QueueAdmin, ScheduleAdmin
from django_q.models import Failure, OrmQ, Schedule, Success

from memory.models import Job
from ops.access import reads_text, staff_access
from ops.admin.filters import NamespaceFilter
from ops.admin.lists import ReadOnlyAdmin


class _LookOnly:
    """Makes an admin read-only, without actions.

    The queue has the work of all namespaces, so only users who reach all of them may see it.
    """

    actions = None

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return staff_access(request).all_namespaces and super().has_view_permission(request, obj)  # type: ignore[misc]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return staff_access(request).all_namespaces and super().has_module_permission(request)  # type: ignore[misc]

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


# django-q saves no successes (`save_limit`), so their page would always be empty.
admin.site.unregister(Success)
for _model, _base in ((Schedule, ScheduleAdmin), (OrmQ, QueueAdmin), (Failure, FailAdmin)):
    if admin.site.is_registered(_model):
        admin.site.unregister(_model)
    admin.site.register(_model, type(f"{_model.__name__}LookOnlyAdmin", (_LookOnly, _base), {}))


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Jobs with their arguments, progress and errors."""

    list_display = (
        "kind",
        "state",
        "priority",
        "attempts",
        "subject",
        "schedule",
        "error_type",
        "queued_at",
        "finished_at",
    )
    list_filter = ("state", "priority", NamespaceFilter, "kind", "queued_at")
    fields = (
        *(
            "kind",
            "state",
            "priority",
            "namespace_id",
            "subject",
            "schedule",
            "attempts",
            "done",
            "total",
            "error_type",
            "error",
        ),
        *("reason", "queued_at", "started_at", "heartbeat_at", "finished_at", "id"),
    )

    def get_fields(self, request: HttpRequest, obj: Job | None = None) -> Any:
        """Hide the reason for discarding a job, which a person typed, from users who may not read texts."""
        return [str(name) for name in self.fields if name != "reason" or reads_text(request)]

    @admin.display(description=gettext_lazy("subject"))
    def subject(self, job: Job) -> str:
        return " ".join(map(str, job.arguments))
