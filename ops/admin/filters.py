"""Filters of long lists. Columns with many values have a text field, and only reachable values are suggested."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from memory.models import Namespace
from memory.types import Access
from ops.access import staff_access
from ops.admin.scope import narrow_to_reach
from ops.words import Words

SUGGESTIONS = 50


class TypedFilter(admin.ListFilter):
    """A filter with a text field, for columns that have too many values for a list of links."""

    template = "admin/typed_filter.html"
    parameter_name = ""
    placeholder: Words = ""

    def __init__(
        self,
        request: HttpRequest,
        params: dict[str, list[str]],
        model: type[Model],
        model_admin: admin.ModelAdmin,
    ) -> None:
        super().__init__(request, params, model, model_admin)
        self.access = staff_access(request)
        values = params.pop(self.parameter_name, [])
        self.value = values[-1].strip().replace("\0", "") if values else ""

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name]

    def options(self) -> list[str]:
        """Return values to suggest while typing."""
        return []

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        kept = {key: values for key, values in changelist.filter_params.items() if key != self.parameter_name}
        yield {
            "name": self.parameter_name,
            "value": self.value,
            "placeholder": self.placeholder,
            "options": self.options(),
            "kept": [(key, value) for key, values in kept.items() for value in values],
            "clear": changelist.get_query_string(remove=[self.parameter_name]),
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset.filter(**{self.parameter_name: self.value}) if self.value else queryset


class SessionFilter(TypedFilter):
    """Filters by the exact name of a session."""

    title = gettext_lazy("session")
    parameter_name = "session"
    placeholder = gettext_lazy("exact name")


class ActorFilter(TypedFilter):
    """Filters by an actor, for example `key:1a2b3c4d` or `staff:ann`."""

    title = gettext_lazy("actor")
    parameter_name = "actor"
    placeholder = "staff:ann, key:1a2b…"


class IdFilter(TypedFilter):
    """Filters by an id. A value that is no id matches nothing."""

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if not self.value:
            return queryset
        try:
            return queryset.filter(**{self.parameter_name: uuid.UUID(self.value)})
        except ValueError:
            return queryset.none()


class NamespaceFilter(TypedFilter):
    """Filters by the name of a namespace, or by its beginning."""

    title = gettext_lazy("namespace")
    parameter_name = "namespace"
    placeholder = gettext_lazy("name or its beginning")

    def options(self) -> list[str]:
        rows = narrow_to_reach(Namespace.objects.order_by("name"), self.access)
        return list(rows.values_list("name", flat=True)[:SUGGESTIONS])

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        ids = find_namespaces(self.value, self.access)
        if ids is None:
            return queryset
        # A single namespace is tested by equality, so that its index returns the rows in order.
        return queryset.filter(namespace_id=ids[0]) if len(ids) == 1 else queryset.filter(namespace_id__in=ids)


def find_namespaces(value: str, access: Access) -> list[int] | None:
    """Return the ids of the namespace of that name, or else of at most SUGGESTIONS that begin with it.

    Returns None if `value` is empty. Only namespaces within `access` are found.
    """
    if not value:
        return None
    within = narrow_to_reach(Namespace.objects.all(), access)
    exact = within.filter(name=value).values_list("pk", flat=True).first()
    if exact is not None:
        return [exact]
    return list(within.filter(name__startswith=value).order_by("name").values_list("pk", flat=True)[:SUGGESTIONS])
