"""The console's pages."""

from django.urls import path

from ops.views import inspector, overview, radar

app_name = "ops"
urlpatterns = [
    path("", overview.overview, name="overview"),
    path("overview/live/", overview.overview_live, name="overview_live"),
    path("radar/", radar.radar, name="radar"),
    path("radar/ask/", radar.ask, name="radar_ask"),
    path("radar/p/<slug:probe_id>/", radar.radar_probe, name="radar_probe"),
    path("radar/p/<slug:probe_id>/mark/", radar.radar_mark, name="radar_mark"),
    path("inspector/", inspector.inspector, name="inspector"),
    path("inspector/try/", inspector.ask, name="inspector_ask"),
    path("inspector/t/<slug:probe_id>/", inspector.inspector_try, name="inspector_try"),
    path("inspector/<uuid:pack_id>/", inspector.inspector_pack, name="inspector_pack"),
    path("inspector/<uuid:pack_id>/replay/", inspector.inspector_replay, name="inspector_replay"),
    path("inspector/<uuid:pack_id>/radar/", inspector.open_in_radar, name="inspector_to_radar"),
]
