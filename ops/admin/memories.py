"""Curation of memories: find, correct, archive, restore. Every change goes through `memory.services.curation`."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memory.enums import MemoryState
from memory.errors import InvalidInput, MemosError
from memory.models import Memory, MemoryVector, MemoryVersion
from memory.services import curation
from memory.services.change import MAX_REASON_CHARS, checked_reason
from memory.types import ChangeTerms
from ops.access import request_id, staff_access
from ops.admin.lists import CappedChangeList, LargeTableAdmin, NamespaceFilter, SessionFilter, namespaces_named
from ops.admin.picked import PickedFilter
from ops.admin.rendering import EXCERPT_CHARS, excerpt, moment
from ops.admin.search import search

# One action changes so many memories; a larger selection is worked through in steps.
MAX_SELECTED = 10_000
SAMPLE = 10
SHOWN_VERSIONS = 20


class MemoryForm(forms.ModelForm):
    """What staff may correct of a memory, and why they do."""

    text = forms.CharField(
        strip=False,
        max_length=curation.MAX_TEXT_CHARS,
        widget=forms.Textarea(attrs={"rows": 8, "class": "vLargeTextField"}),
    )
    metadata = forms.JSONField(required=False, widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}))
    reason = forms.CharField(
        max_length=MAX_REASON_CHARS,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
        help_text="Why you change it: kept with the former text and in the audit log.",
    )

    class Meta:
        model = Memory
        fields = ("text", "metadata", "importance")

    def clean_text(self) -> str:
        """The text with the line breaks it had: browsers send CR LF for each."""
        text: str = self.cleaned_data["text"]
        if "\r\n" not in self.instance.text:
            text = text.replace("\r\n", "\n")
        try:
            return curation.checked_text(text)
        except InvalidInput as error:
            raise ValidationError(error.message) from error

    def clean_metadata(self) -> dict[str, Any]:
        """A JSON object; an emptied field is an empty one."""
        metadata = self.cleaned_data["metadata"]
        if metadata is None:
            return {}
        if not isinstance(metadata, dict):
            raise ValidationError("Metadata is a JSON object.")
        try:
            return curation.checked_metadata(metadata)
        except InvalidInput as error:
            raise ValidationError(error.message) from error

    def clean_reason(self) -> str:
        try:
            return checked_reason(self.cleaned_data["reason"])
        except InvalidInput as error:
            raise ValidationError(error.message) from error


class CurationForm(forms.Form):
    """The confirmation of a bulk action: which memories, and why."""

    ids = forms.CharField(widget=forms.HiddenInput)
    reason = forms.CharField(
        max_length=MAX_REASON_CHARS, widget=forms.TextInput(attrs={"class": "vTextField", "size": 60})
    )

    def clean_ids(self) -> list[uuid.UUID]:
        try:
            ids = [uuid.UUID(value) for value in self.cleaned_data["ids"].split(",")]
        except ValueError as error:
            raise ValidationError("The selection is damaged: select the memories again.") from error
        if len(ids) > MAX_SELECTED:
            raise ValidationError(f"At most {MAX_SELECTED:,} memories a time.")
        return ids


class MemoryChangeList(CappedChangeList):
    """Fetches the beginning of the texts only."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet:
        rows = super().get_queryset(request, exclude_parameters)
        # A little more than is shown, for white space is folded.
        return rows.defer("text", "terms", "metadata", "content_hash").annotate(start=Left("text", 2 * EXCERPT_CHARS))


