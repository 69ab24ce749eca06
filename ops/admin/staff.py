"""Namespaces and permissions of staff. No one can give, or take over, more than they have."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.db.models import Field, Model, Q, QuerySet
from django.http import HttpRequest

from ops.access import reaches_all, staff_access
from ops.admin.lists import LargeTableAdmin, PlainReferences
from ops.models import StaffGrant


class _GrantedByAll:
    """Requires access to every namespace for grants, so that users cannot extend their own reach."""

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
    """The namespaces that the user reaches in the console and the admin."""

    model = StaffGrant
    extra = 1
    autocomplete_fields = ("namespace",)
    fields = ("namespace",)


@admin.register(StaffGrant)
class StaffGrantAdmin(_GrantedByAll, LargeTableAdmin):
    """Grants, each of a namespace to a member of staff."""

    list_display = ("user", "namespace", "created_at")
    list_filter = ("user",)
    list_select_related = ("user", "namespace")
    autocomplete_fields = ("user", "namespace")
    fields = ("user", "namespace", "created_at")
    readonly_fields = ("created_at",)


def own_permissions(request: HttpRequest) -> QuerySet[Permission]:
    """Return the permissions that a member of staff has, and so may give."""
    if request.user.is_superuser:
        return Permission.objects.all()
    either = Q(user=request.user.pk) | Q(group__user=request.user.pk)
    return Permission.objects.filter(pk__in=Permission.objects.filter(either).order_by().values("pk"))


def own_groups(request: HttpRequest) -> QuerySet[Group]:
    """Return the groups whose permissions the member of staff has, too."""
    if request.user.is_superuser:
        return Group.objects.all()
    beyond = Group.objects.exclude(permissions=None).filter(
        permissions__in=Permission.objects.exclude(pk__in=own_permissions(request).values("pk"))
    )
    return Group.objects.exclude(pk__in=beyond.values("pk"))


def is_beyond(request: HttpRequest, user: User) -> bool:
    """Return whether an account has permissions or namespaces that the member of staff lacks.

    Inactive accounts count too, because who can set the password can also activate the account.
    """
    if request.user.is_superuser:
        return False
    may = Permission.objects.filter(Q(user=user.pk) | Q(group__user=user.pk))
    if user.is_superuser or may.exclude(pk__in=own_permissions(request).values("pk")).exists():
        return True
    access = staff_access(request)
    grants = StaffGrant.objects.filter(user=user.pk).exclude(namespace_id__in=access.namespace_ids)
    return not access.all_namespaces and grants.exists()


class _WithinOwn:
    """Offers only permissions and groups that the user has."""

    def formfield_for_manytomany(self, db_field: Field, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in ("permissions", "user_permissions"):
            kwargs["queryset"] = own_permissions(request).select_related("content_type")
        elif db_field.name == "groups":
            kwargs["queryset"] = own_groups(request)
        return super().formfield_for_manytomany(db_field, request, **kwargs)  # type: ignore[misc]


class StaffUserAdmin(_WithinOwn, PlainReferences, UserAdmin):
    """Django's page of a user, with the namespaces that they reach. Accounts with more permissions are read-only."""

    inlines = (GrantInline,)

    def get_inline_instances(self, request: HttpRequest, obj: User | None = None) -> list[Any]:
        """Hide the grants while a user is being created, because Django first asks for the password."""
        return super().get_inline_instances(request, obj) if obj is not None else []

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        return () if request.user.is_superuser else ("is_superuser",)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or not is_beyond(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        allowed = super().has_delete_permission(request, obj)
        return allowed and (obj is None or not is_beyond(request, obj))


class StaffGroupAdmin(_WithinOwn, PlainReferences, GroupAdmin):  # type: ignore[misc]
    """Django's page of a group. Groups with more permissions than the user's own are read-only."""

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or own_groups(request).filter(pk=obj.pk).exists())

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        allowed = super().has_delete_permission(request, obj)
        return allowed and (obj is None or own_groups(request).filter(pk=obj.pk).exists())


admin.site.unregister([User, Group])
admin.site.register(User, StaffUserAdmin)
admin.site.register(Group, StaffGroupAdmin)
