"""Saved views: named filters of a list, shown as a row of chips above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memory.types import Access
from ops.access import access_of, reachable_namespaces, staff_access
from ops.admin.lists import LargeTableAdmin
from ops.admin.scope import member
from ops.models import SavedView

MAX_OWN = 50
# Parameters that describe the position in the list, not its filters.
OF_THE_PAGE = frozenset({"p", "e", "_facets", "_popup", "_to_field"})
# Filters with a few fixed values. Values of other filters are typed and may contain a tenant's names.
CHOSEN = frozenset(
    "state__exact review holds vector expiry duplicates pinned__exact kind tier__exact role__exact source band use"
    " occurred_at__gte occurred_at__lt created_at__gte created_at__lt trigger_reason__exact event_type".split()
)


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A view that a list has by default."""

    name: Any
    querystring: str


@dataclass(frozen=True, slots=True)
class ViewChip:
    """A view as it is shown. `own` is its id if the user may delete it."""

    name: Any
    url: str
    selected: bool
    own: int | None = None
    shared: bool = False
    default: bool = False


class SavedViewsMixin(LargeTableAdmin):
    """A list with chips: `built_in_views`, followed by saved views."""

    built_in_views: ClassVar[tuple[BuiltIn, ...]] = ()
    change_list_template = "admin/memory/curated_list.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Open the user's default view, unless they come from this list and have cleared it."""
        views = list(visible(request, self.opts.label_lower))
        coming_from = urlsplit(request.headers.get("Referer", "")).path
        default = next((view for view in views if view.is_default and view.user_id == request.user.pk), None)
        arrives = request.method == "GET" and not request.GET and coming_from != request.path
        if arrives and default and default.querystring:
            return HttpResponseRedirect(f"{request.path}?{default.querystring}")
        here = normal(request.GET.urlencode())
        chips = [ViewChip(_("All"), request.path, selected=not here)]
        chips += [
            ViewChip(view.name, f"?{view.querystring}", here == normal(view.querystring))
            for view in self.built_in_views
        ]
        chips += [
            ViewChip(
                view.name,
                f"?{view.querystring}",
                here == normal(view.querystring),
                own=view.pk if view.user_id == request.user.pk else None,
                shared=view.shared,
                default=view.is_default and view.user_id == request.user.pk,
            )
            for view in views
        ]
        known = any(chip.selected for chip in chips)
        extra = {"chips": chips, "view_here": here, "may_save_view": bool(here) and not known}
        return super().changelist_view(request, {**extra, "list_model": self.opts.label_lower, **(extra_context or {})})


def visible(request: HttpRequest, model: str = "") -> QuerySet[SavedView]:
    """Return the user's views (of one list), and shared ones that do not reveal names out of reach.

    A filter's value and a view's name may be names from the owner's namespaces. So others see a shared view only if
    they reach the namespace that it is filtered by, if none of its values was typed, or if they reach all that its
    owner reaches.
    """
    rows = SavedView.objects.filter(Q(user_id=request.user.pk) | Q(shared=True)).order_by("name")
    if model:
        rows = rows.filter(model=model)
    access = staff_access(request)
    if access.all_namespaces:
        return rows
    reached_names = set(reachable_namespaces(request).values_list("name", flat=True))
    others = rows.exclude(user=member(request)).select_related("user")
    hidden = [view.pk for view in others if not _within(view, access, reached_names)]
    return rows.exclude(pk__in=hidden)


def _within(view: SavedView, access: Access, reached_names: set[str]) -> bool:
    """Return whether another user's view reveals nothing beyond `access`."""
    values = dict(parse_qsl(view.querystring))
    if namespace := values.get("namespace", ""):
        return namespace in reached_names
    if not values.keys() - CHOSEN:
        return True
    owner = access_of(view.user)
    return not owner.all_namespaces and owner.namespace_ids <= access.namespace_ids


def normal(querystring: str) -> str:
    """Return the filters of a query string in a fixed order, so that equal views are equal."""
    pairs = sorted((key, value) for key, value in parse_qsl(querystring.lstrip("?")) if key not in OF_THE_PAGE)
    return urlencode(pairs)


