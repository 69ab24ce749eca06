"""The routes of mem0's API, except `/memories` and `/search`, which `memory.api.memtensor.urls` dispatches."""

from django.urls import path

from memory.api.mem0.owner_views import Mem0EventViewSet, Mem0OwnerViewSet
from memory.api.mem0.project import Mem0ProjectViewSet
from memory.api.mem0.server import Mem0ServerViewSet
from memory.api.mem0.views import Mem0MemoriesViewSet, Mem0MemoryViewSet

_one = Mem0MemoryViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"})

urlpatterns = [
    path("v1/ping/", Mem0MemoriesViewSet.as_view({"get": "ping"})),
    path("v3/memories/add/", Mem0MemoriesViewSet.as_view({"post": "add"})),
    path("v3/memories/search/", Mem0MemoriesViewSet.as_view({"post": "search_memories"})),
    path("v3/memories/", Mem0MemoriesViewSet.as_view({"post": "list"})),
    path("v2/memories/search/", Mem0MemoriesViewSet.as_view({"post": "search_v2"})),
    path("v2/memories/", Mem0MemoriesViewSet.as_view({"post": "list_v2"})),
    path(
        "v1/memories/",
        Mem0MemoriesViewSet.as_view({"post": "add_v1", "get": "list_v1", "delete": "delete_all"}),
    ),
    path("v1/memories/search/", Mem0MemoriesViewSet.as_view({"post": "search_v1"})),
    path("v1/memories/<id:memory_id>/", _one),
    path("v1/memories/<id:memory_id>/history/", Mem0MemoryViewSet.as_view({"get": "history"})),
    path("v1/batch/", Mem0MemoriesViewSet.as_view({"put": "update_many", "delete": "delete_many"})),
    path("v1/feedback/", Mem0MemoryViewSet.as_view({"post": "judge"})),
    path("v1/entities/", Mem0OwnerViewSet.as_view({"get": "list"})),
    path("v1/entities/<str:kind>/<path:name>/", Mem0OwnerViewSet.as_view({"delete": "destroy_v1"})),
    path("v2/entities/<str:kind>/<path:name>/", Mem0OwnerViewSet.as_view({"delete": "destroy"})),
    path(
        "api/v1/orgs/organizations/<str:org_id>/projects/<str:project_id>/",
        Mem0ProjectViewSet.as_view({"get": "retrieve", "patch": "update"}),
    ),
    path("v1/events/", Mem0EventViewSet.as_view({"get": "list"})),
    path("v1/event/<id:event_id>/", Mem0EventViewSet.as_view({"get": "retrieve"})),
    path(
        "memories/<id:memory_id>",
        Mem0ServerViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path("memories/<id:memory_id>/history", Mem0ServerViewSet.as_view({"get": "history"})),
    path("reset", Mem0ServerViewSet.as_view({"post": "reset"})),
]
