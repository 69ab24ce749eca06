"""Pydantic AI: a toolset with which an agent remembers and recalls."""

from __future__ import annotations

from typing import Any

from memos_client.adapters import MemoryTools, missing
from memos_client.client import MemOS

try:
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise missing("Pydantic AI", "pydantic-ai") from error


def memory_toolset(memos: MemOS, **options: Any) -> FunctionToolset[Any]:
    """Return the tools `remember` and `recall`: `Agent(…, toolsets=[memory_toolset(memos)])`.

    `options` are further options of `recall`.
    """
    tools = MemoryTools(memos, **options)
    return FunctionToolset([tools.remember, tools.recall], id="memos")
