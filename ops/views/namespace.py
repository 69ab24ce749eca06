"""`/ops/ns/` lists the reachable namespaces and shows one of them (`?ns=…`, because a name may be any text)."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.services.monitoring import namespaces as tenant_figures
from ops.access import find_chosen_namespace, reachable_namespaces
from ops.chart_files import PARAMETER, chart_file
from ops.pages import namespace as page
from ops.pages.links import page_link
from ops.views.page import console_page

PAGE = 50


@console_page
def namespaces(request: HttpRequest) -> HttpResponse:
    """List the namespaces by name, or show the page of the one in `?ns=`."""
    chosen = find_chosen_namespace(request)
    if chosen is not None:
        tenant = page.tenant(chosen, request, now=timezone.now())
        if PARAMETER in request.GET:
            return chart_file(request, [tenant.growth, tenant.states])
        context = {"namespace": chosen, "tenant": tenant}
        return render(request, "ops/namespace.html", context)
    after, prefix = request.GET.get("cursor", ""), request.GET.get("q", "").strip()[:128]
    rows = reachable_namespaces(request).filter(name__gt=after, name__startswith=prefix)
    found = list(rows[: PAGE + 1])
    listed = tenant_figures.overviews(found[:PAGE])
    context = {
        "rows": [(one, page_link("ops:namespaces", ns=one.namespace.name)) for one in listed],
        "older": found[PAGE - 1].name if len(found) > PAGE else "",
        "newer": "first" if after else "",
        "q": prefix,
    }
    return render(request, "ops/namespace/list.html", context)


@console_page
def redirect_to_namespace(request: HttpRequest, name: str) -> HttpResponse:
    """Redirect `/ops/ns/NAME/` to the page of that namespace."""
    if not reachable_namespaces(request).filter(name=name).exists():
        raise Http404(_("There is no such namespace."))
    return HttpResponseRedirect(page_link("ops:namespaces", ns=name))
