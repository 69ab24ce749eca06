"""Agno: tools with which an agent remembers and recalls, and a retriever that replaces a knowledge base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memos_client.adapters import MemoryTools, missing, recall_hits
from memos_client.client import MemOS

try:
    from agno.agent import Agent
    from agno.tools import Toolkit
except ImportError as error:
    raise missing("Agno", "agno") from error


def memory_toolkit(memos: MemOS, **options: Any) -> Toolkit:
    """Return the tools `remember` and `recall`: `Agent(…, tools=[memory_toolkit(memos)])`.

    `options` are further options of `recall`.
    """
    tools = MemoryTools(memos, **options)
    return Toolkit(name="memos", tools=[tools.remember, tools.recall])


def knowledge_retriever(memos: MemOS, *, k: int = 6, **options: Any) -> Callable[..., list[dict[str, Any]]]:
    """Return a retriever: `Agent(…, knowledge_retriever=knowledge_retriever(memos), search_knowledge=True)`, or with
    `add_knowledge_to_context=True`. Filters of Agno's knowledge are refused; pass a filter of MemOS in `options`."""

    def retrieve(
        query: str, agent: Agent | None = None, num_documents: int | None = None, filters: Any = None, **_: Any
    ) -> list[dict[str, Any]]:
        if filters:
            raise NotImplementedError("Agno's filters are not MemOS's: give knowledge_retriever its `filter=`.")
        found = recall_hits(memos, query, top_k=num_documents or k, **options)
        return [
            {"content": hit["text"], "meta_data": {**hit["metadata"], "id": hit["id"], "relevance": hit["relevance"]}}
            for hit in found
        ]

    return retrieve
