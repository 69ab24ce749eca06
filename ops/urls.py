"""The console's pages."""

from django.urls import path

from ops import views

app_name = "ops"
urlpatterns = [path("", views.overview, name="overview")]
