"""Pages about one namespace: which one, and where none is chosen, those to choose from."""

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
    """A namespace to choose, with its searchable memories."""

    name: str
    memories: int
    url: str


def scope_of(request: HttpRequest) -> Scope | None:
    """The chosen namespace, else the only one that is reached; None where there is a choice to make.

    Raises Http404 for one out of reach.
    """
    found = find_chosen_namespace(request)
    if found is None:
        reached = list(reachable_namespaces(request)[:2])
        found = reached[0] if len(reached) == 1 else None
    return None if found is None else _scope(request, found)


def find_chosen_scope(request: HttpRequest) -> Scope:
    """As `scope_of`, for a part of a page, which is asked for when one is chosen. Raises Http404 where none is."""
    scope = scope_of(request)
    if scope is None:
        raise Http404("No namespace is chosen.")
    return scope


def find_scope(request: HttpRequest, name: str) -> Scope | None:
    """The namespace of that name, if it is reached: for actions, whose form names it."""
    found = reachable_namespaces(request).filter(name=name).first()
    return None if found is None else _scope(request, found)


def choices(request: HttpRequest) -> list[Choice]:
    """The namespaces with the most memories that this member of staff reaches."""
    counted = NamespaceStat.objects.filter(namespace_id=OuterRef("pk")).order_by().values("namespace_id")
    rows = reachable_namespaces(request).annotate(count=Subquery(counted.annotate(n=Sum("memories")).values("n")))
    found = sorted(rows.values_list("name", "count"), key=lambda row: (-(row[1] or 0), row[0]))[:OFFERED]
    kept = {key: value for key, value in request.GET.items() if key != "ns"}
    return [Choice(name, count or 0, f"?{urlencode({**kept, 'ns': name})}") for name, count in found]


def _scope(request: HttpRequest, namespace: Namespace) -> Scope:
    return Scope(namespace.pk, namespace.name, staff_actor(request), request_id(request))
