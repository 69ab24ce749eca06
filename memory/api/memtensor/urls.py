"""The routes of MemTensor's API, and the paths that it shares with mem0's open-source server."""

from django.urls import path

from memory.api.memtensor.answering import MemTensorChatViewSet
from memory.api.memtensor.classic import ClassicViewSet, SharedRoutesViewSet
from memory.api.memtensor.classic_memory import ClassicMemoryViewSet
from memory.api.memtensor.cubes import MemTensorCubeViewSet, MemTensorUserViewSet
from memory.api.memtensor.deletions import MemTensorRecordViewSet
from memory.api.memtensor.openmem import OpenMemViewSet
from memory.api.memtensor.scheduler import MemTensorSchedulerViewSet
from memory.api.memtensor.views import MemTensorByIdsViewSet, MemTensorMemoryViewSet

urlpatterns = [
    path("product/add", MemTensorMemoryViewSet.as_view({"post": "add"})),
    path("product/search", MemTensorMemoryViewSet.as_view({"post": "search_memories"})),
    path("product/get_all", MemTensorMemoryViewSet.as_view({"post": "list_all"})),
    path("product/get_memory", MemTensorMemoryViewSet.as_view({"post": "list_memories"})),
    path("product/get_memory/<id:memory_id>", MemTensorMemoryViewSet.as_view({"get": "retrieve"})),
    path("product/get_memory_by_ids", MemTensorByIdsViewSet.as_view({"post": "by_ids"})),
    path("product/get_memory_dashboard", MemTensorMemoryViewSet.as_view({"post": "dashboard"})),
    path("product/delete_memory_by_record_id", MemTensorRecordViewSet.as_view({"post": "delete_all"})),
    path("product/recover_memory_by_record_id", MemTensorRecordViewSet.as_view({"post": "recover"})),
    path("product/delete_memory", MemTensorMemoryViewSet.as_view({"post": "delete_memories"})),
    path("product/feedback", MemTensorMemoryViewSet.as_view({"post": "judge"})),
    path("product/suggestions", MemTensorMemoryViewSet.as_view({"post": "suggestions"})),
    path("product/get_user_names_by_memory_ids", MemTensorMemoryViewSet.as_view({"post": "names"})),
    path("product/chat/complete", MemTensorChatViewSet.as_view({"post": "create"})),
    path("product/chat/stream", MemTensorChatViewSet.as_view({"post": "stream"})),
    path("product/chat/stream/playground", MemTensorChatViewSet.as_view({"post": "playground"})),
    path("product/create_cube", MemTensorCubeViewSet.as_view({"post": "create"})),
    path("product/register_cube", MemTensorCubeViewSet.as_view({"post": "register"})),
    path("product/exist_mem_cube_id", MemTensorCubeViewSet.as_view({"post": "exists"})),
    path("product/users", MemTensorUserViewSet.as_view({"get": "list_users"})),
    path("product/users/register", MemTensorUserViewSet.as_view({"post": "create"})),
    path("product/users/<str:user_id>", MemTensorUserViewSet.as_view({"get": "retrieve"})),
    path("product/scheduler/allstatus", MemTensorSchedulerViewSet.as_view({"get": "all_status"})),
    path("product/scheduler/status", MemTensorSchedulerViewSet.as_view({"get": "status"})),
    path("product/scheduler/task_queue_status", MemTensorSchedulerViewSet.as_view({"get": "queue"})),
    path("product/scheduler/wait", MemTensorSchedulerViewSet.as_view({"post": "wait"})),
    path("product/scheduler/wait/stream", MemTensorSchedulerViewSet.as_view({"post": "wait_stream"})),
    path("api/openmem/v1/add/message", OpenMemViewSet.as_view({"post": "add"})),
    path("api/openmem/v1/add/feedback", OpenMemViewSet.as_view({"post": "judge"})),
    path("api/openmem/v1/search/memory", OpenMemViewSet.as_view({"post": "search_memories"})),
    path("api/openmem/v1/get/memory", OpenMemViewSet.as_view({"post": "list_memories"})),
    path("api/openmem/v1/get/memory/<id:memory_id>", OpenMemViewSet.as_view({"get": "retrieve"})),
    path("api/openmem/v1/get/message", OpenMemViewSet.as_view({"post": "list_messages"})),
    path("api/openmem/v1/get/status", OpenMemViewSet.as_view({"post": "status"})),
    path("api/openmem/v1/delete/memory", OpenMemViewSet.as_view({"post": "delete_memories"})),
    path("configure", ClassicViewSet.as_view({"post": "configure"})),
    path("users", MemTensorUserViewSet.as_view({"get": "classic_list", "post": "classic_create"})),
    path("users/me", MemTensorUserViewSet.as_view({"get": "me"})),
    path("mem_cubes/<str:mem_cube_id>", MemTensorCubeViewSet.as_view({"delete": "destroy"})),
    path("mem_cubes/<str:mem_cube_id>/share", MemTensorCubeViewSet.as_view({"post": "share"})),
    path(
        "memories/<str:mem_cube_id>/<id:memory_id>",
        ClassicMemoryViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path("mem_cubes", MemTensorCubeViewSet.as_view({"post": "classic_register"})),
    path("chat", MemTensorChatViewSet.as_view({"post": "classic"})),
    # These paths are only for MemTensor's API; the shared ones below could also be mem0's.
    path("memtensor/memories", ClassicViewSet.as_view({"post": "create", "get": "list_memories"})),
    path("memtensor/search", ClassicViewSet.as_view({"post": "search_memories"})),
    path("memories", SharedRoutesViewSet.as_view({"post": "create", "get": "list", "delete": "delete_all"})),
    path("search", SharedRoutesViewSet.as_view({"post": "search_memories"})),
]
