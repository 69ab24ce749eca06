"""The routes of the API."""

from django.urls import path

from memory.api.anthropic.views import MessageViewSet
from memory.api.hindsight.views import BankViewSet
from memory.api.mcp.oauth import ProtectedResourceView
from memory.api.mcp.view import McpViewSet
from memory.api.mem0 import urls as mem0
from memory.api.memtensor import urls as memtensor
from memory.api.openai_responses.views import ResponseViewSet
from memory.api.route_tags import MAKERS
from memory.api.views import health
from memory.api.views.activation import ActivationViewSet
from memory.api.views.adapters import AdapterViewSet
from memory.api.views.answer import AnswerViewSet
from memory.api.views.bulk import BulkChangeViewSet, MemoriesViewSet
from memory.api.views.changes import ChangeViewSet
from memory.api.views.chat import ChatViewSet
from memory.api.views.completions import ChatCompletionViewSet
from memory.api.views.cube_files import CubeFileViewSet
from memory.api.views.cubes import CubeViewSet
from memory.api.views.documents import DocumentFileViewSet, DocumentViewSet
from memory.api.views.embeddings import EmbeddingViewSet
from memory.api.views.entities import EntityViewSet
from memory.api.views.erasure import ErasureViewSet
from memory.api.views.evaluation import EvaluationViewSet
from memory.api.views.export import MemoryExportViewSet
from memory.api.views.imports import ImportViewSet
from memory.api.views.ingest import IngestViewSet
from memory.api.views.jobs import JobViewSet
from memory.api.views.judgement import JudgementViewSet
from memory.api.views.memories import MemoryViewSet
from memory.api.views.models import ModelViewSet
from memory.api.views.openapi import DocsView, OpenAPIView
from memory.api.views.ops import OpsViewSet
from memory.api.views.policy import PolicyViewSet
from memory.api.views.protocol import ProtocolViewSet
from memory.api.views.quarantine import QuarantineViewSet
from memory.api.views.query import QueryViewSet
from memory.api.views.retrieval import RetrievalViewSet
from memory.api.views.search import SearchBatchViewSet, SearchViewSet
from memory.api.views.session import SessionViewSet
from memory.api.views.training import TrainingExportViewSet
from memory.api.views.tree import TreeViewSet
from memory.api.views.uploads import UploadPartViewSet, UploadViewSet
from memory.api.views.usage import UsageViewSet
from memory.api.views.users import UserViewSet
from memory.api.views.webhooks import WebhookViewSet
from memory.api.views.why import WhyViewSet

