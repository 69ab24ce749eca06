"""The small tables: namespaces, prompts and tools, embedding models."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import ForeignKey, OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.models import EmbeddingModel, Namespace, NamespaceStat, Procedure
from ops.access import staff_access
from ops.admin.filters import NamespaceFilter
from ops.admin.lists import LargeTableAdmin, ReadOnlyAdmin


@admin.register(Namespace)
class NamespaceAdmin(LargeTableAdmin):
    """Namespaces. Clients and audit events refer to them by name, so the name cannot be changed."""

    list_display = ("name", "description", "searchable", "created_at")
    search_fields = ("name__startswith",)
    search_help_text = gettext_lazy("Beginning of the name")
    ordering = ("name",)
    fields = ("name", "description", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        counted = NamespaceStat.objects.filter(namespace_id=OuterRef("pk")).order_by().values("namespace_id")
        return (
            super()
            .get_queryset(request)
            .annotate(memory_count=Subquery(counted.annotate(n=Sum("memories")).values("n")))
        )

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Require access to all namespaces, because a new one is not granted to anyone."""
        return staff_access(request).all_namespaces and super().has_add_permission(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Namespace | None = None) -> tuple[str, ...]:
        return ("created_at",) if obj is None else ("name", "created_at")

    def has_delete_permission(self, request: HttpRequest, obj: Namespace | None = None) -> bool:
        return False

    @admin.display(description=gettext_lazy("searchable memories"))
    def searchable(self, namespace: Namespace) -> str:
        return f"{namespace.memory_count or 0:,}"  # type: ignore[attr-defined]


@admin.register(Procedure)
class ProcedureAdmin(LargeTableAdmin):
    """Prompts and tools for agents."""

    list_display = ("name", "kind", "version", "namespace", "enabled", "created_at")
    list_filter = ("kind", "enabled", NamespaceFilter)
    list_select_related = ("namespace",)
    search_fields = ("name",)
    ordering = ("kind", "name", "-version")
    autocomplete_fields = ("namespace",)
    readonly_fields = ("created_at",)

    def formfield_for_foreignkey(
        self, db_field: ForeignKey, request: HttpRequest, **kwargs: Any
    ) -> forms.ModelChoiceField | None:
        wide = staff_access(request).all_namespaces
        # Procedures for every namespace may be written only by users who reach every namespace.
        options = {"help_text": _("Empty: every namespace is given it")} if wide else {"required": True}
        return super().formfield_for_foreignkey(db_field, request, **{**options, **kwargs})


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(ReadOnlyAdmin):
    """Models with stored vectors. `manage.py reembed` switches between them."""

    list_display = ("name", "provider", "dimensions", "state", "created_at", "activated_at")
