"""Rerankers: each provider is a module `memory.providers.rerank.NAME` with its `KIND`, and is described here.

The settings read these tables, so nothing is imported here.
"""

OFF = "off"
# Servers that are called over HTTP, each with its own request format.
ENDPOINTS = {
    "tei": "an endpoint of text-embeddings-inference",
    "vllm": "an endpoint of vLLM",
    "cohere": "Cohere's API, or one like it",
    "jina": "Jina's API",
}
PROVIDERS = {"onnx": "a cross-encoder from a local folder", **ENDPOINTS}