urlpatterns = [
    # Looked through in this order: first what is asked for most.
    path("v1/query", QueryViewSet.as_view({"post": "create"})),
    path("v1/ingest", IngestViewSet.as_view({"post": "create"})),
    path("health", health.health),
    path("health/live", health.live),
    path("health/ready", health.ready),
    path("metrics", health.metrics),
    path("v1/ingest/batch", IngestViewSet.as_view({"post": "batch"})),
    path("v1/documents", DocumentViewSet.as_view({"post": "create", "get": "list"})),
    path(
        "v1/documents/<path:document_id>/reparse",
        DocumentViewSet.as_view({"post": "reparse"}),
    ),
    path("v1/document-files", DocumentFileViewSet.as_view({"get": "list"})),
    path("v1/document-files/<id:file_id>", DocumentFileViewSet.as_view({"get": "retrieve"})),
    path("v1/documents/<path:document_id>", DocumentViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path(
        "v1/memories",
        MemoriesViewSet.as_view({"get": "list", "patch": "partial_update", "delete": "destroy"}),
    ),
    path("v1/uploads", UploadViewSet.as_view({"post": "create"})),
    path("v1/uploads/<id:upload_id>", UploadViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path("v1/uploads/<id:upload_id>/parts/<int:number>", UploadPartViewSet.as_view({"put": "update"})),
    path("v1/imports", ImportViewSet.as_view({"post": "create", "get": "list"})),
    path("v1/imports/<id:import_id>", ImportViewSet.as_view({"get": "retrieve"})),
    path("v1/imports/<id:import_id>/cancel", ImportViewSet.as_view({"post": "cancel"})),
    path("v1/exports/training", TrainingExportViewSet.as_view({"post": "create", "get": "list"})),
    path(
        "v1/exports/training/<id:dataset_id>",
        TrainingExportViewSet.as_view({"get": "retrieve", "delete": "destroy"}),
    ),
    path("v1/exports/training/<id:dataset_id>/<str:file>", TrainingExportViewSet.as_view({"get": "read_file"})),
    path("v1/adapters", AdapterViewSet.as_view({"post": "create", "get": "list"})),
    path("v1/adapters/<id:adapter_id>", AdapterViewSet.as_view({"get": "retrieve"})),
    path("v1/adapters/<id:adapter_id>/activate", AdapterViewSet.as_view({"post": "activate"})),
    path("v1/adapters/<id:adapter_id>/retire", AdapterViewSet.as_view({"post": "retire"})),
    path("v1/memories/export", MemoryExportViewSet.as_view({"get": "list"})),
    path("v1/memories/bulk/<id:change_id>", BulkChangeViewSet.as_view({"get": "retrieve"})),
    path("v1/memories/bulk/<id:change_id>/undo", BulkChangeViewSet.as_view({"post": "undo"})),
    path(
        "v1/memories/<id:memory_id>",
        MemoryViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    ),
    path("v1/memories/<id:memory_id>/history", MemoryViewSet.as_view({"get": "history"})),
    path("v1/memories/<id:memory_id>/restore", MemoryViewSet.as_view({"post": "restore"})),
    path("v1/memories/<id:memory_id>/supersede", MemoryViewSet.as_view({"post": "supersede"})),
    path("v1/memories/<id:memory_id>/pin", MemoryViewSet.as_view({"post": "pin"})),
    path("v1/memories/<id:memory_id>/unpin", MemoryViewSet.as_view({"post": "unpin"})),
    path("v1/memories/<id:memory_id>/feedback", MemoryViewSet.as_view({"post": "feedback"})),
    path("v1/search", SearchViewSet.as_view({"post": "create"})),
    path("v1/retrieval", RetrievalViewSet.as_view({"post": "create"})),
    path("v1/search/batch", SearchBatchViewSet.as_view({"post": "create"})),
    path("v1/answer", AnswerViewSet.as_view({"post": "create"})),
    path("v1/answer/stream", AnswerViewSet.as_view({"post": "stream"})),
    path("v1/chat", ChatViewSet.as_view({"post": "create"})),
    path("v1/chat/stream", ChatViewSet.as_view({"post": "stream"})),
    path("v1/chat/completions", ChatCompletionViewSet.as_view({"post": "create"})),
    path("v1/responses", ResponseViewSet.as_view({"post": "create"})),
    path("v1/responses/<str:response_id>", ResponseViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path("v1/messages", MessageViewSet.as_view({"post": "create"})),
    path("v1/messages/count_tokens", MessageViewSet.as_view({"post": "count"})),
    path("v1/embeddings", EmbeddingViewSet.as_view({"post": "create"})),
    path("v1/models", ModelViewSet.as_view({"get": "show_all"})),
    path("v1/models/<path:model>", ModelViewSet.as_view({"get": "retrieve"})),
    path("v1/why", WhyViewSet.as_view({"post": "create"})),
    path("v1/ops/stats", OpsViewSet.as_view({"get": "stats"})),
    path("v1/ops/pipeline", OpsViewSet.as_view({"get": "pipeline"})),
    path("v1/ops/audit", OpsViewSet.as_view({"get": "audit"})),
    path("v1/ops/condensations", OpsViewSet.as_view({"get": "condensations"})),
    path("v1/ops/context_packs", OpsViewSet.as_view({"get": "context_packs"})),
    path("v1/ops/procedural", OpsViewSet.as_view({"get": "procedural"})),
    path("v1/entities", EntityViewSet.as_view({"get": "list"})),
    path("v1/entities/<id:entity_id>", EntityViewSet.as_view({"get": "retrieve"})),
    path("v1/entities/<id:entity_id>/merge", EntityViewSet.as_view({"post": "merge"})),
    path("v1/entities/<id:entity_id>/split", EntityViewSet.as_view({"post": "split"})),
    path("v1/tree", TreeViewSet.as_view({"get": "list"})),
    path("v1/tree/rebuild", TreeViewSet.as_view({"post": "rebuild"})),
    path("v1/graph", EntityViewSet.as_view({"get": "graph"})),
    path("v1/ops/jobs", JobViewSet.as_view({"get": "recent"})),
    path("v1/ops/jobs/<id:job_id>", JobViewSet.as_view({"get": "retrieve"})),
    path("v1/ops/jobs/<id:job_id>/replay", JobViewSet.as_view({"post": "replay"})),
    path("v1/ops/jobs/<id:job_id>/discard", JobViewSet.as_view({"post": "discard"})),
    path("v1/usage", UsageViewSet.as_view({"get": "totals"})),
    path("v1/evaluations", EvaluationViewSet.as_view({"get": "recent", "post": "create"})),
    path("v1/evaluations/compare", EvaluationViewSet.as_view({"get": "compare"})),
    path("v1/evaluations/<id:run_id>", EvaluationViewSet.as_view({"get": "retrieve"})),
    path("v1/judgements", JudgementViewSet.as_view({"get": "recent", "post": "create"})),
    path("v1/erasures", ErasureViewSet.as_view({"get": "recent", "post": "create"})),
    path("v1/erasures/<id:erasure_id>", ErasureViewSet.as_view({"get": "retrieve"})),
    path("v1/quarantine", QuarantineViewSet.as_view({"get": "recent"})),
    path("v1/quarantine/<id:item_id>", QuarantineViewSet.as_view({"get": "retrieve"})),
    path("v1/quarantine/<id:item_id>/release", QuarantineViewSet.as_view({"post": "release"})),
    path("v1/quarantine/<id:item_id>/discard", QuarantineViewSet.as_view({"post": "discard"})),
    path("v1/policy", PolicyViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("v1/policy/preview", PolicyViewSet.as_view({"post": "preview"})),
    path("v1/policy/exemptions", PolicyViewSet.as_view({"post": "exempt"})),
    path("v1/changes", ChangeViewSet.as_view({"get": "show"})),
    path("v1/webhooks", WebhookViewSet.as_view({"get": "recent", "post": "create"})),
    path(
        "v1/webhooks/<id:webhook_id>",
        WebhookViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    ),
    path("v1/webhooks/<id:webhook_id>/secret", WebhookViewSet.as_view({"post": "rotate"})),
    path("v1/webhooks/<id:webhook_id>/test", WebhookViewSet.as_view({"post": "test"})),
    path("v1/webhooks/<id:webhook_id>/replay", WebhookViewSet.as_view({"post": "replay_failed"})),
    path("v1/webhooks/<id:webhook_id>/deliveries", WebhookViewSet.as_view({"get": "deliveries"})),
    path(
        "v1/webhooks/<id:webhook_id>/deliveries/<id:delivery_id>/replay",
        WebhookViewSet.as_view({"post": "replay"}),
    ),
    path("v1/cubes/<id:cube_id>/activation", ActivationViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "v1/cubes/<id:cube_id>/activation/<id:cache_id>",
        ActivationViewSet.as_view({"get": "retrieve", "delete": "destroy"}),
    ),
    path("v1/cubes/<id:cube_id>/activation/<id:cache_id>/use", ActivationViewSet.as_view({"post": "load"})),
    path("v1/cubes/<id:cube_id>/activation/<id:cache_id>/file", ActivationViewSet.as_view({"get": "download"})),
    path("v1/users", UserViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "v1/users/<id:user_id>",
        UserViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    ),
    path("v1/users/<id:user_id>/profile", UserViewSet.as_view({"get": "profile"})),
    path("v1/users/<id:user_id>/erasure", UserViewSet.as_view({"get": "erasure"})),
    path("v1/cubes", CubeViewSet.as_view({"get": "list", "post": "create"})),
    path("v1/cubes/load", CubeFileViewSet.as_view({"post": "load"})),
    path("v1/cubes/files", CubeFileViewSet.as_view({"get": "list"})),
    path("v1/cubes/files/<id:file_id>", CubeFileViewSet.as_view({"get": "retrieve", "delete": "destroy"})),
    path("v1/cubes/files/<id:file_id>/content", CubeFileViewSet.as_view({"get": "content"})),
    path("v1/cubes/files/<id:file_id>/cancel", CubeFileViewSet.as_view({"post": "cancel"})),
    path("v1/cubes/<id:cube_id>/dump", CubeFileViewSet.as_view({"post": "dump"})),
    path("v1/cubes/register", CubeViewSet.as_view({"post": "register"})),
    path(
        "v1/cubes/<id:cube_id>",
        CubeViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    ),
    path("v1/cubes/<id:cube_id>/shares", CubeViewSet.as_view({"get": "shares", "post": "share"})),
    path("v1/cubes/<id:cube_id>/shares/<id:user_id>", CubeViewSet.as_view({"delete": "revoke"})),
    path("v1/sessions/reset", SessionViewSet.as_view({"post": "reset"})),
    path("v1/dev/seed", SessionViewSet.as_view({"post": "seed"})),
    path("api/v1/memory/ingest", ProtocolViewSet.as_view({"post": "ingest"})),
    path("api/v1/memory/query", ProtocolViewSet.as_view({"post": "query"})),
    path("v1/default/banks/<str:bank_id>", BankViewSet.as_view({"put": "create", "delete": "destroy"})),
    path("v1/default/banks/<str:bank_id>/profile", BankViewSet.as_view({"get": "profile"})),
    path("v1/default/banks/<str:bank_id>/memories", BankViewSet.as_view({"post": "retain"})),
    path("v1/default/banks/<str:bank_id>/memories/recall", BankViewSet.as_view({"post": "recall"})),
    path("v1/default/banks/<str:bank_id>/memories/list", BankViewSet.as_view({"get": "units"})),
    path("v1/default/banks/<str:bank_id>/reflect", BankViewSet.as_view({"post": "reflect"})),
    *mem0.urlpatterns,
    *memtensor.urlpatterns,
    path("mcp", McpViewSet.as_view({"post": "create"})),
    path(".well-known/oauth-protected-resource", ProtectedResourceView.as_view()),
    path(".well-known/oauth-protected-resource/mcp", ProtectedResourceView.as_view()),
    path("openapi.json", OpenAPIView.as_view(), name="openapi"),
    path("docs", DocsView.as_view(url_name="openapi"), name="docs"),
    *(path(f"openapi/{maker}.json", OpenAPIView.as_view(maker=maker)) for maker in MAKERS if maker),
    *(path(f"docs/{maker}", DocsView.as_view(url=f"/openapi/{maker}.json")) for maker in MAKERS if maker),
]
