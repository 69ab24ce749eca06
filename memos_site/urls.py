"""All routes of the server."""

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView
from django.views.i18n import set_language

from memos_site.guide import guide


def nothing_there(request: HttpRequest, rest: str) -> HttpResponse:
    """Answers 404 at an address of Django's admin that is not used."""
    raise Http404


urlpatterns = [
    path("", RedirectView.as_view(pattern_name="ops:overview")),
    path("ops/language/", set_language, name="set_language"),
    path("ops/", include("ops.urls")),
    # This disables Django's "view on site", which no model supports, and which fails for some keys.
    path("admin/r/<path:rest>", nothing_there),
    path("admin/", admin.site.urls),
    path("guide/", guide, name="guide"),
    path("guide/<path:path>", guide),
    path("", include("memory.api.urls")),
]

handler400 = "memos_site.errors.bad_request"
handler403 = "memos_site.errors.permission_denied"
handler404 = "memos_site.errors.not_found"
handler500 = "memos_site.errors.server_error"
