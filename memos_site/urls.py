"""Everything the server answers."""

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView
from django.views.i18n import set_language

from memos_site.guide import guide


def nothing_there(request: HttpRequest, rest: str) -> HttpResponse:
    """An address of Django's that leads nowhere here."""
    raise Http404


urlpatterns = [
    path("", RedirectView.as_view(pattern_name="ops:overview")),
    path("ops/language/", set_language, name="set_language"),
    path("ops/", include("ops.urls")),
    # Django's "view on site": no table here has a page of its own there, and some keys make it fail.
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