@admin.register(Memory)
class MemoryAdmin(LargeTableAdmin):
    """Memories of every namespace, newest first."""

    form = MemoryForm
    list_display = ("start_of_text", "speaker", "session_link", "namespace", "state", "when")
    list_filter = (NamespaceFilter, "state", "role", SessionFilter, "occurred_at", PickedFilter)
    list_select_related = ("namespace",)
    search_fields = ("text",)
    search_help_text = "All of some words · an exact id · session:NAME · speaker:NAME"
    actions = ("archive_selected", "restore_selected")
    readonly_fields = (
        "id", "namespace", "session", "turn", "role", "speaker", "tier", "state", "occurred_at", "created_at",
        "tokens", "length", "vectors", "former_versions",
    )  # fmt: skip
    fieldsets = (
        (None, {"fields": ("text", "metadata", "importance", "reason")}),
        ("Where it belongs", {"fields": ("namespace", "session", "turn", "role", "speaker", "tier", "state")}),
        ("When", {"fields": ("occurred_at", "created_at")}),
        ("Index", {"fields": ("id", "tokens", "length", "vectors")}),
        ("Former versions", {"fields": ("former_versions",)}),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Memory | None = None) -> bool:
        return False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[MemoryChangeList]:
        return MemoryChangeList

    def get_fieldsets(self, request: HttpRequest, obj: Memory | None = None) -> Any:
        """Who may only look is not asked for a reason."""
        if self.has_change_permission(request, obj):
            return self.fieldsets
        return ((None, {"fields": ("text", "metadata", "importance")}), *self.fieldsets[1:])

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        """Searches by words, id, session or speaker, inside the namespace that the list is filtered by."""
        if not search_term.strip():
            return queryset, False
        found = search(
            queryset,
            search_term,
            namespace_ids=namespaces_named(request.GET.get("namespace", "").strip()),
            archived=request.GET.get("state__exact") == MemoryState.ARCHIVED,
        )
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
        """Without the admin's own transaction: the service embeds before it opens one."""
        return self._changeform_view(request, object_id, form_url, extra_context)  # type: ignore[attr-defined]

    def save_model(self, request: HttpRequest, obj: Memory, form: forms.ModelForm, change: bool) -> None:
        curation.edit(
            staff_access(request),
            memory_id=obj.pk,
            text=form.cleaned_data["text"],
            metadata=form.cleaned_data["metadata"],
            importance=form.cleaned_data["importance"],
            reason=form.cleaned_data["reason"],
            now=timezone.now(),
            terms=ChangeTerms(request_id=request_id(request)),
        )

    @admin.action(description="Archive: take out of retrieval", permissions=["change"])
    def archive_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse:
        """Asks why, then archives."""
        return self._curate(request, queryset, action="archive_selected")

    @admin.action(description="Restore: bring back into retrieval", permissions=["change"])
    def restore_selected(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse:
        """Asks why, then restores."""
        return self._curate(request, queryset, action="restore_selected")

    def _curate(self, request: HttpRequest, queryset: QuerySet, *, action: str) -> HttpResponse:
        verb, done = (curation.archive, "archived") if action == "archive_selected" else (curation.restore, "restored")
        if "confirmed" in request.POST:
            form = CurationForm(request.POST)
            if form.is_valid():
                try:
                    count = verb(
                        staff_access(request),
                        memory_ids=form.cleaned_data["ids"],
                        reason=form.cleaned_data["reason"],
                        now=timezone.now(),
                        request_id=request_id(request),
                    )
                except MemosError as error:
                    messages.error(request, error.message)
                else:
                    messages.success(request, _outcome(count, len(set(form.cleaned_data["ids"])), done))
                return HttpResponseRedirect(request.get_full_path())
            ids = [value for value in request.POST.get("ids", "").split(",") if _is_uuid(value)][:MAX_SELECTED]
            left_out = False
        else:
            ids = [str(pk) for pk in queryset.order_by("-pk").values_list("pk", flat=True)[: MAX_SELECTED + 1]]
            left_out = len(ids) > MAX_SELECTED
            ids = ids[:MAX_SELECTED]
            form = CurationForm(initial={"ids": ",".join(ids)})
        if not ids:
            messages.warning(request, "None of the selected memories is in this list any more.")
            return HttpResponseRedirect(request.get_full_path())
        selected = Memory.objects.filter(pk__in=ids)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{'Archive' if done == 'archived' else 'Restore'} memories",
            "opts": self.opts,
            "form": form,
            "action": action,
            "archiving": done == "archived",
            "first_id": ids[0],
            "count": len(ids),
            "left_out": left_out,
            "states": list(selected.values_list("state").annotate(Count("pk")).order_by("state")),
            "sample": [
                (row.speaker or row.role, excerpt(row.start))  # type: ignore[attr-defined]
                for row in selected.annotate(start=Left("text", 2 * EXCERPT_CHARS))
                .only("speaker", "role")
                .order_by("-pk")[:SAMPLE]
            ],
            "more": max(0, len(ids) - SAMPLE),
        }
        return TemplateResponse(request, "admin/memory/memory/curate.html", context)

    @admin.display(description="text")
    def start_of_text(self, memory: Memory) -> str:
        return excerpt(memory.start)  # type: ignore[attr-defined]

    @admin.display(description="session")
    def session_link(self, memory: Memory) -> SafeString:
        query = urlencode({"namespace": memory.namespace.name, "session": memory.session})
        return format_html('<a href="?{}">{}</a>', query, memory.session)

    @admin.display(description="occurred (UTC)")
    def when(self, memory: Memory) -> SafeString | str:
        """When it happened, and when MemOS learned it if that was later."""
        occurred, learned = f"{memory.occurred_at:%Y-%m-%d %H:%M}", f"{memory.created_at:%Y-%m-%d %H:%M}"
        if occurred == learned:
            return occurred
        return format_html('{}<div class="mos-quiet">learned {}</div>', occurred, learned)

    @admin.display(description="vectors")
    def vectors(self, memory: Memory) -> SafeString | str:
        rows = MemoryVector.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk).select_related(
            "model"
        )
        passages = Counter((str(row.model), row.searchable) for row in rows.defer("embedding"))
        lines = [
            (model, "searchable" if searchable else "not searchable", f", {count} passages" if count > 1 else "")
            for (model, searchable), count in passages.items()
        ]
        return format_html_join("", "<div>{}: {}{}</div>", lines) or "none yet: the worker makes it"

    @admin.display(description="newest first")
    def former_versions(self, memory: Memory) -> SafeString | str:
        rows = MemoryVersion.objects.filter(namespace_id=memory.namespace_id, memory_id=memory.pk)[:SHOWN_VERSIONS]
        lines = [(moment(row.replaced_at), row.actor, row.reason, row.text) for row in rows]
        if not lines:
            return "none: it was never changed"
        return format_html(
            '<div class="mos-scroll"><table class="mos-versions"><thead><tr><th>Replaced</th><th>By</th><th>Why</th>'
            "<th>Former text</th></tr></thead><tbody>{}</tbody></table></div>",
            format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td><td><pre>{}</pre></td></tr>", lines),
        )


def _outcome(count: int, selected: int, done: str) -> str:
    noun = "memory was" if count == 1 else "memories were"
    rest = "" if count == selected else f" ({selected - count:,} of the selection already were, or are gone)"
    return f"{count:,} {noun} {done}{rest}."


def _is_uuid(value: str) -> bool:
    try:
        uuid.UUID(value)
    except ValueError:
        return False
    return True
