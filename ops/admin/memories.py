"""Lets staff find, correct and curate memories. Every change goes through the services of `memory`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import ShowFacets
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.db.models.functions import Left, Length
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from memory.enums import MemoryState
from memory.errors import MemosError
from memory.models import Memory
from memory.services.index.neighbours import near_memory
from memory.services.memories import edit
from memory.types import ChangeTerms
from ops.access import reads_text, request_id, staff_access
from ops.admin import contradictions, retired
from ops.admin import memory_filters as filters
from ops.admin.bulk import latest
from ops.admin.filters import NamespaceFilter, SessionFilter
from ops.admin.lists import CappedChangeList
from ops.admin.memory_actions import CurationActions, is_uuid
from ops.admin.memory_forms import MemoryForm, ReasonForm
from ops.admin.memory_page import MemoryPage
from ops.admin.picked import PickedFilter
from ops.admin.rendering import EXCERPT_CHARS, excerpt
from ops.admin.saved_views import BuiltIn, SavedViewsMixin
from ops.admin.scope import member, render_mask
from ops.admin.search import Asking, search
from ops.admin.texts import note_opened
from ops.differences import difference

SIMILAR = 8
# Replaces a column or field for users who may not read texts.
HIDDEN = {
    "speaker": "hidden_speaker",
    "former_versions": "hidden_versions",
    "links": "hidden_links",
    "opinions": "hidden_opinions",
}


class MemoryChangeList(CappedChangeList):
    """Fetches the beginning of the texts only, or their lengths for users who may not read them."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet:
        rows = super().get_queryset(request, exclude_parameters)
        # More than is shown is fetched, because white space is folded.
        shown = {"start": Left("text", 2 * EXCERPT_CHARS)} if reads_text(request) else {"characters": Length("text")}
        return rows.defer("text", "terms", "metadata", "content_hash").annotate(**shown)


