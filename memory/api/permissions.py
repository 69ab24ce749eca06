"""What a key may do: each view names the scope it needs; a view that names none is closed."""

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
    """What a key must have for the request that the view answers; None where nobody may make it."""
    needed: AccessScope | dict[str, AccessScope] | None = getattr(view, "required_scope", None)
    return needed.get(getattr(view, "action", "")) if isinstance(needed, dict) else needed


class HasScope(BasePermission):
    """The key has the view's `required_scope` (a value of AccessScope, or a mapping by action).

    An action of `tells_stored` answers what is stored, and needs the scope to read as well.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.method not in view.allowed_methods:
            raise MethodNotAllowed(request.method or "")
        access = request.user
        needed = scope_needed(view)
        if not isinstance(access, Access) or needed is None:
            return False
        if access.may(needed) and getattr(view, "action", "") in getattr(view, "tells_stored", ()):
            # Whoever may only write is not told what others have stored.
            needed = AccessScope.READ
        self.message = f"This needs a key with the scope {str(needed)!r}."
        return access.may(needed)


class MetricsReader(BasePermission):
    """Everyone while MEMOS_METRICS_PUBLIC is on, else a key with the admin scope."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if settings.MEMOS_METRICS_PUBLIC:
            return True
        return isinstance(request.user, Access) and request.user.may(AccessScope.ADMIN)
