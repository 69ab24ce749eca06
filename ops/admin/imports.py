"""Imports, read-only. The page Imports and the API start and cancel them."""

from __future__ import annotations

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.models import MemoryImport
from ops.access import MASK
from ops.admin.filters import ActorFilter, NamespaceFilter
from ops.admin.rendering import pretty_json
from ops.admin.scope import render_mask
from ops.admin.texts import TextAdmin


@admin.register(MemoryImport)
class MemoryImportAdmin(TextAdmin):
    """Files of other programs, and the outcome of each. Names of files and speakers are masked like texts."""

    what = "import"
    hidden = {"name": "masked_name", "speaker": "masked_speaker"}
    list_display = ("name", "format", "namespace_id", "progress", "new", "quarantined", "problem", "actor",
                    "created_at", "cancelled_at", "finished_at")  # fmt: skip
    list_filter = ("format", NamespaceFilter, ActorFilter, "created_at")
    fields = ("name", "format", "namespace_id", "speaker", "size", "conversations", "progress", "new", "present",
              "gone", "redacted", "quarantined", "rejected", "unreadable", "shown_left_out", "shown_faults",
              "first_at", "last_at", "problem", "actor", "created_at", "cancelled_at", "finished_at", "page",
              "id")  # fmt: skip

    @admin.display(description=gettext_lazy("progress"))
    def progress(self, row: MemoryImport) -> str:
        return f"{row.dealt_with:,} / {row.turns:,}"

    @admin.display(description=gettext_lazy("left out"))
    def shown_left_out(self, row: MemoryImport) -> SafeString:
        return pretty_json(row.left_out)

    @admin.display(description=gettext_lazy("unreadable lines"))
    def shown_faults(self, row: MemoryImport) -> SafeString:
        return pretty_json(row.faults)

    @admin.display(description=gettext_lazy("name"))
    def masked_name(self, row: MemoryImport) -> str:
        return render_mask(len(row.name))

    @admin.display(description=gettext_lazy("speaker"))
    def masked_speaker(self, row: MemoryImport) -> str:
        return MASK if row.speaker else "—"

    @admin.display(description=gettext_lazy("page"))
    def page(self, row: MemoryImport) -> SafeString:
        return format_html('<a href="{}">{}</a>', reverse("ops:import", args=[row.pk]), _("In the console"))
