"""Determines who may open the console, and what each member of staff reaches in it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db.models import QuerySet
from django.http import Http404, HttpRequest

from memory.enums import AccessScope
from memory.models import Namespace
from memory.postgresql import reach
from memory.types import Access, Scope, system_access
from ops.models import StaffGrant
from ops.queries import list_granted

Staff = AbstractUser | AnonymousUser

VIEW_CONSOLE = "ops.view_console"

# Replaces text that this member of staff may not read.
MASK = "•••"

# Maximum length of an actor's name in the audit log.
MAX_ACTOR_CHARS = 150


def staff_actor(request: HttpRequest) -> str:
    """Return the name under which the audit log records this member of staff."""
    return actor_of(request.user)


def actor_of(user: Staff) -> str:
    """Return the unique name of a member of staff in the audit log. Long names are cut and end with a digest."""
    name = f"staff:{user.get_username()}"
    if len(name) <= MAX_ACTOR_CHARS:
        return name
    # User names cannot contain a tilde.
    digest = f"~{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return name[: MAX_ACTOR_CHARS - len(digest)] + digest


def reaches_all(user: Staff) -> bool:
    """Return whether the user reaches every namespace without grants."""
    return user.has_perm("ops.all_namespaces")


def staff_access(request: HttpRequest) -> Access:
    """Return the namespaces granted to this member of staff, by default none. Looked up once per request.

    Django's permissions govern what they may do there.
    """
    kept: Access | None = getattr(request, "_staff_access", None)
    if kept is None:
        kept = access_of(request.user)
        request._staff_access = kept  # type: ignore[attr-defined]
        reach.allow(kept)
    return kept


def access_of(user: Staff) -> Access:
    """Return what a member of staff reaches at this moment, for work that continues after the request."""
    actor = actor_of(user)
    if not (user.is_active and user.is_staff):
        return Access(actor=actor)
    if reaches_all(user):
        return system_access(actor)
    return Access(
        actor=actor,
        scopes=frozenset(AccessScope.values),
        namespace_ids=frozenset(list_granted(user.pk)),
    )


def reads_text(request: HttpRequest) -> bool:
    """Return whether this member of staff may read the text of memories. Others see it masked."""
    return request.user.has_perm("ops.view_memory_text")


# Details of audit events, at any depth, that contain what people typed or named.
TYPED_DETAILS = frozenset(
    "reason note notes title source speaker name names label document document_id text question tags aliases".split()
)


def mask_details(details: Any) -> Any:
    """Mask typed words and names in an event's details, for users who may not read texts. Counts and ids stay."""
    if isinstance(details, dict):
        return {
            name: (MASK if value else value) if name in TYPED_DETAILS else mask_details(value)
            for name, value in details.items()
        }
    if isinstance(details, list):
        return [mask_details(one) for one in details]
    return details


def request_id(request: HttpRequest) -> str:
    """Return the request's id, which audit events and log lines share."""
    return str(getattr(request, "request_id", ""))


def find_chosen_namespace(request: HttpRequest) -> Namespace | None:
    """Return the namespace in the address (`?ns=`), or None. Looked up once per request.

    Raises Http404 for a namespace out of reach, as for one that does not exist.
    """
    name = request.GET.get("ns", "")
    if not name:
        return None
    kept: Namespace | None = getattr(request, "_chosen_namespace", None)
    if kept is None or kept.name != name:
        kept = reachable_namespaces(request).filter(name=name).first()
        if kept is None:
            raise Http404("There is no such namespace.")
        request._chosen_namespace = kept  # type: ignore[attr-defined]
    return kept


def reachable_namespaces(request: HttpRequest) -> QuerySet[Namespace]:
    """Return the namespaces of this member of staff, by name."""
    access = staff_access(request)
    rows = Namespace.objects.order_by("name")
    return rows if access.all_namespaces else rows.filter(pk__in=access.namespace_ids)


def scope_in(request: HttpRequest, namespace: Namespace) -> Scope:
    """Return the scope of a namespace that this member of staff reaches."""
    return Scope(namespace.pk, namespace.name, staff_actor(request), request_id(request))


def page_access(request: HttpRequest) -> Access:
    """Return access to the chosen namespace, else to all reachable ones. Raises Http404 if it is out of reach."""
    access, chosen = staff_access(request), find_chosen_namespace(request)
    if chosen is None:
        return access
    return replace(access, all_namespaces=False, namespace_ids=frozenset({chosen.pk}))


def permission_title(permission: str) -> str:
    """Return the title of a permission in Django's admin, or its code if it has none."""
    titles = {f"ops.{code}": title for code, title in StaffGrant._meta.permissions}
    return str(titles.get(permission, permission))
