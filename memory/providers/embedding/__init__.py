"""Providers of embeddings: `memory.providers.embedding.NAME`, each with its `KIND`, and here what people read of it.

The settings read this table: it imports nothing.
"""

PROVIDERS = {
    "minilm": "all-MiniLM-L6-v2 on this machine's CPU, nothing to download",
    "openai": "any OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, TEI",
    "hash": "deterministic, for tests",
}
