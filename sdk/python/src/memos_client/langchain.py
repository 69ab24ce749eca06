"""LangChain: a retriever, the history of a chat, and tools with which an agent remembers and recalls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from memos_client.adapters import MOST_TEXT_CHARS, Conversation, MemoryTools, Turn, missing, recall_hits
from memos_client.client import MemOS

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor
    from langchain_core.tools import BaseTool, StructuredTool
except ImportError as error:
    raise missing("LangChain", "langchain") from error

KEY = "langchain"
_ROLES = {"human": "user", "ai": "agent", "system": "system", "tool": "tool", "function": "tool"}


class MemOSRetriever(BaseRetriever):
    """Retrieves the memories that answer a question best. `options` are further options of `recall`, such as filter.

    A call may override them: `retriever.invoke(question, k=1, min_relevance=0.5)`.
    """

    memos: MemOS
    k: int = 6
    options: dict[str, Any] = {}

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None, **options: Any
    ) -> list[Document]:
        asked = {**self.options, **options}
        return [
            Document(hit["text"], id=hit["id"], metadata={**hit["metadata"], "relevance": hit["relevance"]})
            for hit in recall_hits(self.memos, query, top_k=self.k if k is None else k, **asked)
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        search = partial(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **options)
        return await run_in_executor(None, search)


class MemOSChatMessageHistory(BaseChatMessageHistory):
    """The messages of a session, each a memory. Clearing archives them: `memos.memories.restore` brings one back."""

    def __init__(self, memos: MemOS, session_id: str) -> None:
        self._conversation = Conversation(memos, session_id, KEY)

    @property
    def messages(self) -> list[BaseMessage]:
        return messages_from_dict([_item_of(one["text"], one["metadata"][KEY]) for one in self._conversation.read()])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store the messages. Raises NotKept if the gate refuses one."""
        self._conversation.add([_turn_of(message) for message in messages])

    def clear(self) -> None:
        self._conversation.clear()


def memory_tools(memos: MemOS, **options: Any) -> list[BaseTool]:
    """Return the tools `remember` and `recall`, for an agent of LangChain or LangGraph.

    They need no checkpointer, because memories are available in every thread. `options` are further options of
    `recall`.
    """
    tools = MemoryTools(memos, **options)
    return [StructuredTool.from_function(one, parse_docstring=True) for one in (tools.remember, tools.recall)]


def _turn_of(message: BaseMessage) -> Turn:
    """Return the message as a turn. Plain content is stored as the text only, so correcting the memory corrects it."""
    item = message_to_dict(message)
    role = _ROLES.get(message.type.removesuffix("MessageChunk").lower(), "user")
    content = message.content
    if isinstance(content, str) and content.strip() and len(content) <= MOST_TEXT_CHARS:
        del item["data"]["content"]
        return Turn(content, role, item, message.name or "")
    return Turn(message.text.strip() or json.dumps(item["data"], ensure_ascii=False), role, item, message.name or "")


def _item_of(text: str, item: Mapping[str, Any]) -> dict[str, Any]:
    return {**item, "data": {"content": text, **item["data"]}}
