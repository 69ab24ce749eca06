"""Translates a chat completion into a response of OpenAI's Responses API: whole, or as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memory.api.openai_responses.tools import Tools, read_custom_input
from memory.text.completion_parts import CallPiece, CompletionReader, Part

Event = tuple[str, dict[str, Any]]

# Prefixes of item ids.
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}


class ResponseWriter:
    """Writes one response as a `memory.api.translated_answer.AnswerWriter`.

    `response` is the current state of the response, so send each event before you ask for the next one. `name` is the
    common part of the ids of the response and its items.
    """

    def __init__(self, head: Mapping[str, Any], name: str, tools: Tools) -> None:
        self.response: dict[str, Any] = {
            "id": f"resp_{name}",
            "object": "response",
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "output": [],
            "usage": None,
            **head,
        }
        self._name = name
        self._tools = tools
        self._number = -1
        # The item that is being written. The index of a call tells it from the next one.
        self._item: dict[str, Any] | None = None
        self._call: int | None = None
        self._arguments = ""

    def begin(self) -> Iterator[Event]:
        yield self._event("response.created", response=self.response)
        yield self._event("response.in_progress", response=self.response)

    def take(self, part: Part) -> Iterator[Event]:
        if isinstance(part, CallPiece):
            yield from self._take_call(part)
            return
        kind = "reasoning" if part.is_thinking else "message"
        if self._item is None or self._item["type"] != kind:
            yield from self._close()
            yield from self._open_text(kind)
        assert self._item is not None
        if part.is_thinking:
            self._item["summary"][0]["text"] += part.text
            yield self._of_item("response.reasoning_summary_text.delta", summary_index=0, delta=part.text)
        else:
            self._item["content"][0]["text"] += part.text
            yield self._of_item("response.output_text.delta", content_index=0, delta=part.text, logprobs=[])

    def end(self, ended: CompletionReader) -> Iterator[Event]:
        status = "incomplete" if ended.is_cut_off else "completed"
        yield from self._close(status)
        self.response |= {"status": status, "usage": _count_tokens(ended.usage), "memos": ended.memos}
        if ended.is_cut_off:
            reason = "content_filter" if ended.finish == "content_filter" else "max_output_tokens"
            self.response["incomplete_details"] = {"reason": reason}
        yield self._event(f"response.{status}", response=self.response)

    def fail(self, error: Mapping[str, Any]) -> Iterator[Event]:
        if self._item:
            self._item["status"] = "incomplete"
        # OpenAI's clients do not know the error codes of MemOS.
        self.response |= {"status": "failed", "error": {"code": "server_error", "message": error["message"]}}
        yield self._event("response.failed", response=self.response)

    def _take_call(self, piece: CallPiece) -> Iterator[Event]:
        if self._call != piece.index:
            yield from self._close()
            yield from self._open_call(piece)
        self._arguments += piece.arguments
        assert self._item is not None
        if self._item["type"] == "function_call" and piece.arguments:
            self._item["arguments"] += piece.arguments
            yield self._of_item("response.function_call_arguments.delta", delta=piece.arguments)

    def _open_text(self, kind: str) -> Iterator[Event]:
        if kind == "reasoning":
            yield from self._open({"type": kind, "summary": []})
            part: dict[str, Any] = {"type": "summary_text", "text": ""}
            yield self._of_item("response.reasoning_summary_part.added", summary_index=0, part=part)
            self._open_item["summary"].append(part)
        else:
            yield from self._open({"type": kind, "role": "assistant", "content": []})
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            yield self._of_item("response.content_part.added", content_index=0, part=part)
            self._open_item["content"].append(part)

    def _open_call(self, piece: CallPiece) -> Iterator[Event]:
        tool = self._tools.find(piece.name)
        kind, field = ("custom_tool_call", "input") if tool.is_custom else ("function_call", "arguments")
        named = {"namespace": tool.namespace} if tool.namespace else {}
        yield from self._open({"type": kind, "call_id": piece.call_id, "name": tool.name, field: "", **named})
        self._call, self._arguments = piece.index, ""

    def _open(self, item: dict[str, Any]) -> Iterator[Event]:
        place = len(self.response["output"])
        self._item = {"id": f"{_PREFIXES[item['type']]}_{self._name}{place:02x}", "status": "in_progress", **item}
        self.response["output"].append(self._item)
        yield self._event("response.output_item.added", output_index=place, item=self._item)

    @property
    def _open_item(self) -> dict[str, Any]:
        assert self._item is not None
        return self._item

    def _close(self, status: str = "completed") -> Iterator[Event]:
        item = self._item
        if item is None:
            return
        if item["type"] == "message":
            part = item["content"][0]
            yield self._of_item("response.output_text.done", content_index=0, text=part["text"], logprobs=[])
            yield self._of_item("response.content_part.done", content_index=0, part=part)
        elif item["type"] == "reasoning":
            part = item["summary"][0]
            yield self._of_item("response.reasoning_summary_text.done", summary_index=0, text=part["text"])
            yield self._of_item("response.reasoning_summary_part.done", summary_index=0, part=part)
        elif item["type"] == "function_call":
            item["arguments"] = item["arguments"] or "{}"
            yield self._of_item("response.function_call_arguments.done", name=item["name"], arguments=item["arguments"])
        else:
            # The text of a custom tool is inside the arguments, which can be parsed only when they are complete.
            item["input"] = read_custom_input(self._arguments)
            yield self._of_item("response.custom_tool_call_input.delta", delta=item["input"])
            yield self._of_item("response.custom_tool_call_input.done", input=item["input"])
        item["status"] = status
        yield self._event("response.output_item.done", output_index=len(self.response["output"]) - 1, item=item)
        self._item, self._call = None, None

    def _of_item(self, name: str, /, **fields: Any) -> Event:
        place = len(self.response["output"]) - 1
        return self._event(name, item_id=self._open_item["id"], output_index=place, **fields)

    def _event(self, name: str, /, **fields: Any) -> Event:
        self._number += 1
        return name, {"type": name, "sequence_number": self._number, **fields}


def _count_tokens(usage: Mapping[str, Any]) -> dict[str, Any] | None:
    if not usage:
        return None
    asked, written = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    thought = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": asked + written,
    }
