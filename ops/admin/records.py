"""What MemOS wrote down itself, to be read only: summaries, context packs, audit events."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from memory.enums import AuditEvent
from memory.models import AuditLog, Condensation, ContextPack
from ops.admin.lists import ActorFilter, NamespaceFilter, ReadOnlyAdmin, SessionFilter
from ops.admin.rendering import card, excerpt, pretty_json

# The end of an id tells events apart; the whole of it is on the event's page.
ID_CHARS = 36
SHOWN_OF_ID = 12


@admin.register(Condensation)
class CondensationAdmin(ReadOnlyAdmin):
    """Every version of every session's summary."""

    list_display = ("session", "number", "namespace", "trigger_reason", "method", "tokens", "created_at")
    list_filter = (NamespaceFilter, SessionFilter, "trigger_reason", "created_at")
    list_select_related = ("namespace",)
    fields = ("namespace", "session", "number", "shown_card", "tokens", "tokenizer", "trigger_reason", "trigger",
              "covers_to_turn", "method", "version", "id", "created_at")  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).defer("condensed_text", "item_sources", "source_memory_ids")

    @admin.display(description="tokens")
    def tokens(self, row: Condensation) -> str:
        saved = row.token_original - row.token_condensed
        share = f" ({row.token_condensed / row.token_original:.0%})" if row.token_original else ""
        change = f"saves {saved:,}" if saved >= 0 else f"costs {-saved:,} more"
        return f"{row.token_original:,} → {row.token_condensed:,}{share}, {change}"

    @admin.display(description="card")
    def shown_card(self, row: Condensation) -> SafeString:
        return card(row.condensed_text, row.item_sources)

    @admin.display(description="trigger details")
    def trigger(self, row: Condensation) -> SafeString:
        return pretty_json(row.trigger_details)


@admin.register(ContextPack)
class ContextPackAdmin(ReadOnlyAdmin):
    """What was handed to agents."""

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

    @admin.display(description="question")
    def question(self, row: ContextPack) -> str:
        return excerpt(row.query_text)

    @admin.display(description="pack")
    def shown_pack(self, row: ContextPack) -> SafeString:
        return pretty_json(row.pack)


class EventFilter(admin.SimpleListFilter):
    """One kind of event."""

    title = "event"
    parameter_name = "event_type"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
        return [(event.value, event.value) for event in AuditEvent]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset.filter(event_type=self.value()) if self.value() else queryset


@admin.register(AuditLog)
class AuditLogAdmin(ReadOnlyAdmin):
    """Who did what. The database itself refuses to change it."""

    list_display = ("when", "event_type", "actor", "namespace", "session", "about")
    list_filter = (EventFilter, NamespaceFilter, SessionFilter, ActorFilter, "created_at")
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

    @admin.display(description="when (UTC)")
    def when(self, event: AuditLog) -> str:
        return f"{event.created_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="subject")
    def about(self, event: AuditLog) -> str:
        return f"…{event.subject[-SHOWN_OF_ID:]}" if len(event.subject) == ID_CHARS else event.subject

    @admin.display(description="details")
    def shown_details(self, event: AuditLog) -> SafeString:
        return pretty_json(event.details)
