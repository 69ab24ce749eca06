"""Whom the console is opened to, and what each member of staff reaches in it."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.http import HttpRequest

from memory.enums import AccessScope
from memory.types import Access, system_access
from ops.models import StaffGrant

Staff = AbstractUser | AnonymousUser

# The audit log keeps an actor's name in so many characters.
MAX_ACTOR_CHARS = 150


def staff_actor(request: HttpRequest) -> str:
    """The name under which the audit log keeps what this member of staff does."""
    return actor_of(request.user)


def actor_of(user: Staff) -> str:
    """The name of a member of staff in the audit log."""
    return f"staff:{user.get_username()}"[:MAX_ACTOR_CHARS]


def reaches_all(user: Staff) -> bool:
    """Whether every namespace is this user's, without a grant for each."""
    return user.has_perm("ops.all_namespaces")


def staff_access(request: HttpRequest) -> Access:
    """The namespaces granted to this member of staff; what they may do there is a matter of Django's permissions.

    Looked up once a request. Without a grant it reaches none.
    """
    kept: Access | None = getattr(request, "_staff_access", None)
    if kept is None:
        kept = access_of(request.user)
        request._staff_access = kept  # type: ignore[attr-defined]
    return kept


def access_of(user: Staff) -> Access:
    """What a member of staff reaches at this moment, for work that goes on after the request."""
    actor = actor_of(user)
    if not (user.is_active and user.is_staff):
        return Access(actor=actor)
    if reaches_all(user):
        return system_access(actor)
    granted = StaffGrant.objects.filter(user_id=user.pk).order_by().values_list("namespace_id", flat=True)
    return Access(actor=actor, scopes=frozenset(AccessScope.values), namespace_ids=frozenset(granted))


def reads_text(request: HttpRequest) -> bool:
    """Whether this member of staff may read what memories say; to others it is masked."""
    return request.user.has_perm("ops.view_memory_text")


def request_id(request: HttpRequest) -> str:
    """The request's id, so that audit events and log lines can be joined."""
    return str(getattr(request, "request_id", ""))
