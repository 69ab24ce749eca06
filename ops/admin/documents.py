"""Documents, read-only. The page Documents and the API add, re-parse and erase them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.models import Document
from ops.access import MASK
from ops.admin.filters import NamespaceFilter, SessionFilter
from ops.admin.rendering import pretty_json
from ops.admin.scope import render_mask
from ops.admin.texts import TextAdmin


@admin.register(Document)
class DocumentAdmin(TextAdmin):
    """Documents in their current version; their chunks are memories. Names from clients are masked like texts."""

    what = "document"
    hidden = {"document_id": "masked_id", "title": "masked_title", "source": "masked_source",
              "shown_metadata": "masked_metadata"}  # fmt: skip
    list_display = ("document_id", "title", "namespace", "session", "version", "format", "characters", "updated_at")
    list_filter = (NamespaceFilter, SessionFilter, "format", "updated_at")
    list_select_related = ("namespace",)
    fields = ("document_id", "title", "source", "namespace", "session", "version", "format", "characters",
              "shown_metadata", "occurred_at", "created_at", "updated_at", "page", "id")  # fmt: skip

    @admin.display(description=gettext_lazy("metadata"))
    def shown_metadata(self, row: Document) -> SafeString:
        return pretty_json(row.metadata)

    @admin.display(description=gettext_lazy("document id"))
    def masked_id(self, row: Document) -> str:
        return render_mask(len(row.document_id))

    @admin.display(description=gettext_lazy("title"))
    def masked_title(self, row: Document) -> str:
        return _mask(row.title)

    @admin.display(description=gettext_lazy("source"))
    def masked_source(self, row: Document) -> str:
        return _mask(row.source)

    @admin.display(description=gettext_lazy("metadata"))
    def masked_metadata(self, row: Document) -> str:
        return _mask(row.metadata)

    @admin.display(description=gettext_lazy("page"))
    def page(self, row: Document) -> SafeString:
        return format_html('<a href="{}">{}</a>', reverse("ops:document", args=[row.pk]), _("In the console"))


def _mask(value: Any) -> str:
    return MASK if value else "—"
