"""The console's pages."""

from django.urls import path

from ops.views import overview

app_name = "ops"
urlpatterns = [
    path("", overview.overview, name="overview"),
    path("overview/live/", overview.overview_live, name="overview_live"),
]
