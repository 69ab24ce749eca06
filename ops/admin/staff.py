"""Who reaches which namespaces: grants, on the page of each user and as a list of their own."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.http import HttpRequest

from ops.access import reaches_all
from ops.admin.lists import LargeTableAdmin, PlainReferences
from ops.models import StaffGrant


class _GrantedByAll:
    """Only who reaches every namespace grants one: nobody widens their own reach."""

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return reaches_all(request.user) and super().has_view_permission(request, obj)  # type: ignore[misc]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed = super().has_add_permission(request) if obj is None else super().has_add_permission(request, obj)  # type: ignore[misc]
        return reaches_all(request.user) and allowed

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return reaches_all(request.user) and super().has_change_permission(request, obj)  # type: ignore[misc]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return reaches_all(request.user) and super().has_delete_permission(request, obj)  # type: ignore[misc]


class GrantInline(_GrantedByAll, admin.TabularInline):
    """The namespaces that the user reaches in console and admin."""

    model = StaffGrant
    extra = 1
    autocomplete_fields = ("namespace",)
    fields = ("namespace",)


@admin.register(StaffGrant)
class StaffGrantAdmin(_GrantedByAll, LargeTableAdmin):
    """Each grant: a member of staff and a namespace."""

    list_display = ("user", "namespace", "created_at")
    list_filter = ("user",)
    list_select_related = ("user", "namespace")
    autocomplete_fields = ("user", "namespace")
    fields = ("user", "namespace", "created_at")
    readonly_fields = ("created_at",)


class StaffUserAdmin(PlainReferences, UserAdmin):
    """Django's own page of a user, with what the user reaches."""

    inlines = (GrantInline,)

    def get_inline_instances(self, request: HttpRequest, obj: User | None = None) -> list[Any]:
        """Not while a user is being made: Django asks for the password first."""
        return super().get_inline_instances(request, obj) if obj is not None else []


class StaffGroupAdmin(PlainReferences, GroupAdmin):
    """Django's own page of a group."""


admin.site.unregister([User, Group])
admin.site.register(User, StaffUserAdmin)
admin.site.register(Group, StaffGroupAdmin)
