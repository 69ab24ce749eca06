"""Lists that stay usable on millions of rows: capped counts, capped pages, a time limit, filters that are typed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.options import ShowFacets
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db import OperationalError, connection, transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from psycopg.errors import QueryCanceled

from memory.models import Namespace

COUNT_CAP = 10_000
MAX_PAGES = 200
STATEMENT_TIMEOUT = "5s"
SUGGESTIONS = 50


class CappedPaginator(Paginator):
    """Counts at most COUNT_CAP rows; all rows of a large table are estimated from the planner's statistics."""

    object_list: QuerySet
    estimated = False

    @cached_property
    def count(self) -> int:
        """The rows, COUNT_CAP + 1 for more than that, or the estimate."""
        if not self.object_list.query.where:
            estimate = _estimated_rows(self.object_list.model)
            if estimate > COUNT_CAP:
                self.estimated = True
                return estimate
        return int(self.object_list.order_by().values("pk")[: COUNT_CAP + 1].count())

    @property
    def count_label(self) -> str:
        """The count in honest words."""
        if self.estimated:
            return f"about {self.count:,}"
        return f"{COUNT_CAP:,}+" if self.count > COUNT_CAP else f"{self.count:,}"

    @cached_property
    def num_pages(self) -> int:
        """Deeper pages cost the database more and more: filters lead there faster."""
        return min(super().num_pages, MAX_PAGES)


def _estimated_rows(model: type[Model]) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass", [model._meta.db_table])
        return int(cursor.fetchone()[0])


class CappedChangeList(ChangeList):
    """A change list that can say its count in words (`count_label`)."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.count_label = self.paginator.count_label


class LargeTableAdmin(admin.ModelAdmin):
    """An admin of a table that may hold millions of rows, newest first by its time-ordered id."""

    paginator = CappedPaginator
    list_per_page = 50
    list_max_show_all = 50
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    ordering: ClassVar[tuple[str, ...]] = ("-id",)
    sortable_by = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return CappedChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Gives a look at the list STATEMENT_TIMEOUT a statement; a filter that takes longer is taken off."""
        if request.method != "GET":
            return super().changelist_view(request, extra_context)
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
                response = super().changelist_view(request, extra_context)
                if isinstance(response, TemplateResponse):
                    response.render()
                return response
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled) or not request.GET:
                raise
        messages.error(
            request, f"That look took longer than {STATEMENT_TIMEOUT} and was stopped. Narrow it by a namespace first."
        )
        return HttpResponseRedirect(request.path)


class ReadOnlyAdmin(LargeTableAdmin):
    """Rows that staff look at and nobody changes here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class TypedFilter(admin.ListFilter):
    """A filter whose value is typed: for columns with too many values for a list of links."""

    template = "admin/typed_filter.html"
    title = ""
    parameter_name = ""
    placeholder = ""

    def __init__(
        self,
        request: HttpRequest,
        params: dict[str, list[str]],
        model: type[Model],
        model_admin: admin.ModelAdmin,
    ) -> None:
        super().__init__(request, params, model, model_admin)
        values = params.pop(self.parameter_name, [])
        self.value = values[-1].strip().replace("\0", "") if values else ""

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name]

    def options(self) -> list[str]:
        """Values to suggest while typing."""
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
    """One session by its exact name."""

    title = "session"
    parameter_name = "session"
    placeholder = "exact name"


class ActorFilter(TypedFilter):
    """One actor, for example `key:1a2b3c4d` or `staff:ann`."""

    title = "actor"
    parameter_name = "actor"
    placeholder = "staff:ann, key:1a2b…"


class NamespaceFilter(TypedFilter):
    """One namespace by its name, or those that begin like it."""

    title = "namespace"
    parameter_name = "namespace"
    placeholder = "name or its beginning"

    def options(self) -> list[str]:
        return list(Namespace.objects.order_by("name").values_list("name", flat=True)[:SUGGESTIONS])

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        ids = namespaces_named(self.value)
        if ids is None:
            return queryset
        # One namespace as an equality, so that its index gives the rows in order.
        return queryset.filter(namespace_id=ids[0]) if len(ids) == 1 else queryset.filter(namespace_id__in=ids)


def namespaces_named(value: str) -> list[int] | None:
    """The ids of the namespace of that name, else of (at most SUGGESTIONS) that begin with it; None for no name."""
    if not value:
        return None
    exact = Namespace.objects.filter(name=value).values_list("pk", flat=True).first()
    if exact is not None:
        return [exact]
    return list(
        Namespace.objects.filter(name__startswith=value).order_by("name").values_list("pk", flat=True)[:SUGGESTIONS]
    )
