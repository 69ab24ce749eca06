"""Cuts rows into pages, and narrows listings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from memory.errors import NotFound
from memory.models.namespace import Namespace
from memory.models.scoped import ScopedQuerySet
from memory.types import Access, ListFilter, list_forms

Row = TypeVar("Row")
ModelRow = TypeVar("ModelRow", bound=Model)


def page_of(rows: QuerySet[Any, Row] | Sequence[Row], limit: int) -> tuple[list[Row], Row | None]:
    """Returns the first `limit` of the ordered rows, and the row that the next page begins with (None at the end).

    A sequence must have one row more than `limit` if there are more.
    """
    found = list(rows[: limit + 1])
    return found[:limit], found[limit] if len(found) > limit else None


def narrow(rows: ScopedQuerySet[ModelRow], access: Access, wanted: ListFilter) -> ScopedQuerySet[ModelRow]:
    """Returns the rows that match the filter, newest first.

    Raises NotFound for a namespace that the caller does not reach.
    """
    if wanted.namespace is not None:
        identity = Namespace.objects.filter(name=wanted.namespace).values_list("pk", flat=True).first()
        reachable = access.all_namespaces or identity in access.namespace_ids
        if not reachable:
            raise NotFound(
                f"There is no namespace {wanted.namespace!r} that this key reaches.", detail={"field": "namespace"}
            )
        rows = rows.filter(namespace_id=identity or -1)
    if wanted.session is not None:
        rows = rows.filter(session__in=list_forms(wanted.session))
    return rows.order_by("-id")
