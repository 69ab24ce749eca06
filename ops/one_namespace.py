"""Selects the namespace of a page about one namespace, or lists those to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import OuterRef, Subquery, Sum
from django.http import Http404, HttpRequest

from memory.models import Namespace, NamespaceStat
from memory.types import Scope
from ops.access import find_chosen_namespace, reachable_namespaces, request_id, staff_actor

OFFERED = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """A namespace to choose, with its number of searchable memories."""

    name: str
    memories: int
    url: str


def scope_of(request: HttpRequest) -> Scope | None:
    """Return the chosen namespace, or else the only reachable one. Returns None if there is a choice to make.

    Raises Http404 for a namespace out of reach.
    """
    found = find_chosen_namespace(request)
    if found is None:
        reached = list(reachable_namespaces(request)[:2])
        found = reached[0] if len(reached) == 1 else None
    return None if found is None else _scope(request, found)


def find_chosen_scope(request: HttpRequest) -> Scope:
    """Return the scope as `scope_of` does, for a fragment, which needs one. Raises Http404 if none is chosen."""
    scope = scope_of(request)
    if scope is None:
        raise Http404("No namespace is chosen.")
    return scope


def find_scope(request: HttpRequest, name: str) -> Scope | None:
    """Return the scope of the namespace that an action's form names, or None if it is not reached."""
    found = reachable_namespaces(request).filter(name=name).first()
    return None if found is None else _scope(request, found)


def choices(request: HttpRequest) -> list[Choice]:
    """Return the namespaces with the most memories that this member of staff reaches."""
    counted = NamespaceStat.objects.filter(namespace_id=OuterRef("pk")).order_by().values("namespace_id")
    rows = reachable_namespaces(request).annotate(count=Subquery(counted.annotate(n=Sum("memories")).values("n")))
    found = sorted(rows.values_list("name", "count"), key=lambda row: (-(row[1] or 0), row[0]))[:OFFERED]
    kept = {key: value for key, value in request.GET.items() if key != "ns"}
    return [Choice(name, count or 0, f"?{urlencode({**kept, 'ns': name})}") for name, count in found]


def _scope(request: HttpRequest, namespace: Namespace) -> Scope:
    return Scope(namespace.pk, namespace.name, staff_actor(request), request_id(request))
