"""Checks the scope of API keys. Each view names the scope that it needs; a view that names none is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from memory.enums import AccessScope
from memory.types import Access

if TYPE_CHECKING:
    from rest_framework.views import APIView


def scope_needed(view: APIView) -> AccessScope | None:
    """Return the scope that the view's request needs, or None if it is not allowed to anyone."""
    needed: AccessScope | dict[str, AccessScope] | None = getattr(view, "required_scope", None)
    return needed.get(getattr(view, "action", "")) if isinstance(needed, dict) else needed


class HasScope(BasePermission):
    """Requires the view's `required_scope`: a value of AccessScope, or a mapping from actions to them.

    Actions in `tells_stored` return stored content, so they need the scope to read as well.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.method not in view.allowed_methods:
            raise MethodNotAllowed(request.method or "")
        access = request.user
        needed = scope_needed(view)
        if not isinstance(access, Access) or needed is None:
            return False
        if access.may(needed) and getattr(view, "action", "") in getattr(view, "tells_stored", ()):
            # A caller who may only write must not see what others have stored.
            needed = AccessScope.READ
        self.message = f"This needs a key with the scope {str(needed)!r}."
        return access.may(needed)


class MetricsReader(BasePermission):
    """Allows everyone while MEMOS_METRICS_PUBLIC is on, else only keys with the admin scope."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if settings.MEMOS_METRICS_PUBLIC:
            return True
        return isinstance(request.user, Access) and request.user.may(AccessScope.ADMIN)
