"""Reads a chat completion in the format of OpenAI's API while it is passed on unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from memory.text.completion_messages import list_texts
from memory.text.thinking import remove_thinking

_END = b"[DONE]"
# Fields of a message that no token is generated for.
_NOT_WRITTEN = frozenset({"role", "id", "type"})
# Finish reasons of incomplete answers, as named by OpenAI and by servers that follow its API.
_CUT_OFF = frozenset(
    {"length", "max_tokens", "model_length", "content_filter", "insufficient_system_resource", "abort", "error"}
)


@dataclass(slots=True)
class Completion:
    """The state of an answer so far: the text of its first choice, the finish reason ("" until then), its tokens.

    `written` is all that the model wrote, including other choices, reasoning and tool calls. `head` has the fields that
    every chunk of a stream repeats. `has_choices` tells whether there was at least one choice.
    """

    pieces: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    finish: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    head: dict[str, Any] = field(default_factory=dict)
    error: Mapping[str, Any] | None = None
    has_choices: bool = False

    @property
    def text(self) -> str:
        """The answer without its thinking."""
        return remove_thinking("".join(self.pieces))

    @property
    def is_cut_off(self) -> bool:
        """True if the answer is incomplete."""
        return means_cut_off(self.finish)

    def read(self, said: Any, *, name: str = "delta") -> None:
        """Read a chunk, or a whole answer if `name` is `message`."""
        if not isinstance(said, Mapping):
            return
        if not self.head:
            self.head = {key: said[key] for key in ("id", "created", "model") if key in said}
        if isinstance(said.get("usage"), Mapping):
            self.usage = said["usage"]
        if isinstance(said.get("error"), Mapping):
            self.error = said["error"]
        choices = said.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, Mapping):
                continue
            self.has_choices = True
            message = choice.get(name)
            self.written += _texts(message)
            if choice.get("index") not in (0, None):
                continue
            if isinstance(message, Mapping):
                self.pieces += list_texts(message.get("content"))
            if isinstance(choice.get("finish_reason"), str):
                self.finish = choice["finish_reason"]


def means_cut_off(finish: str) -> bool:
    """Tell whether this finish reason means that the answer is incomplete."""
    return finish.casefold() in _CUT_OFF


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts within a message."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value if isinstance(value, list) else (value[key] for key in value if key not in _NOT_WRITTEN):
            yield from _texts(inner)


class EventReader:
    """Splits a stream of server-sent events into events, however it is divided into pieces, and reads them.

    `is_over` is set once the event `[DONE]` has arrived.
    """

    def __init__(self) -> None:
        self.completion = Completion()
        self.is_over = False
        self._rest = b""

    def cut(self, piece: bytes) -> Iterator[bytes]:
        """Yield the events that are complete now, byte for byte, each with the empty line that ends it."""
        self._rest += piece
        while (end := _end_of_event(self._rest)) > 0:
            event, self._rest = self._rest[:end], self._rest[end:]
            self._read(event)
            yield event

    def end(self) -> Iterator[bytes]:
        """Yield what followed the last complete event, as an event."""
        if self._rest.strip():
            yield from self.cut(b"\n\n")

    def _read(self, event: bytes) -> None:
        if _data_of(event) == _END:
            self.is_over = True
        else:
            self.completion.read(read_data(event))


def read_data(event: bytes) -> Any:
    """Return the JSON of an event; None for a comment, or data that isn't JSON."""
    try:
        return orjson.loads(_data_of(event))
    except orjson.JSONDecodeError:
        return None


def _data_of(event: bytes) -> bytes:
    return b"\n".join(line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:"))


def _end_of_event(data: bytes) -> int:
    """Return the end of the first event including its empty line, or 0 if it isn't complete."""
    ends = [place + len(mark) for mark in (b"\n\n", b"\r\n\r\n", b"\r\r") if (place := data.find(mark)) >= 0]
    return min(ends, default=0)
