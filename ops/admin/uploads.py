"""Uploads, read-only. Forms of the console and the API send them; an upload is deleted by what uses it."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.models import CubeFile, MemoryImport, Upload
from memory.services.imports import uploads
from ops.admin.filters import ActorFilter, NamespaceFilter
from ops.admin.scope import render_mask
from ops.admin.texts import TextAdmin


@admin.register(Upload)
class UploadAdmin(TextAdmin):
    """Files sent in parts. Their names, which the sender chose, are masked like texts."""

    what = "upload"
    hidden = {"name": "masked_name"}
    list_display = ("name", "namespace_id", "size", "actor", "created_at", "user_of_it")
    list_filter = (NamespaceFilter, ActorFilter, "created_at", ("used_by", admin.EmptyFieldListFilter))
    fields = ("name", "namespace_id", "size", "arrived", "digest", "actor", "created_at", "user_of_it", "id")

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        """Annotate what kind of row uses each upload."""
        user = {"namespace_id": OuterRef("namespace_id"), "id": OuterRef("used_by")}
        return (
            super()
            .get_queryset(request)
            .annotate(
                is_imported=Exists(MemoryImport.objects.filter(**user)),
                is_loaded=Exists(CubeFile.objects.filter(**user)),
            )
        )

    @admin.display(description=gettext_lazy("name"))
    def masked_name(self, row: Upload) -> str:
        return render_mask(len(row.name))

    @admin.display(description=gettext_lazy("parts that are here"))
    def arrived(self, row: Upload) -> str:
        parts = uploads.count_parts(row)
        return f"{parts - len(uploads.list_missing(row)):,} / {parts:,}"

    @admin.display(description=gettext_lazy("used by"), ordering="used_by")
    def user_of_it(self, row: Upload) -> SafeString | str:
        if row.is_imported:  # type: ignore[attr-defined]
            address, words = reverse("ops:import", args=[row.used_by]), _("An import")
        elif row.is_loaded:  # type: ignore[attr-defined]
            address, words = reverse("admin:memory_cubefile_change", args=[row.used_by]), _("A load")
        else:
            return str(row.used_by) if row.used_by else "—"
        return format_html('<a href="{}">{}</a>', address, words)
