"""The toolkit and the retriever in an agent with a scripted model."""

from __future__ import annotations

import json
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from memos_client import MemOS
from memos_client.agno import knowledge_retriever, memory_toolkit
from refusals import refused

seen: dict[str, Any] = {}


class Scripted(Model):
    """A model that remembers and recalls, then repeats the result."""

    def invoke(self, messages: Any, tools: Any = None, **named: Any) -> ModelResponse:
        seen["tools"] = {tool["function"]["name"]: tool["function"] for tool in tools or ()}
        seen["messages"] = [str(message.content) for message in messages]
        returned = [str(message.content) for message in messages if message.role == "tool"]
        if not tools or len(returned) > 1:
            return ModelResponse(role="assistant", content=returned[-1] if returned else "nothing")
        name, given = ("recall", {"query": "Who reviews the migration?"}) if returned else ("remember", {"text": FACT})
        call = {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        return ModelResponse(role="assistant", tool_calls=[call])

    async def ainvoke(self, *given: Any, **named: Any) -> ModelResponse:
        return self.invoke(*given, **named)

    def invoke_stream(self, *given: Any, **named: Any) -> Any:
        raise NotImplementedError

    def ainvoke_stream(self, *given: Any, **named: Any) -> Any:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **named: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


FACT = "Priya reviews the migration."

with MemOS() as memos:
    agent = Agent(model=Scripted(id="scripted"), tools=[memory_toolkit(memos, top_k=3)], telemetry=False)
    assert agent.run("Go").content.endswith(FACT)
    assert "one sentence" in seen["tools"]["remember"]["description"]
    assert seen["tools"]["recall"]["parameters"]["properties"]["query"]["type"] == "string"
    informed = Agent(
        model=Scripted(id="scripted"),
        knowledge_retriever=knowledge_retriever(memos, k=1),
        add_knowledge_to_context=True,
        search_knowledge=False,
        telemetry=False,
    )
    informed.run("Who reviews the migration?")
    assert FACT in seen["messages"][-1], seen["messages"]
    retrieve = knowledge_retriever(memos)
    assert retrieve("Who reviews the migration?", num_documents=1)[0]["content"] == FACT
    assert "filter=" in str(refused(NotImplementedError, retrieve, "Who?", filters={"project": "m1"}))
