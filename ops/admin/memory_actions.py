"""Bulk actions on memories. Each is confirmed on a separate page and carried out by `ops.bulk`."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.models.functions import Left, Length
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.errors import MemosError
from memory.models import Memory, MemoryLink
from memory.services.erasure import requests
from memory.types import Scope
from ops import bulk
from ops.access import reads_text, request_id, staff_access
from ops.admin import export
from ops.admin.lists import LargeTableAdmin
from ops.admin.memory_forms import CurationForm, EraseForm, MergeForm, TagForm
from ops.admin.rendering import EXCERPT_CHARS, excerpt
from ops.admin.scope import member, render_mask
from ops.models import BulkVerb

MAX_SELECTED = bulk.MAX_SELECTED
MAX_MERGED = 50
SAMPLE = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """The confirmation of a bulk action: its admin action, form, title, and the label of the button."""

    verb: BulkVerb
    action: str
    form: type[CurationForm]
    title: Any
    button: Any
    most: int = bulk.MAX_SELECTED


ASKED = {
    asked.action: asked
    for asked in (
        Asked(BulkVerb.ARCHIVE, "archive_selected", CurationForm, gettext_lazy("Archive memories"),
              gettext_lazy("Archive")),
        Asked(BulkVerb.RESTORE, "restore_selected", CurationForm, gettext_lazy("Restore memories"),
              gettext_lazy("Restore")),
        Asked(BulkVerb.MERGE, "merge_selected", MergeForm, gettext_lazy("Merge memories"), gettext_lazy("Merge"),
              MAX_MERGED),
        Asked(BulkVerb.TAG, "tag_selected", TagForm, gettext_lazy("Tag memories"), gettext_lazy("Tag")),
        Asked(BulkVerb.REEMBED, "reembed_selected", CurationForm, gettext_lazy("Embed memories anew"),
              gettext_lazy("Embed anew")),
        Asked(BulkVerb.ERASE, "erase_selected", EraseForm, gettext_lazy("Erase memories for good"),
              gettext_lazy("Erase for good")),
    )
}  # fmt: skip


class CurationActions(LargeTableAdmin):
    """The bulk actions of the list of memories."""

    actions = (
        *ASKED, "export_csv", "export_json_lines",
    )  # fmt: skip

    def has_erase_permission(self, request: HttpRequest) -> bool:
        return bulk.may(member(request), BulkVerb.ERASE)

    def has_export_permission(self, request: HttpRequest) -> bool:
        """Require the permission to read texts, because the file contains them."""
        return request.user.has_perm("ops.export") and reads_text(request)

    @admin.action(description=gettext_lazy("Archive: take out of retrieval"), permissions=["change"])
    def archive_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse:
        """Ask for a reason, then archive."""
        return self._curate(request, queryset, ASKED["archive_selected"])

    @admin.action(description=gettext_lazy("Restore: bring back into retrieval"), permissions=["change"])
    def restore_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse:
        """Ask for a reason, then restore."""
        return self._curate(request, queryset, ASKED["restore_selected"])

    @admin.action(description=gettext_lazy("Merge: one stays, the others are superseded by it"), permissions=["change"])
    def merge_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse:
        """Ask for the survivor and a reason, then merge."""
        return self._curate(request, queryset, ASKED["merge_selected"])

    @admin.action(description=gettext_lazy("Tag"), permissions=["change"])
    def tag_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse:
        """Ask for tags, then add them."""
        return self._curate(request, queryset, ASKED["tag_selected"])

    @admin.action(description=gettext_lazy("Embed anew"), permissions=["change"])
    def reembed_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse:
        """Ask for a reason, then compute new vectors."""
        return self._curate(request, queryset, ASKED["reembed_selected"])

    @admin.action(description=gettext_lazy("Erase for good, with a receipt"), permissions=["erase"])
    def erase_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse:
        """Show what would be erased, ask for a typed confirmation, then request the erasure."""
        return self._curate(request, queryset, ASKED["erase_selected"])

    @admin.action(description=gettext_lazy("Export as CSV"), permissions=["export"])
    def export_csv(self, request: HttpRequest, queryset: QuerySet) -> HttpResponseBase | None:
        """Export the selection as CSV."""
        return self._export(request, queryset, "csv")

    @admin.action(description=gettext_lazy("Export as JSON lines"), permissions=["export"])
    def export_json_lines(self, request: HttpRequest, queryset: QuerySet) -> HttpResponseBase | None:
        """Export the selection as JSON, one object per line."""
        return self._export(request, queryset, "jsonl")

    def _export(self, request: HttpRequest, queryset: QuerySet, form: str) -> HttpResponseBase | None:
        try:
            return export.export(request, queryset, form)
        except export.TooMany:
            most = f"{export.MAX_ROWS:,}"
            messages.error(request, _("One file holds %(most)s memories: narrow the list first.") % {"most": most})
            return None

    def _curate(self, request: HttpRequest, queryset: QuerySet, asked: Asked) -> HttpResponse:
        most = min(asked.most, MAX_SELECTED)
        left_out = False
        if "confirmed" in request.POST:
            form = asked.form(request.POST)
            if form.is_valid():
                return self._carry_out(request, form, asked)
            ids = [value for value in request.POST.get("ids", "").split(",") if is_uuid(value)][:most]
        else:
            ids = [str(pk) for pk in queryset.order_by("-pk").values_list("pk", flat=True)[: most + 1]]
            left_out = len(ids) > most
            ids = ids[:most]
            form = asked.form(initial={"ids": ",".join(ids)})
        if not ids or (asked.verb == BulkVerb.MERGE and (len(ids) < 2 or left_out)):
            messages.warning(request, self._refusal(asked, most, any_left=bool(ids)))
            return HttpResponseRedirect(request.get_full_path())
        return TemplateResponse(
            request, "admin/memory/memory/curate.html", self._context(request, asked, form, ids, left_out=left_out)
        )

    @staticmethod
    def _refusal(asked: Asked, most: int, *, any_left: bool) -> str:
        if any_left and asked.verb == BulkVerb.MERGE:
            return _("Choose 2 to %(most)s memories to merge.") % {"most": most}
        return _("None of the selected memories is in this list any more.")

    @staticmethod
    def _carry_out(request: HttpRequest, form: CurationForm, asked: Asked) -> HttpResponse:
        try:
            bulk.start(
                member(request),
                verb=asked.verb,
                memory_ids=form.cleaned_data["ids"],
                parameters=form.parameters(),
                now=timezone.now(),
            )
        except MemosError as error:
            messages.error(request, error.message)
        return HttpResponseRedirect(request.get_full_path())

    def _context(
        self, request: HttpRequest, asked: Asked, form: CurationForm, ids: list[str], *, left_out: bool
    ) -> dict[str, Any]:
        access = staff_access(request)
        selected = Memory.objects.reachable_by(access).filter(pk__in=ids)
        shown = ids if asked.verb == BulkVerb.MERGE else ids[:SAMPLE]
        return {
            **self.admin_site.each_context(request),
            "title": asked.title,
            "opts": self.opts,
            "form": form,
            "action": asked.action,
            "verb": asked.verb.value,
            "button": asked.button,
            "first_id": ids[0],
            "count": len(ids),
            "left_out": left_out,
            "later": len(ids) > bulk.INLINE,
            "states": list(selected.values_list("state").annotate(Count("pk")).order_by("state")),
            "sample": _sample(selected.filter(pk__in=shown), readable=reads_text(request)),
            "more": max(0, len(ids) - len(shown)),
            "erasures": self._erasures(request, selected) if asked.verb == BulkVerb.ERASE else None,
        }

    @staticmethod
    def _erasures(request: HttpRequest, selected: QuerySet) -> list[dict[str, Any]]:
        """Preview the erasure in each namespace, or say why it would be refused."""
        access, found = staff_access(request), []
        of_namespace: dict[tuple[int, str], list[uuid.UUID]] = {}
        for namespace_id, name, pk in selected.values_list("namespace_id", "namespace__name", "pk"):
            of_namespace.setdefault((namespace_id, name), []).append(pk)
        for (namespace_id, name), ids in sorted(of_namespace.items(), key=lambda entry: entry[0][1]):
            scope = Scope(namespace_id, name, access.actor, request_id(request))
            target = requests.Target(memory_ids=tuple(ids))
            try:
                receipt = requests.preview(scope, target=target, reason="preview", now=timezone.now())
            except MemosError as error:
                found.append({"namespace": name, "problem": error.message})
            else:
                found.append({"namespace": name, "found": receipt["found"], "documents": receipt["documents"]})
        return found


def _sample(rows: QuerySet, *, readable: bool) -> list[dict[str, Any]]:
    """Return the selected memories for the confirmation, newest first, masked for users who may not read texts."""
    replaced = MemoryLink.objects.filter(namespace_id=OuterRef("namespace_id"), memory_id=OuterRef("pk"))
    text = {"start": Left("text", 3 * EXCERPT_CHARS)} if readable else {}
    columns = ("speaker", "role", "session", "occurred_at", "importance", "pinned", "state", "superseded_by")
    found = rows.annotate(characters=Length("text"), stands_for=Exists(replaced), **text).only(*columns).order_by("-pk")
    return [
        {
            "id": str(row.pk),
            "who": (row.speaker if readable else "") or row.role,
            "text": excerpt(row.start) if readable else render_mask(row.characters),
            "row": row,
        }
        for row in found
    ]


def is_uuid(value: str) -> bool:
    """Return whether the value is a UUID."""
    try:
        uuid.UUID(value)
    except ValueError:
        return False
    return True
