"""Shows the records that MemOS wrote, read-only: summaries, packs, calls of models, files, bulk changes, events."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import AuditEvent
from memory.models import AuditLog, BulkChange, Condensation, ContextPack, DocumentFile, ModelCall
from memory.models.keys import id_after
from ops.access import mask_details, reads_text
from ops.admin.filters import ActorFilter, NamespaceFilter, SessionFilter, TypedFilter
from ops.admin.lists import ReadOnlyAdmin
from ops.admin.rendering import card, excerpt, pretty_json
from ops.admin.scope import render_mask, render_mask_box
from ops.admin.texts import TextAdmin

# The end of an id distinguishes events; the whole of it is on the event's page.
ID_CHARS = 36
SHOWN_OF_ID = 12
UUID_OF_TIME = 7
WITHIN = timedelta(days=1)


@admin.register(Condensation)
class CondensationAdmin(TextAdmin):
    """Lists every version of every session's summary."""

    what = "summary"
    hidden = {"shown_card": "hidden_card"}

    list_display = ("session", "number", "namespace", "trigger_reason", "method", "tokens", "created_at")
    list_filter = (NamespaceFilter, SessionFilter, "trigger_reason", "created_at")
    list_select_related = ("namespace",)
    fields = ("namespace", "session", "number", "shown_card", "tokens", "tokenizer", "trigger_reason", "trigger",
              "covers_to_turn", "method", "version", "id", "created_at")  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).defer("condensed_text", "item_sources", "source_memory_ids")

    @admin.display(description=gettext_lazy("tokens"))
    def tokens(self, row: Condensation) -> str:
        share = f" ({row.token_condensed / row.token_original:.0%})" if row.token_original else ""
        return f"{row.token_original:,} → {row.token_condensed:,}{share}"

    @admin.display(description=gettext_lazy("card"))
    def shown_card(self, row: Condensation) -> SafeString:
        return card(row.condensed_text, row.item_sources)

    @admin.display(description=gettext_lazy("card"))
    def hidden_card(self, row: Condensation) -> SafeString:
        return render_mask_box(len(row.condensed_text))

    @admin.display(description=gettext_lazy("trigger details"))
    def trigger(self, row: Condensation) -> SafeString:
        return pretty_json(row.trigger_details)


@admin.register(ContextPack)
class ContextPackAdmin(TextAdmin):
    """Lists the packs that were returned to agents."""

    what = "pack"
    hidden = {"question": "hidden_question", "query_text": "hidden_question", "shown_pack": "hidden_pack"}

    list_display = (
        "question",
        "session",
        "namespace",
        "retrieved_count",
        "token_original",
        "token_condensed",
        "created_at",
    )
    list_filter = (NamespaceFilter, SessionFilter, "created_at")
    list_select_related = ("namespace",)
    fields = ("namespace", "session", "query_text", "retrieved_count", "token_original", "token_condensed",
              "session_summary_id", "id", "created_at", "shown_pack")  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).defer("pack")

    @admin.display(description=gettext_lazy("question"))
    def question(self, row: ContextPack) -> str:
        return excerpt(row.query_text)

    @admin.display(description=gettext_lazy("question"))
    def hidden_question(self, row: ContextPack) -> str:
        return render_mask(len(row.query_text))

    @admin.display(description=gettext_lazy("pack"))
    def hidden_pack(self, row: ContextPack) -> SafeString:
        return render_mask_box(len(json.dumps(row.pack, ensure_ascii=False)))

    @admin.display(description=gettext_lazy("pack"))
    def shown_pack(self, row: ContextPack) -> SafeString:
        return pretty_json(row.pack)


@admin.register(ModelCall)
class ModelCallAdmin(ReadOnlyAdmin):
    """Lists calls of models over the network: what each took and cost."""

    list_display = ("at", "purpose", "provider", "model", "status", "prompt_tokens", "completion_tokens", "cost")
    list_filter = (NamespaceFilter, "status", "at")
    list_select_related = ("key",)
    fields = ("at", "namespace_id", "key", "purpose", "kind", "provider", "model", "status", "prompt_tokens",
              "cached_tokens", "activation_tokens", "completion_tokens", "estimated", "cost", "price_source",
              "price_date", "ttft_ms", "duration_ms", "request_id", "id")  # fmt: skip


