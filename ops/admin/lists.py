"""Lists for tables with millions of rows: capped counts and pages, a time limit, and only rows that staff reach."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.options import ShowFacets
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import FieldDoesNotExist
from django.core.paginator import Paginator
from django.db import OperationalError, connection, transaction
from django.db.models import Model, QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from psycopg.errors import QueryCanceled

from memory.postgresql.statistics import estimate_rows
from ops.access import staff_access
from ops.admin.scope import narrow_choices, narrow_to_reach

COUNT_CAP = 10_000
MAX_PAGES = 200
STATEMENT_TIMEOUT = "5s"


class CappedPaginator(Paginator):
    """Counts at most COUNT_CAP rows, and estimates an unfiltered large table from the planner's statistics."""

    object_list: QuerySet
    estimated = False

    @cached_property
    def count(self) -> int:
        """Return the number of rows, COUNT_CAP + 1 if there are more, or an estimate."""
        if not self.object_list.query.where:
            estimate = estimate_rows(self.object_list.model._meta.db_table)
            if estimate > COUNT_CAP:
                self.estimated = True
                return estimate
        return int(self.object_list.order_by().values("pk")[: COUNT_CAP + 1].count())

    @property
    def count_label(self) -> str:
        """Describe the count, and whether it is estimated or capped."""
        if self.estimated:
            return _("about %(count)s") % {"count": f"{self.count:,}"}
        return f"{COUNT_CAP:,}+" if self.count > COUNT_CAP else f"{self.count:,}"

    @cached_property
    def num_pages(self) -> int:
        """Limit the pages, because deep ones are expensive for the database; filters are faster."""
        return min(super().num_pages, MAX_PAGES)


class CappedChangeList(ChangeList):
    """A change list that can describe its count (`count_label`)."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet:
        """Return the rows, or only the newest COUNT_CAP of them to count a filter's values (`exclude_parameters`)."""
        rows = super().get_queryset(request, exclude_parameters)
        if exclude_parameters is None:
            return rows
        return self.root_queryset.filter(pk__in=rows.values("pk")[:COUNT_CAP])

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.count_label = self.paginator.count_label


class PlainReferences:
    """Refuses a `_to_field` that is not a column. Django accepts reverse relations and an empty name, and fails."""

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        try:
            column = bool(self.opts.get_field(to_field).concrete)  # type: ignore[attr-defined]
        except FieldDoesNotExist:
            return False
        return column and super().to_field_allowed(request, to_field)  # type: ignore[misc]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        return super().get_object(request, object_id, from_field or None)  # type: ignore[misc]


class LargeTableAdmin(PlainReferences, admin.ModelAdmin):
    """An admin for a table that may have millions of rows, newest first by its time-ordered id."""

    paginator = CappedPaginator
    list_per_page = 50
    list_max_show_all = 50
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    ordering: ClassVar[tuple[str, ...]] = ("-id",)
    sortable_by = ()
    # Fields that links may filter the list by, in addition to `list_filter`.
    linked_by: ClassVar[frozenset[str]] = frozenset()

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        """Return the rows in namespaces that this member of staff reaches; lists, pages and actions see no others."""
        return narrow_to_reach(super().get_queryset(request), staff_access(request))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only filters that the list offers.

        Django allows filtering by any field. With `text__startswith`, users could guess texts that they may not read,
        or a key's hash, letter by letter.
        """
        offered = {*self.linked_by, "pk", "id"}
        for one in self.get_list_filter(request):
            name = one[0] if isinstance(one, tuple | list) else getattr(one, "parameter_name", one)
            offered.add(str(name))
        field = lookup.partition(LOOKUP_SEP)[0]
        known = field in {*self.opts.fields_map, *(one.name for one in self.opts.get_fields())} or field == "pk"
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed and (field in offered or not known)

    def get_field_queryset(self, db: str | None, db_field: Any, request: HttpRequest) -> QuerySet | None:
        """Narrow the choices of a relation to what this member of staff reaches."""
        return narrow_choices(super().get_field_queryset(db, db_field, request), db_field, staff_access(request))

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str | None) -> HttpResponse:
        """Answer 404 for rows out of reach, as for rows that do not exist."""
        raise Http404

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return CappedChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Limit each statement of the list to STATEMENT_TIMEOUT; a filter that takes longer is removed."""
        if request.method != "GET":
            return super().changelist_view(request, extra_context)

        def look() -> HttpResponse:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'")
                response = super(LargeTableAdmin, self).changelist_view(request, extra_context)
                if isinstance(response, TemplateResponse):
                    response.render()
                return response

        try:
            return look()
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled) or not request.GET:
                raise
        stopped = _("That look took longer than %(limit)s and was stopped. Narrow it by a namespace first.")
        messages.error(request, stopped % {"limit": STATEMENT_TIMEOUT})
        return HttpResponseRedirect(request.path)


class ReadOnlyAdmin(LargeTableAdmin):
    """An admin for rows that staff can only look at."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