class ViewForm(forms.Form):
    """A view to save."""

    model = forms.CharField(max_length=100)
    name = forms.CharField(max_length=60)
    querystring = forms.CharField(max_length=2000, required=False)
    shared = forms.BooleanField(required=False)
    is_default = forms.BooleanField(required=False)


@admin.register(SavedView)
class SavedViewAdmin(LargeTableAdmin):
    """Saved views: the user's own, and views that others share."""

    list_display = ("name", "model", "user", "shared", "is_default", "created_at")
    list_filter = ("model", "shared")
    list_select_related = ("user",)
    fields = ("name", "model", "querystring", "shared", "is_default", "user", "created_at")
    readonly_fields = ("model", "querystring", "is_default", "user", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        rows = super().get_queryset(request)
        return rows if request.user.is_superuser else rows.filter(pk__in=visible(request).order_by().values("pk"))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_staff)

    def has_view_permission(self, request: HttpRequest, obj: SavedView | None = None) -> bool:
        return bool(request.user.is_active and request.user.is_staff)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: SavedView | None = None) -> bool:
        return obj is not None and (request.user.is_superuser or obj.user_id == request.user.pk)

    def has_delete_permission(self, request: HttpRequest, obj: SavedView | None = None) -> bool:
        return self.has_change_permission(request, obj)

    def get_urls(self) -> list[URLPattern]:
        """Add the URLs that the chips post to."""
        own = [
            path("keep/", self.admin_site.admin_view(require_POST(self.keep_view)), name="ops_savedview_keep"),
            path("<int:view_id>/drop/", self.admin_site.admin_view(require_POST(self.drop_view)),
                 name="ops_savedview_drop"),
        ]  # fmt: skip
        return [*own, *super().get_urls()]

    def keep_view(self, request: HttpRequest) -> HttpResponse:
        """Save the filters of a list under a name. An existing view of that name is replaced."""
        form = ViewForm(request.POST)
        if not form.is_valid():
            messages.error(request, _("The view was not saved: give it a name of up to 60 characters."))
            return HttpResponseRedirect(self._list_of(request, request.POST.get("model", "")))
        values = form.cleaned_data
        where, querystring = self._list_of(request, values["model"]), normal(values["querystring"])
        with transaction.atomic():
            mine = SavedView.objects.select_for_update().filter(user=member(request))
            names = list(mine.values_list("model", "name"))
            if len(names) >= MAX_OWN and (values["model"], values["name"]) not in names:
                messages.error(request, _("You have %(most)s views: delete one first.") % {"most": MAX_OWN})
                return HttpResponseRedirect(f"{where}?{querystring}")
            if values["is_default"]:
                mine.filter(model=values["model"]).update(is_default=False)
            SavedView.objects.update_or_create(
                user=member(request),
                model=values["model"],
                name=values["name"],
                defaults={name: values[name] for name in ("shared", "is_default")} | {"querystring": querystring},
            )
        messages.success(request, _("The view “%(name)s” was saved.") % {"name": values["name"]})
        return HttpResponseRedirect(f"{where}?{querystring}")

    def drop_view(self, request: HttpRequest, view_id: int) -> HttpResponse:
        """Delete a view of the user."""
        view = SavedView.objects.filter(pk=view_id, user=member(request)).first()
        if view is None:
            raise Http404
        view.delete()
        messages.success(request, _("The view “%(name)s” was deleted.") % {"name": view.name})
        return HttpResponseRedirect(self._list_of(request, view.model))

    def _list_of(self, request: HttpRequest, model: str) -> str:
        """Return the address of the list of `model`. Raises PermissionDenied, or Http404 for a list without views."""
        for registered, model_admin in self.admin_site._registry.items():
            if registered._meta.label_lower == model and isinstance(model_admin, SavedViewsMixin):
                if not _may_view(model_admin, request):
                    raise PermissionDenied
                return reverse(f"admin:{registered._meta.app_label}_{registered._meta.model_name}_changelist")
        raise Http404


def _may_view(model_admin: ModelAdmin, request: HttpRequest) -> bool:
    return model_admin.has_view_permission(request)