@admin.register(Memory)
class MemoryAdmin(SavedViewsMixin, MemoryPage, CurationActions):
    """Administers the memories of the namespaces that staff reach, newest first."""

    form = MemoryForm
    list_display = ("start_of_text", "speaker", "session_link", "standing", "weight", "when")
    list_filter = (
        NamespaceFilter, "state", filters.ReviewFilter, filters.HoldsFilter, filters.VectorFilter,
        filters.ExpiryFilter, filters.DuplicateFilter, "pinned", filters.KindFilter, "tier", "role",
        filters.SourceFilter, filters.ImportanceFilter, filters.TagFilter, SessionFilter, "occurred_at",
        PickedFilter,
    )  # fmt: skip
    show_facets = ShowFacets.ALLOW
    list_select_related = ("namespace",)
    search_fields = ("text",)
    linked_by = frozenset({"review"})
    search_help_text = gettext_lazy("All of some words · ~ what it means · an exact id · session:NAME · speaker:NAME")
    built_in_views = (
        BuiltIn(gettext_lazy("Needs review"), "review=waiting"),
        BuiltIn(gettext_lazy("Expiring"), "expiry=soon"),
        BuiltIn(gettext_lazy("Without vector"), "vector=missing&state__exact=active"),
        BuiltIn(gettext_lazy("Archived"), "state__exact=archived"),
    )
    readonly_fields = (
        "id", "namespace", "session", "turn", "role", "speaker", "tier", "state", "occurred_at", "created_at",
        "tokens", "length", "vectors", "former_versions", "hidden_text", "hidden_versions", "valid_from", "valid_to",
        "pinned", "review", "links", "summaries", "opinions", "uses", "importance_parts",
        "hidden_speaker", "hidden_links", "hidden_opinions", "preference_shown",
    )  # fmt: skip
    fieldsets = (
        (None, {"fields": ("text", "metadata", "importance", "reason")}),
        (
            gettext_lazy("Where it belongs"),
            {"fields": ("namespace", "session", "turn", "role", "speaker", "tier", "state")},
        ),
        (gettext_lazy("When"), {"fields": ("occurred_at", "created_at", "valid_from", "valid_to")}),
        (gettext_lazy("Standing"), {"fields": ("importance_parts", "uses", "opinions", "pinned", "review")}),
        (gettext_lazy("Links"), {"fields": ("links", "summaries")}),
        (gettext_lazy("Former versions"), {"fields": ("former_versions",)}),
        (gettext_lazy("Index"), {"fields": ("id", "tokens", "length", "vectors")}),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        return False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[MemoryChangeList]:
        return MemoryChangeList

    def get_urls(self) -> list[URLPattern]:
        """Add the contradictions, and the part of a page that shows similar memories, to the admin's own URLs."""
        view = self.admin_site.admin_view
        own = [
            path("contradictions/", view(self.contradictions_view), name="memory_memory_contradictions"),
            path("<path:object_id>/hold/", view(require_POST(self.hold_view)), name="memory_memory_hold"),
            path("<path:object_id>/similar/", view(self.similar_view), name="memory_memory_similar"),
        ]
        return [*own, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Add the result of the user's latest bulk action."""
        toast = latest(member(request), now=timezone.now()) if request.method == "GET" else None
        return super().changelist_view(request, {"toast": toast, **(extra_context or {})})

    def contradictions_view(self, request: HttpRequest) -> HttpResponse:
        """Show one pair after the other."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {**self.admin_site.each_context(request), "opts": self.opts}
        response = contradictions.review(request, context, may_decide=self.has_change_permission(request))
        response["Cache-Control"] = "no-store"
        return response

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return [HIDDEN.get(str(name), name) if not reads_text(request) else name for name in self.list_display]

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        """Hide the filter by tags from users who may not read metadata: it would reveal which tags exist."""
        return [one for one in self.list_filter if one is not filters.TagFilter or reads_text(request)]

    def get_form(self, request: HttpRequest, obj: Memory | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Omit the text field for users who may not read the text."""
        if not reads_text(request):
            kwargs["form"] = ReasonForm
        return super().get_form(request, obj, change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Memory | None = None) -> Any:
        """Omit the reason for users who may only look, and the text, former text and metadata for users who may not
        read."""
        first: Sequence[str] = ("text", "metadata") if reads_text(request) else ("hidden_text",)
        reason = ("reason",) if self.has_change_permission(request, obj) else ()
        preference = ("preference_shown",) if obj is not None and obj.is_preference else ()
        sets: list[Any] = [(None, {"fields": (*first, *preference, "importance", *reason)}), *self.fieldsets[1:]]
        if reads_text(request):
            return sets
        return [
            (title, {**options, "fields": tuple(HIDDEN.get(name, name) for name in options["fields"])})
            for title, options in sets
        ]

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        """Search by words, meaning, id, session or speaker, inside the namespaces that the list is filtered by."""
        if not search_term.strip():
            return queryset, False
        asking = Asking(
            access=staff_access(request),
            namespace=request.GET.get("namespace", "").strip(),
            archived=request.GET.get("state__exact") == MemoryState.ARCHIVED,
            by_text=reads_text(request),
            now=timezone.now(),
        )
        found = search(queryset, search_term, asking)
        if found.note and request.method == "GET":
            messages.info(request, found.note)
        return found.rows, False

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Skip the admin's own transaction: the service embeds before it opens one.

        Adds the parts of the memory that no longer hold.
        """
        memory = self.get_object(request, unquote(object_id)) if object_id and is_uuid(unquote(object_id)) else None
        extra_context = {**(extra_context or {}), "retired": retired.parts(request, memory) if memory else None}
        response: HttpResponse = self._changeform_view(request, object_id, form_url, extra_context)  # type: ignore[attr-defined]
        note_opened(request, response, "memory")
        return response

    def save_model(self, request: HttpRequest, obj: Memory, form: forms.ModelForm, change: bool) -> None:
        edit.edit(
            staff_access(request),
            memory_id=obj.pk,
            text=form.cleaned_data.get("text"),
            metadata=form.cleaned_data.get("metadata"),
            importance=form.cleaned_data["importance"],
            reason=form.cleaned_data["reason"],
            now=timezone.now(),
            terms=ChangeTerms(request_id=request_id(request)),
        )

    def hold_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Restore what a newer memory retired of this one, all of it or one part."""
        memory = self.get_object(request, unquote(object_id)) if is_uuid(object_id) else None
        if memory is None:
            raise Http404
        if not self.has_change_permission(request, memory):
            raise PermissionDenied
        return retired.hold(request, memory)

    def similar_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the memories nearest to one, which its page loads when it is looked at."""
        memory = self.get_object(request, unquote(object_id)) if is_uuid(object_id) else None
        if memory is None or not self.has_view_permission(request, memory):
            raise Http404
        readable = reads_text(request)
        try:
            found = near_memory(staff_access(request), memory_id=memory.pk, limit=SIMILAR, now=timezone.now())
            problem = ""
        except MemosError as error:
            found, problem = [], error.message
        rows = [
            {
                "memory": near.memory,
                "score": f"{near.score:.2f}",
                "text": difference(memory.text, near.memory.text) if readable else render_mask(len(near.memory.text)),
            }
            for near in found
        ]
        context = {
            "rows": rows,
            "problem": problem,
            "memory": memory,
            "readable": readable,
            "may_merge": self.has_change_permission(request, memory),
        }
        response = TemplateResponse(request, "admin/memory/memory/similar.html", context)
        response["Cache-Control"] = "no-store"
        return response

    @admin.display(description=gettext_lazy("text"))
    def start_of_text(self, memory: Memory) -> str:
        if hasattr(memory, "characters"):
            return render_mask(memory.characters)
        return excerpt(memory.start)  # type: ignore[attr-defined]

    @admin.display(description=gettext_lazy("session, namespace"))
    def session_link(self, memory: Memory) -> SafeString:
        query = urlencode({"namespace": memory.namespace.name, "session": memory.session})
        return format_html(
            '<a href="?{}">{}</a><div class="mos-quiet">{}</div>', query, memory.session, memory.namespace.name
        )

    @admin.display(description=gettext_lazy("importance"))
    def weight(self, memory: Memory) -> SafeString:
        """Show the importance with its name, which the head of the column says where there is one."""
        return format_html('<span class="mos-cell-name">{} </span>{}', _("importance"), f"{memory.importance:.2f}")

    @admin.display(description=gettext_lazy("state"))
    def standing(self, memory: Memory) -> SafeString:
        """Show its state and its other flags, in words with a mark each."""
        shown = [("ok", "●", _("active")) if memory.state == MemoryState.ACTIVE else ("off", "○", _("archived"))]
        if memory.superseded_by is not None:
            shown.append(("off", "⤳", _("superseded")))
        if parts := retired.count_words(memory):
            shown.append(("off", "⤳", parts))
        if memory.pinned:
            shown.append(("ok", "⚑", _("pinned")))
        if memory.review:
            shown.append(("weak", "!", memory.get_review_display()))
        return format_html_join(
            " ", '<span class="mos-flag mos-flag-{}"><span aria-hidden="true">{}</span> {}</span>', shown
        )

    @admin.display(description=gettext_lazy("occurred (UTC)"))
    def when(self, memory: Memory) -> SafeString | str:
        """Show when it happened, and when MemOS learned it if that was later."""
        occurred, learned = f"{memory.occurred_at:%Y-%m-%d %H:%M}", f"{memory.created_at:%Y-%m-%d %H:%M}"
        if occurred == learned:
            return occurred
        return format_html('{}<div class="mos-quiet">{}</div>', occurred, _("learned %(when)s") % {"when": learned})
