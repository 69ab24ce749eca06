"""Staff as services see them."""

from __future__ import annotations

from django.http import HttpRequest

from memory.types import Access, system_access

# The audit log keeps an actor's name in so many characters.
MAX_ACTOR_CHARS = 150


def staff_actor(request: HttpRequest) -> str:
    """The name under which the audit log keeps what this member of staff does."""
    return f"staff:{request.user.get_username()}"[:MAX_ACTOR_CHARS]


def staff_access(request: HttpRequest) -> Access:
    """Staff reach every namespace; what they may do there is a matter of Django's permissions."""
    return system_access(staff_actor(request))


def request_id(request: HttpRequest) -> str:
    """The request's id, so that audit events and log lines can be joined."""
    return str(getattr(request, "request_id", ""))
