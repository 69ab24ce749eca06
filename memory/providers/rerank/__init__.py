"""Rerankers: `memory.providers.rerank.NAME`, each with its `KIND`, and here what people read of it.

The settings read these tables: nothing is imported.
"""

OFF = "off"
# Servers that are asked over HTTP, each in a shape of its own.
ENDPOINTS = {
    "tei": "an endpoint of text-embeddings-inference",
    "vllm": "an endpoint of vLLM",
    "cohere": "Cohere's API, or one like it",
    "jina": "Jina's API",
}
PROVIDERS = {"onnx": "a cross-encoder from a local folder", **ENDPOINTS}
