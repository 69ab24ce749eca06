"""LlamaIndex: a block for its `Memory` that stores messages leaving the short-term memory and recalls relevant ones."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from memos_client.adapters import check_kept, missing, read_lines
from memos_client.client import MemOS
from memos_client.errors import NotKept

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.memory import BaseMemoryBlock
except ImportError as error:
    raise missing("LlamaIndex", "llama-index") from error

log = logging.getLogger(__name__)
_ROLES = {MessageRole.USER: "user", MessageRole.SYSTEM: "system", MessageRole.DEVELOPER: "system"}
_ROLES |= {MessageRole.TOOL: "tool", MessageRole.FUNCTION: "tool"}


class MemOSMemoryBlock(BaseMemoryBlock[str]):
    """Looks up the user's last message among all memories of the namespace, whatever their session.

    Messages that the gate refuses are logged and skipped, because a block has to find relevant messages, not keep all.
    """

    name: str = "memories"
    memos: MemOS = Field(exclude=True)
    k: int = 6
    options: dict[str, Any] = Field(default_factory=dict, description="What else recall takes, such as filter")

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = [one.content for one in messages or () if one.role == MessageRole.USER and one.content]
        if not asked:
            return ""
        return await asyncio.to_thread(read_lines, self.memos, asked[-1], top_k=self.k, **self.options)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        told = [item for item in map(_to_item, messages) if item["text"].strip()]
        if not told:
            return
        done = await asyncio.to_thread(self.memos.remember_all, told)
        for outcome in done["results"]:
            try:
                check_kept("A message", outcome)
            except NotKept as kept_out:
                log.warning("%s", kept_out)


def _to_item(message: ChatMessage) -> dict[str, Any]:
    session = message.additional_kwargs.get("session_id")
    item = {"text": message.content or "", "role": _ROLES.get(message.role, "agent")}
    return {**item, "session_id": session} if session else item
