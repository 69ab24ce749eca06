"""The toolset in an agent with a scripted model."""

from __future__ import annotations

from typing import Any

from memos_client import MemOS
from memos_client.pydantic_ai import memory_toolset
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

seen: dict[str, Any] = {}


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Remember and recalls, then say what came back."""
    seen["tools"] = {tool.name: tool for tool in info.function_tools}
    returned = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if not returned:
        return ModelResponse(parts=[ToolCallPart("remember", {"text": "Priya reviews the migration."})])
    if returned == ["Remembered."]:
        return ModelResponse(parts=[ToolCallPart("recall", {"query": "Who reviews the migration?"})])
    return ModelResponse(parts=[TextPart(str(returned[0]))])


with MemOS() as memos:
    agent = Agent(FunctionModel(answer), toolsets=[memory_toolset(memos, top_k=3)])
    assert agent.run_sync("Go").output.endswith("Priya reviews the migration.")
    assert set(seen["tools"]) == {"remember", "recall"}
    assert "one sentence" in seen["tools"]["remember"].description
    assert seen["tools"]["recall"].parameters_json_schema["properties"]["query"]["description"]
    assert memos.recall("Who reviews the migration?")["hits"][0]["metadata"]["role"] == "agent"
