"""The console's pages."""

from django.urls import path

from ops.views import decay, overview

app_name = "ops"
urlpatterns = [
    path("", overview.overview, name="overview"),
    path("overview/live/", overview.overview_live, name="overview_live"),
    path("decay/", decay.decay, name="decay"),
    path("decay/what-if/", decay.what_if, name="decay_what_if"),
    path("decay/curate/", decay.curate, name="decay_curate"),
]
