"""Lists that stay usable on millions of rows: capped counts, capped pages, a time limit; within what staff reach."""

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
    """Counts at most COUNT_CAP rows; all rows of a large table are estimated from the planner's statistics."""

    object_list: QuerySet
    estimated = False

    @cached_property
    def count(self) -> int:
        """The rows, COUNT_CAP + 1 for more than that, or the estimate."""
        if not self.object_list.query.where:
            estimate = estimate_rows(self.object_list.model._meta.db_table)
            if estimate > COUNT_CAP:
                self.estimated = True
                return estimate
        return int(self.object_list.order_by().values("pk")[: COUNT_CAP + 1].count())

    @property
    def count_label(self) -> str:
        """The count in honest words."""
        if self.estimated:
            return _("about %(count)s") % {"count": f"{self.count:,}"}
        return f"{COUNT_CAP:,}+" if self.count > COUNT_CAP else f"{self.count:,}"

    @cached_property
    def num_pages(self) -> int:
        """Deeper pages cost the database more and more: filters lead there faster."""
        return min(super().num_pages, MAX_PAGES)


class CappedChangeList(ChangeList):
    """A change list that can say its count in words (`count_label`)."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet:
        """The rows; for the counts beside a filter (`exclude_parameters`) the newest COUNT_CAP of them."""
        rows = super().get_queryset(request, exclude_parameters)
        if exclude_parameters is None:
            return rows
        return self.root_queryset.filter(pk__in=rows.values("pk")[:COUNT_CAP])

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.count_label = self.paginator.count_label


class PlainReferences:
    """Refuses a `_to_field` that is no column of the row: Django looks at relations from elsewhere, and at the empty
    name, as if they were fields, and fails."""

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        try:
            column = bool(self.opts.get_field(to_field).concrete)  # type: ignore[attr-defined]
        except FieldDoesNotExist:
            return False
        return column and super().to_field_allowed(request, to_field)  # type: ignore[misc]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        return super().get_object(request, object_id, from_field or None)  # type: ignore[misc]


class LargeTableAdmin(PlainReferences, admin.ModelAdmin):
    """An admin of a table that may hold millions of rows, newest first by its time-ordered id."""

    paginator = CappedPaginator
    list_per_page = 50
    list_max_show_all = 50
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    ordering: ClassVar[tuple[str, ...]] = ("-id",)
    sortable_by = ()
    # Fields beside those of `list_filter` that links filter a list by.
    linked_by: ClassVar[frozenset[str]] = frozenset()

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        """The rows of the namespaces that this member of staff reaches: lists, pages and actions see no other."""
        return narrow_to_reach(super().get_queryset(request), staff_access(request))

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only what the list offers. Django allows any field of the row: who may not read texts, or a key's hash, could
        guess them letter by letter from what `text__startswith` finds."""
        offered = {*self.linked_by, "pk", "id"}
        for one in self.get_list_filter(request):
            name = one[0] if isinstance(one, tuple | list) else getattr(one, "parameter_name", one)
            offered.add(str(name))
        field = lookup.partition(LOOKUP_SEP)[0]
        known = field in {*self.opts.fields_map, *(one.name for one in self.opts.get_fields())} or field == "pk"
        allowed: bool = super().lookup_allowed(lookup, value, request)
        return allowed and (field in offered or not known)

    def get_field_queryset(self, db: str | None, db_field: Any, request: HttpRequest) -> QuerySet | None:
        """What a row may be tied to: what this member of staff reaches."""
        return narrow_choices(super().get_field_queryset(db, db_field, request), db_field, staff_access(request))

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str | None) -> HttpResponse:
        """What is out of reach is not found, like what does not exist."""
        raise Http404

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return CappedChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Gives a look at the list STATEMENT_TIMEOUT a statement; a filter that takes longer is taken off."""
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
    """Rows that staff look at and nobody changes here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
