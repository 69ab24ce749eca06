"""Users and cubes, to be read only: the API and the console make, change and share them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from memory.models import Cube, User
from ops.access import MASK, reads_text
from ops.admin.filters import NamespaceFilter
from ops.admin.lists import ReadOnlyAdmin
from ops.admin.rendering import pretty_json


@admin.register(User)
class UserAdmin(ReadOnlyAdmin):
    """The people whose memories are kept. What they typed of themselves is for who may read texts."""

    list_display = ("name", "namespace", "revision", "created_by", "created_at")
    list_filter = (NamespaceFilter, "created_at")
    list_select_related = ("namespace",)
    typed = ("display_name", "shown_preferences", "shown_metadata")
    fields = (
        *("name", "display_name", "namespace", "shown_preferences", "shown_metadata", "revision", "created_by"),
        *("created_at", "updated_at", "page", "id"),
    )

    def get_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        if reads_text(request):
            return self.fields
        return [f"masked_{name}" if name in self.typed else str(name) for name in self.fields]

    @admin.display(description=gettext_lazy("preferences"))
    def shown_preferences(self, user: User) -> SafeString:
        return pretty_json(user.preferences)

    @admin.display(description=gettext_lazy("metadata"))
    def shown_metadata(self, user: User) -> SafeString:
        return pretty_json(user.metadata)

    @admin.display(description=gettext_lazy("display name"))
    def masked_display_name(self, user: User) -> str:
        return MASK if user.display_name else "—"

    @admin.display(description=gettext_lazy("preferences"))
    def masked_shown_preferences(self, user: User) -> str:
        return MASK if user.preferences else "—"

    @admin.display(description=gettext_lazy("metadata"))
    def masked_shown_metadata(self, user: User) -> str:
        return MASK if user.metadata else "—"

    @admin.display(description=gettext_lazy("page"))
    def page(self, user: User) -> SafeString:
        return format_html('<a href="{}">{}</a>', reverse("ops:user", args=[user.pk]), user.name)


@admin.register(Cube)
class CubeAdmin(ReadOnlyAdmin):
    """Namespaces as things that are owned and shared; the console's page has the shares."""

    list_display = ("name", "namespace", "shown_kinds", "revision", "created_by", "created_at")
    list_filter = (NamespaceFilter, "created_at")
    list_select_related = ("namespace",)
    fields = (
        *("name", "description", "namespace", "owner_id", "shown_kinds", "revision", "created_by", "created_at"),
        *("updated_at", "page", "id"),
    )

    @admin.display(description=gettext_lazy("kinds"))
    def shown_kinds(self, cube: Cube) -> str:
        return ", ".join(cube.kinds)

    @admin.display(description=gettext_lazy("page"))
    def page(self, cube: Cube) -> SafeString:
        return format_html('<a href="{}">{}</a>', reverse("ops:cube", args=[cube.pk]), cube.name)
