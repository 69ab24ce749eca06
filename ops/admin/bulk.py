"""Bulk actions of staff: the toast after one, with undo, the list of one's own, and the progress of a running one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from memory.errors import MemosError
from ops import bulk
from ops.admin.lists import ReadOnlyAdmin
from ops.admin.rendering import pretty_json
from ops.admin.scope import member
from ops.models import UNDO_FOR, BulkAction, BulkState, BulkVerb

SHOWN_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Toast:
    """The outcome of a staff member's latest bulk action."""

    action: BulkAction
    said: str
    problems: Sequence[tuple[str, int]]
    undo_until: datetime | None
    running: bool
    done: int
    total: int


def latest(user: User, *, now: datetime) -> Toast | None:
    """Return the toast of the latest action while it runs, and for the ten minutes in which it can be undone."""
    action = BulkAction.objects.filter(user=user).defer("memory_ids", "changed").order_by("-id").first()
    if action is None or (action.finished_at is not None and action.finished_at + UNDO_FOR < now):
        return None
    return toast(action, now=now)


def toast(action: BulkAction, *, now: datetime) -> Toast:
    """Return the toast of an action."""
    until = action.undo_until
    undoing = action.state == BulkState.UNDOING
    return Toast(
        action=action,
        said=outcome(action),
        problems=sorted(action.problems.items(), key=lambda entry: -entry[1])[:SHOWN_PROBLEMS],
        undo_until=until if until and until > now else None,
        running=action.state in (BulkState.QUEUED, BulkState.RUNNING, BulkState.UNDOING),
        done=action.position,
        total=action.changed_count if undoing else action.selected,
    )


def outcome(action: BulkAction) -> str:
    """Describe what the action did, with the exact count."""
    count, selected = action.changed_count, action.selected
    if action.state in (BulkState.QUEUED, BulkState.RUNNING):
        return _("A worker is at it: %(done)s of %(total)s.") % {
            "done": f"{action.position:,}",
            "total": f"{selected:,}",
        }
    if action.state == BulkState.UNDOING:
        return _("It is being undone: %(done)s of %(total)s.") % {"done": f"{action.position:,}", "total": f"{count:,}"}
    sentences = {
        BulkVerb.ARCHIVE: ngettext("%(n)s memory was archived.", "%(n)s memories were archived.", count),
        BulkVerb.RESTORE: ngettext("%(n)s memory was restored.", "%(n)s memories were restored.", count),
        BulkVerb.MERGE: ngettext(
            "%(n)s memory was merged into another.", "%(n)s memories were merged into another.", count
        ),
        BulkVerb.TAG: ngettext("%(n)s memory was tagged.", "%(n)s memories were tagged.", count),
        BulkVerb.REEMBED: ngettext("%(n)s memory was embedded anew.", "%(n)s memories were embedded anew.", count),
        BulkVerb.ERASE: ngettext(
            "The erasure of %(n)s memory was asked for.", "The erasure of %(n)s memories was asked for.", count
        ),
    }
    said = sentences[BulkVerb(action.verb)] % {"n": f"{count:,}"}
    if action.state == BulkState.UNDONE:
        return _("Undone: %(what)s") % {"what": said}
    rest = selected - count - (action.verb == BulkVerb.MERGE) - sum(action.problems.values())
    if rest > 0:
        left = ngettext(
            "%(n)s of the selection already was, or is gone.", "%(n)s of the selection already were, or are gone.", rest
        )
        said = f"{said} {left % {'n': f'{rest:,}'}}"
    return said


@admin.register(BulkAction)
class BulkActionAdmin(ReadOnlyAdmin):
    """Bulk actions of staff. Users see their own; superusers see all."""

    list_display = ("what", "user", "state", "progress", "created_at", "finished_at")
    list_filter = ("verb", "state")
    list_select_related = ("user",)
    fields = ("what", "user", "state", "progress", "shown_parameters", "shown_problems", "created_at", "finished_at",
              "id")  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        rows = super().get_queryset(request).defer("memory_ids", "changed")
        return rows if request.user.is_superuser else rows.filter(user_id=request.user.pk)

    def has_view_permission(self, request: HttpRequest, obj: BulkAction | None = None) -> bool:
        return bool(request.user.is_active and request.user.is_staff)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def get_urls(self) -> list[URLPattern]:
        """Add the undo button and the toast, which pages poll, to the admin's own URLs."""
        view = self.admin_site.admin_view
        own = [
            path("<uuid:action_id>/undo/", view(require_POST(self.undo_view)), name="ops_bulkaction_undo"),
            path("<uuid:action_id>/toast/", view(self.toast_view), name="ops_bulkaction_toast"),
        ]
        return [*own, *super().get_urls()]

    def undo_view(self, request: HttpRequest, action_id: Any) -> HttpResponse:
        """Undo the action and redirect to the page with the button."""
        action = self._own(request, action_id)
        try:
            bulk.ask_to_undo(action, member(request), now=timezone.now())
        except MemosError as error:
            messages.error(request, error.message)
        back = request.POST.get("next", "")
        if not url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}):
            back = reverse("admin:memory_memory_changelist")
        return HttpResponseRedirect(back)

    def toast_view(self, request: HttpRequest, action_id: Any) -> HttpResponse:
        """Show the progress of the action."""
        context = {"toast": toast(self._own(request, action_id), now=timezone.now()), "here": request.GET.get("at", "")}
        response = TemplateResponse(request, "admin/memory/toast.html", context)
        response["Cache-Control"] = "no-store"
        return response

    @staticmethod
    def _own(request: HttpRequest, action_id: Any) -> BulkAction:
        rows = BulkAction.objects.filter(pk=action_id, user=member(request))
        action = rows.defer("memory_ids", "changed").first()
        if action is None:
            raise Http404
        return action

    @admin.display(description=gettext_lazy("what"))
    def what(self, action: BulkAction) -> str:
        return outcome(action)

    @admin.display(description=gettext_lazy("progress"))
    def progress(self, action: BulkAction) -> str:
        return f"{action.position:,} / {action.selected:,}"

    @admin.display(description=gettext_lazy("asked for"))
    def shown_parameters(self, action: BulkAction) -> SafeString:
        return pretty_json(action.parameters)

    @admin.display(description=gettext_lazy("left out, and why"))
    def shown_problems(self, action: BulkAction) -> SafeString:
        return pretty_json(action.problems)
