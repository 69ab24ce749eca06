"""Quarantined items, which staff read and then release or discard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.errors import MemosError
from memory.models import QuarantinedItem
from memory.services.ingestion import quarantine
from ops.access import MASK, reads_text, request_id, staff_access
from ops.admin import review
from ops.admin.filters import NamespaceFilter, SessionFilter, TypedFilter
from ops.admin.rendering import EXCERPT_CHARS, excerpt, pretty_json
from ops.admin.saved_views import BuiltIn, SavedViewsMixin
from ops.admin.scope import render_mask, render_mask_box
from ops.admin.texts import TextAdmin

# Limit of items that an action decides. Each of them is decided in a separate transaction.
MAX_SELECTED = 500
SHOWN_PROBLEMS = 5


class RuleFilter(TypedFilter):
    """Filters by the exact name of a rule."""

    title = gettext_lazy("rule")
    parameter_name = "rule"
    placeholder = "injection.override"


class ReviewForm(ActionForm):
    """A decision on items, with a note."""

    note = forms.CharField(label=gettext_lazy("Note"), required=False, max_length=quarantine.MAX_NOTE_CHARS)


@admin.register(QuarantinedItem)
class QuarantineAdmin(SavedViewsMixin, TextAdmin):
    """Turns and documents that await a decision, and decided ones."""

    what = "quarantine"
    hidden = {"shown_text": "hidden_text", "shown_metadata": "hidden_text", "shown_document": "hidden_text",
              "speaker": "hidden_speaker", "note": "hidden_note"}  # fmt: skip
    built_in_views = (
        BuiltIn(gettext_lazy("Waiting"), "state__exact=pending"),
        BuiltIn(gettext_lazy("Released"), "state__exact=released"),
        BuiltIn(gettext_lazy("Discarded"), "state__exact=discarded"),
    )

    list_display = ("start_of_text", "rule", "state", "namespace", "session", "reviewer", "created_at")
    list_filter = ("state", NamespaceFilter, SessionFilter, RuleFilter, "created_at")
    list_select_related = ("namespace",)
    actions = ("release_selected", "discard_selected")
    action_form = ReviewForm
    fields = ("state", "rule", "shown_text", "shown_reasons", "shown_metadata", "shown_document", "namespace",
              "session", "role", "speaker", "confidence", "characters", "occurred_at", "created_at", "reviewer", "note",
              "reviewed_at", "id")  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        rows = super().get_queryset(request)
        return rows.annotate(start=Left("text", 2 * EXCERPT_CHARS)) if reads_text(request) else rows

    def get_urls(self) -> list[URLPattern]:
        """Add the review queue to the admin's own URLs."""
        own = path("review/", self.admin_site.admin_view(self.review_view), name="memory_quarantineditem_review")
        return [own, *super().get_urls()]

    def review_view(self, request: HttpRequest) -> HttpResponse:
        """Show one item after the other."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {**self.admin_site.each_context(request), "opts": self.opts}
        response = review.review(request, context, may_decide=self.has_review_permission(request))
        response["Cache-Control"] = "no-store"
        return response

    def has_review_permission(self, request: HttpRequest) -> bool:
        """Allow decisions to users who may change items."""
        return request.user.has_perm("memory.change_quarantineditem")

    @admin.action(description=gettext_lazy("Release: remember it after all"), permissions=["review"])
    def release_selected(self, request: HttpRequest, queryset: QuerySet) -> None:
        """Release the items as memories."""
        decided = self._decide(request, queryset, quarantine.release, _("%(n)s not released: %(why)s"))
        if decided:
            said = ngettext("%(n)s item was released.", "%(n)s items were released.", decided)
            messages.success(request, said % {"n": f"{decided:,}"})

    @admin.action(description=gettext_lazy("Discard: delete its text"), permissions=["review"])
    def discard_selected(self, request: HttpRequest, queryset: QuerySet) -> None:
        """Discard the items by emptying them."""
        decided = self._decide(request, queryset, quarantine.discard, _("%(n)s not discarded: %(why)s"))
        if decided:
            said = ngettext("%(n)s item was discarded.", "%(n)s items were discarded.", decided)
            messages.success(request, said % {"n": f"{decided:,}"})

    def _decide(self, request: HttpRequest, queryset: QuerySet, verb: Callable[..., Any], refused: str) -> int:
        """Apply the decision and return how many items it was applied to. `refused` is the message for the others."""
        decided = 0
        problems: Counter[str] = Counter()
        # The oldest come first, so that released turns keep their order.
        for identity in queryset.order_by("pk").values_list("pk", flat=True)[:MAX_SELECTED]:
            try:
                verb(
                    staff_access(request),
                    item_id=identity,
                    note=request.POST.get("note", ""),
                    now=timezone.now(),
                    request_id=request_id(request),
                )
                decided += 1
            except MemosError as error:
                problems[error.message] += 1
        for message, count in problems.most_common(SHOWN_PROBLEMS):
            messages.error(request, refused % {"n": f"{count:,}", "why": message})
        return decided

    @admin.display(description=gettext_lazy("text"))
    def start_of_text(self, item: QuarantinedItem) -> str:
        if not hasattr(item, "start"):
            return render_mask(len(item.text))
        return excerpt(item.start) or _("(emptied)")

    @admin.display(description=gettext_lazy("text"))
    def hidden_text(self, item: QuarantinedItem) -> SafeString:
        return render_mask_box(len(item.text))

    @admin.display(description=gettext_lazy("speaker"))
    def hidden_speaker(self, item: QuarantinedItem) -> str:
        return MASK if item.speaker else "—"

    @admin.display(description=gettext_lazy("note"))
    def hidden_note(self, item: QuarantinedItem) -> str:
        return MASK if item.note else "—"

    @admin.display(description=gettext_lazy("text"))
    def shown_text(self, item: QuarantinedItem) -> SafeString:
        return format_html('<pre class="mos-json" tabindex="0">{}</pre>', item.text or _("(emptied)"))

    @admin.display(description=gettext_lazy("reasons"))
    def shown_reasons(self, item: QuarantinedItem) -> SafeString:
        return pretty_json(item.reasons)

    @admin.display(description=gettext_lazy("metadata"))
    def shown_metadata(self, item: QuarantinedItem) -> SafeString:
        return pretty_json(item.metadata)

    @admin.display(description=gettext_lazy("document"))
    def shown_document(self, item: QuarantinedItem) -> SafeString | str:
        return pretty_json(item.document) if item.document else _("none: it is a turn")
