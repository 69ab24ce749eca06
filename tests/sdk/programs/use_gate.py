"""Every adapter that writes reports what the gate replaced by marks."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage
from llama_index.core.base.llms.types import ChatMessage
from memos_client import ChangedByGate, MemOS
from memos_client.agno import memory_toolkit
from memos_client.langchain import MemOSChatMessageHistory, memory_tools
from memos_client.langgraph import MemOSStore
from memos_client.llama_index import MemOSMemoryBlock
from memos_client.openai_agents import MemOSSession
from memos_client.pydantic_ai import memory_toolset

SECRET = "sk_live_51HqLyjWDarjtT1zdp7dcXyZabcd1234"


def check(name: str, write: Callable[[str], Any], *, says: bool = False) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        answer = write(f"My key for {name} is {SECRET}, by the way.")
    assert [one.category for one in told if one.category is ChangedByGate] == [ChangedByGate], (name, told)
    assert not says or answer == "Remembered, with marks in place of secrets.", (name, answer)


with MemOS() as memos:
    history, session = MemOSChatMessageHistory(memos, "history"), MemOSSession(memos, "session")
    block, store = MemOSMemoryBlock(memos=memos), MemOSStore(memos)
    remember = memory_toolset(memos).tools["remember"].function
    toolkit = memory_toolkit(memos)
    check("LangChain", lambda text: history.add_messages([HumanMessage(text)]))
    check("a tool", lambda text: memory_tools(memos)[0].invoke({"text": text}), says=True)
    check("LangGraph", lambda text: store.put(("a",), "key", {"text": text}))
    check("LlamaIndex", lambda text: asyncio.run(block.aput([ChatMessage(text)])))
    check("the Agents SDK", lambda text: asyncio.run(session.add_items([{"role": "user", "content": text}])))
    check("Pydantic AI", remember, says=True)
    check("Agno", lambda text: toolkit.functions["remember"].entrypoint(text=text), says=True)
    assert all(SECRET not in one["text"] for one in memos.memories.all())
