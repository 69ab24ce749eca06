"""The console's pages."""

from django.urls import path

from ops.views import overview

app_name = "ops"
urlpatterns = [path("", overview.overview, name="overview")]