@admin.register(DocumentFile)
class DocumentFileAdmin(TextAdmin):
    """Lists files that were given as documents, and the outcome of each."""

    what = "document"
    hidden = {"name": "masked", "title": "masked", "source": "masked", "document_id": "masked",
              "shown_metadata": "masked"}  # fmt: skip
    list_display = ("name", "type", "namespace_id", "document_id", "document_version", "refusal", "size", "created_at",
                    "finished_at")  # fmt: skip
    list_filter = ("type", "refusal", NamespaceFilter, ActorFilter, "created_at")
    fields = ("name", "type", "size", "namespace_id", "document_id", "document_version", "title", "source", "session",
              "shown_metadata", "keep_original", "parser", "pages", "tables", "characters", "chunks", "seconds",
              "peak_bytes", "verdict", "refusal", "problem", "actor", "created_at", "asked_at", "finished_at",
              "id")  # fmt: skip

    @admin.display(description=gettext_lazy("metadata"))
    def shown_metadata(self, file: DocumentFile) -> SafeString:
        return pretty_json(file.metadata)

    @admin.display(description=gettext_lazy("masked"))
    def masked(self, file: DocumentFile) -> str:
        return render_mask(len(file.name))


@admin.register(BulkChange)
class BulkChangeAdmin(ReadOnlyAdmin):
    """Lists changes that clients asked for of many memories at once, and their outcomes."""

    list_display = ("verb", "namespace_id", "matched", "changed", "unchanged", "refused", "actor", "created_at",
                    "finished_at")  # fmt: skip
    list_filter = ("verb", NamespaceFilter, ActorFilter, "created_at")
    fields = ("verb", "namespace_id", "matched", "changed", "unchanged", "refused", "shown_refusals", "shown_wanted",
              "actor", "created_at", "finished_at", "events", "id")  # fmt: skip

    def get_fields(self, request: HttpRequest, obj: BulkChange | None = None) -> Any:
        """Mask the reason and the new values, which people typed, for users who may not read texts."""
        return [
            "masked_wanted" if name == "shown_wanted" and not reads_text(request) else str(name) for name in self.fields
        ]

    @admin.display(description=gettext_lazy("refusals"))
    def shown_refusals(self, change: BulkChange) -> SafeString:
        return pretty_json(change.refusals)

    @admin.display(description=gettext_lazy("wanted"))
    def shown_wanted(self, change: BulkChange) -> SafeString:
        return pretty_json(change.wanted)

    @admin.display(description=gettext_lazy("wanted"))
    def masked_wanted(self, change: BulkChange) -> SafeString:
        return render_mask_box(len(json.dumps(change.wanted, ensure_ascii=False))) if change.wanted else pretty_json({})

    @admin.display(description=gettext_lazy("events"))
    def events(self, change: BulkChange) -> SafeString:
        address = reverse("admin:memory_auditlog_changelist")
        return format_html('<a href="{}?request_id={}">{}</a>', address, change.pk, _("What was changed"))


class EventFilter(admin.SimpleListFilter):
    """Filters by one kind of event."""

    title = gettext_lazy("event")
    parameter_name = "event_type"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(event.value, event.value) for event in AuditEvent]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset.filter(event_type=self.value()) if self.value() else queryset


class RequestFilter(TypedFilter):
    """Filters the events of one request or one bulk action, by its id."""

    title = gettext_lazy("request")
    parameter_name = "request_id"
    placeholder = gettext_lazy("request id")

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if not self.value:
            return queryset
        rows = queryset.filter(request_id=self.value)
        try:
            identity = uuid.UUID(self.value)
        except ValueError:
            return rows
        # Ids begin with their time, and no index holds requests: the events of a request lie within a day of its id.
        if identity.version == UUID_OF_TIME:
            rows = rows.filter(pk__gte=id_after(identity, -timedelta(minutes=1)), pk__lt=id_after(identity, WITHIN))
        return rows


@admin.register(AuditLog)
class AuditLogAdmin(ReadOnlyAdmin):
    """Lists the audit log. The database itself refuses to change it."""

    def get_fields(self, request: HttpRequest, obj: AuditLog | None = None) -> Any:
        """Mask text that people typed for users who may not read texts."""
        return [
            "masked_details" if name == "shown_details" and not reads_text(request) else str(name)
            for name in self.fields
        ]

    list_display = ("when", "event_type", "actor", "namespace", "session", "about")
    list_filter = (EventFilter, NamespaceFilter, SessionFilter, ActorFilter, RequestFilter, "created_at")
    fields = (
        "created_at",
        "event_type",
        "actor",
        "namespace",
        "session",
        "subject",
        "shown_details",
        "request_id",
        "id",
    )

    @admin.display(description=gettext_lazy("when (UTC)"))
    def when(self, event: AuditLog) -> str:
        return f"{event.created_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description=gettext_lazy("subject"))
    def about(self, event: AuditLog) -> str:
        return f"…{event.subject[-SHOWN_OF_ID:]}" if len(event.subject) == ID_CHARS else event.subject

    @admin.display(description=gettext_lazy("details"))
    def shown_details(self, event: AuditLog) -> SafeString:
        return pretty_json(event.details)

    @admin.display(description=gettext_lazy("details"))
    def masked_details(self, event: AuditLog) -> SafeString:
        return pretty_json(mask_details(event.details))
