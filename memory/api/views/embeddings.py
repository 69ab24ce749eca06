from __future__ import annotations

import base64

import numpy as np
from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.route_tags import OPENAI
from memory.api.serializers.embeddings import EmbeddingListSerializer, EmbeddingRequestSerializer
from memory.api.views.completions import HEADERS, NAMESPACE, NAMESPACE_HEADER, OpenAIViewSet, read_name
from memory.enums import AccessScope
from memory.services.gateway.embeddings import embed_texts
from memory.services.tenancy.namespaces import default_namespace
from memory.text.tokens import count_tokens


@extend_schema(tags=[OPENAI.name])
class EmbeddingViewSet(OpenAIViewSet):
    """OpenAI's embeddings API, served by the model that search uses."""

    required_scope = AccessScope.READ

    @extend_schema(
        operation_id="create_embeddings",
        summary="Vectors of texts, by the embedding model that search uses",
        request=EmbeddingRequestSerializer,
        responses={200: EmbeddingListSerializer},
        parameters=HEADERS[:1],
    )
    def create(self, request: Request) -> Response:
        values = self.valid(EmbeddingRequestSerializer, request.data)
        # Calls of a remote model are attributed to the namespace.
        if namespace := read_name(request, NAMESPACE_HEADER, {}, NAMESPACE) or default_namespace(self.access):
            self.scope_if_there(namespace)
        texts = values["input"]
        made = embed_texts(texts, model=values["model"], dimensions=values["dimensions"])
        encode = _encode if values["encoding_format"] == "base64" else _list
        tokens = sum(count_tokens(text, settings.MEMOS_TOKENIZER) for text in texts)
        return Response(
            {
                "object": "list",
                "data": [
                    {"object": "embedding", "index": index, "embedding": encode(vector)}
                    for index, vector in enumerate(made.vectors)
                ],
                "model": made.model,
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }
        )


def _list(vector: np.ndarray) -> list[float]:
    return list(vector.tolist())


def _encode(vector: np.ndarray) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
