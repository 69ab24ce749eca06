"""Everything the server answers."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="ops:overview")),
    path("ops/", include("ops.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
    path("", include("memory.api.urls")),
]

handler400 = "memos_site.errors.bad_request"
handler403 = "memos_site.errors.permission_denied"
handler404 = "memos_site.errors.not_found"
handler500 = "memos_site.errors.server_error"
