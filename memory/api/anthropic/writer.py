"""Translates a chat completion into a message of Anthropic's API: whole, or as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from memory.text.completion_parts import CallPiece, CompletionReader, Part

Event = tuple[str, dict[str, Any]]

# Type of the delta for each type of block, and the field that holds the text in both.
_DELTAS = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}


class MessageWriter:
    """Writes one message as a `memory.api.translated_answer.AnswerWriter`.

    `message` is the current state of the message, so send each event before you ask for the next one. Thinking blocks
    are left out unless the caller `wants_thinking`.
    """

    def __init__(self, identity: str, model: str, *, wants_thinking: bool) -> None:
        self.message: dict[str, Any] = {
            "id": identity,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _count_tokens({}),
        }
        self._wants_thinking = wants_thinking
        self._block: dict[str, Any] | None = None
        self._call: int | None = None
        self._arguments = ""

    def begin(self) -> Iterator[Event]:
        yield "message_start", {"type": "message_start", "message": self.message}

    def take(self, part: Part) -> Iterator[Event]:
        if isinstance(part, CallPiece):
            yield from self._take_call(part)
            return
        kind = "thinking" if part.is_thinking else "text"
        if part.is_thinking and not self._wants_thinking:
            return
        if self._block is None or self._block["type"] != kind:
            yield from self._close()
            yield from self._open({"type": kind, kind: ""} | ({"signature": ""} if part.is_thinking else {}))
        assert self._block is not None
        name, field = _DELTAS[kind]
        self._block[field] += part.text
        yield self._of_block("content_block_delta", delta={"type": name, field: part.text})

    def end(self, ended: CompletionReader) -> Iterator[Event]:
        yield from self._close()
        self.message |= {"stop_reason": _stop_reason(ended), "usage": _count_tokens(ended.usage)}
        self.message["memos"] = ended.memos
        delta = {name: self.message[name] for name in ("stop_reason", "stop_sequence")}
        yield (
            "message_delta",
            {
                "type": "message_delta",
                "delta": delta,
                "usage": self.message["usage"],
                "memos": ended.memos,
            },
        )
        yield "message_stop", {"type": "message_stop"}

    def fail(self, error: Mapping[str, Any]) -> Iterator[Event]:
        yield "error", {"type": "error", "error": {**error, "type": "api_error"}}

    def _take_call(self, piece: CallPiece) -> Iterator[Event]:
        if self._call != piece.index:
            yield from self._close()
            yield from self._open({"type": "tool_use", "id": piece.call_id, "name": piece.name, "input": {}})
            self._call, self._arguments = piece.index, ""
        if piece.arguments:
            self._arguments += piece.arguments
            delta = {"type": "input_json_delta", "partial_json": piece.arguments}
            yield self._of_block("content_block_delta", delta=delta)

    def _open(self, block: dict[str, Any]) -> Iterator[Event]:
        self._block = block
        self.message["content"].append(block)
        yield self._of_block("content_block_start", content_block=block)

    def _close(self) -> Iterator[Event]:
        if self._block is None:
            return
        if self._block["type"] == "tool_use":
            self._block["input"] = _read_arguments(self._arguments)
        yield self._of_block("content_block_stop")
        self._block, self._call = None, None

    def _of_block(self, name: str, /, **fields: Any) -> Event:
        return name, {"type": name, "index": len(self.message["content"]) - 1, **fields}


def _read_arguments(arguments: str) -> dict[str, Any]:
    """Return the arguments of a call as an object. If they are cut off, it holds the text under `arguments`."""
    try:
        given = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        given = arguments
    return given if isinstance(given, dict) else {"arguments": given}


def _stop_reason(ended: CompletionReader) -> str:
    if ended.is_cut_off:
        return "refusal" if ended.finish == "content_filter" else "max_tokens"
    return "tool_use" if ended.has_calls else "end_turn"


def _count_tokens(usage: Mapping[str, Any]) -> dict[str, int]:
    asked, written = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    # Anthropic's `input_tokens` do not include the tokens read from a cache.
    return {
        "input_tokens": max(asked - cached, 0),
        "output_tokens": written,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
    }
