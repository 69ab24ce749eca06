"""The console's pages."""

from django.urls import path

from ops.views import decay, overview
from ops.views import map as memory_map

app_name = "ops"
urlpatterns = [
    path("", overview.overview, name="overview"),
    path("overview/live/", overview.overview_live, name="overview_live"),
    path("decay/", decay.decay, name="decay"),
    path("decay/what-if/", decay.what_if, name="decay_what_if"),
    path("decay/curate/", decay.curate, name="decay_curate"),
    path("map/", memory_map.memory_map, name="map"),
    path("map/points/", memory_map.points, name="map_points"),
    path("map/making/", memory_map.making, name="map_making"),
    path("map/memory/<uuid:memory_id>/", memory_map.memory, name="map_memory"),
    path("map/find/", memory_map.find, name="map_find"),
    path("map/select/", memory_map.select, name="map_select"),
    path("map/archive/", memory_map.archive, name="map_archive"),
    path("map/draw/", memory_map.draw, name="map_draw"),
]
