"""Filters the list to the memories that a number in the console counts, or that someone selected on the map."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.types import Scope
from ops import picked
from ops.access import reachable_namespaces, staff_access, staff_actor


class PickedFilter(admin.ListFilter):
    """Shown only if it is in the address (`ops.picked`), because it cannot be typed."""

    title = gettext_lazy("picked in the console")

    def __init__(
        self, request: HttpRequest, params: dict[str, list[str]], model: type[Model], model_admin: admin.ModelAdmin
    ) -> None:
        super().__init__(request, params, model, model_admin)
        values = params.pop(picked.PARAMETER, [])
        self.value = values[-1] if values else ""

    def has_output(self) -> bool:
        return bool(self.value)

    def expected_parameters(self) -> list[str | None]:
        return [picked.PARAMETER]

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        what = self.value.partition(":")[0]
        words = {"cluster": _("A cluster of the map"), "selection": _("A selection"), "fading": _("Of the decay page")}
        without = changelist.get_query_string(remove=[picked.PARAMETER])
        yield {"selected": False, "query_string": without, "display": _("All")}
        yield {"selected": True, "query_string": "?", "display": words.get(what, _("Unknown"))}

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if not self.value:
            return queryset
        name = request.GET.get("namespace", "").strip()
        namespace = reachable_namespaces(request).filter(name=name).first() if name else None
        scope = Scope(namespace.pk, namespace.name, staff_actor(request)) if namespace else None
        try:
            found = picked.memories(self.value, scope=scope, session=request.session, access=staff_access(request))
        except picked.NotPicked:
            messages.warning(request, _("What was picked is not kept any more: pick it again in the console."))
            return queryset.none()
        return queryset.filter(pk__in=found.order_by().values("pk"))
