"""Reads the text, thinking and tool calls of a chat completion, piece by piece, for answers in another API's format."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memory.text.completion_messages import list_texts
from memory.text.completion_stream import means_cut_off, read_data

# Servers put the thinking of a reasoning model in one of these fields.
_THINKING_FIELDS = ("reasoning_content", "reasoning")
# Key, among the indexes of calls, for text that follows the start of a tool call.
_AFTER_CALLS = -1


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the model's text, or of its thinking if `is_thinking` is set."""

    text: str
    is_thinking: bool = False


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A piece of a tool call, with the call's id and name; `index` distinguishes the calls of an answer."""

    index: int
    call_id: str
    name: str
    arguments: str


Part = Text | CallPiece


@dataclass(slots=True)
class CompletionReader:
    """Reads the parts of an answer's first choice, and how it ended.

    `finish` is the finish reason, "" if there was none; `usage` holds the token counts, if any; `memos` is what MemOS
    adds to the answer; `written` holds all texts and arguments.
    """

    finish: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    memos: Mapping[str, Any] = field(default_factory=dict)
    has_calls: bool = False
    written: list[str] = field(default_factory=list)
    _calls: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def is_cut_off(self) -> bool:
        """True if the answer is incomplete."""
        return means_cut_off(self.finish)

    def read_whole(self, completion: Mapping[str, Any]) -> Iterator[Part]:
        """Yield the parts of a whole answer."""
        return self._read(completion, name="message")

    def read_events(self, events: Iterable[bytes]) -> Iterator[Part]:
        """Yield the parts of a stream, one call after the other, in whatever order their pieces arrive.

        Pieces of the first call are passed on immediately; all else that follows its start waits for the end of the
        stream.
        """
        live: int | None = None
        waiting: dict[int, list[Part]] = {}
        for event in events:
            for part in self._read(read_data(event), name="delta"):
                place = part.index if isinstance(part, CallPiece) else _AFTER_CALLS
                if live is None and isinstance(part, CallPiece):
                    live = place
                if live is None or live == place:
                    yield part
                else:
                    waiting.setdefault(place, []).append(part)
        for parts in waiting.values():
            yield from parts

    def _read(self, said: Any, *, name: str) -> Iterator[Part]:
        if not isinstance(said, Mapping):
            return
        for key in ("usage", "memos"):
            if isinstance(said.get(key), Mapping):
                setattr(self, key, said[key])
        for choice in said.get("choices") or ():
            if not isinstance(choice, Mapping) or choice.get("index") not in (0, None):
                continue
            if isinstance(choice.get("finish_reason"), str):
                self.finish = choice["finish_reason"]
            for part in self._read_message(choice[name]) if isinstance(choice.get(name), Mapping) else ():
                self.written.append(part.arguments if isinstance(part, CallPiece) else part.text)
                yield part

    def _read_message(self, message: Mapping[str, Any]) -> Iterator[Part]:
        content = message.get("content")
        thoughts = [text for text in map(message.get, _THINKING_FIELDS) if isinstance(text, str)][:1]
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping) and part.get("type") == "thinking":
                thoughts += list_texts(part.get("thinking"))
        yield from (Text(text, is_thinking=True) for text in thoughts if text)
        yield from (Text(text) for text in [*list_texts(content), *list_texts(message.get("refusal"))] if text)
        for call in message.get("tool_calls") or ():
            if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping):
                yield self._read_call(call)

    def _read_call(self, call: Mapping[str, Any]) -> CallPiece:
        self.has_calls = True
        index = call.get("index")
        if not isinstance(index, int):
            # Servers that don't number calls send each of them whole.
            index = len(self._calls)
        function = call["function"]
        if index not in self._calls:
            self._calls[index] = (call.get("id") or f"call_{uuid.uuid4().hex}", function.get("name") or "")
        return CallPiece(index, *self._calls[index], function.get("arguments") or "")
