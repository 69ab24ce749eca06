"""The file memory of deepagents on MemOSStore: files are written, found and changed, and another agent reads them."""

from __future__ import annotations

from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from memos_client import MemOS
from memos_client.langgraph import MemOSStore

FILES = ("filesystem",)
NOTES, LARGE = "/memories/notes.md", "/memories/large.txt"
LINES = "\n".join(f"Line {number}: {'x' * 80}" for number in range(2000))


class Model(GenericFakeChatModel):
    """A model that calls the tools in the test's list."""

    def bind_tools(self, tools: Any, **options: Any) -> Model:
        return self


def use_tools(*calls: tuple[str, dict[str, Any]]) -> list[str]:
    """Return the tools' answers to an agent that calls them in turn."""
    said: list[AIMessage | str] = [
        AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])
        for number, (name, arguments) in enumerate(calls)
    ]
    files = StoreBackend(namespace=lambda runtime: FILES)
    agent = create_deep_agent(
        model=Model(messages=iter([*said, AIMessage("Done.")])),
        backend=CompositeBackend(default=StateBackend(), routes={"/memories/": files}),
        store=MemOSStore(MemOS()),
    )
    told = agent.invoke({"messages": [("user", "Use your files.")]})["messages"]
    return [message.text for message in told if message.type == "tool"]


def main() -> None:
    written = use_tools(
        ("write_file", {"file_path": NOTES, "content": "The ferry leaves at nine.\nBees live in Porto."}),
        ("edit_file", {"file_path": NOTES, "old_string": "nine", "new_string": "ten"}),
        ("write_file", {"file_path": LARGE, "content": LINES}),
    )
    assert "Successfully replaced 1" in written[1], written
    listed, found, numbered, large = use_tools(
        ("ls", {"path": "/memories/"}),
        ("grep", {"pattern": "ferry", "path": "/memories/"}),
        ("read_file", {"file_path": NOTES}),
        ("read_file", {"file_path": LARGE, "offset": 1998, "limit": 2}),
    )
    assert NOTES in listed
    assert LARGE in listed
    assert NOTES in found
    assert "The ferry leaves at ten." in numbered
    assert "Line 1998" in large
    assert "Line 1999" in large
    item = MemOSStore(MemOS()).get(FILES, "/large.txt")
    assert item is not None
    assert item.value["content"] == LINES


main()
