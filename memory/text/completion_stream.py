"""Reads a chat completion as OpenAI's API sends it, while it passes by unchanged."""

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
# Why an answer ended before its end, as OpenAI and the servers that follow its API name it.
_CUT_OFF = frozenset(
    {"length", "max_tokens", "model_length", "content_filter", "insufficient_system_resource", "abort", "error"}
)


@dataclass(slots=True)
class Completion:
    """Holds what is known so far of an answer: the text of its first choice, why it ended ("" until then), its tokens.

    `written`: all that the model wrote, also in other choices, as reasoning or to call tools. `head` has the fields
    that every chunk of a stream repeats. `has_choices`: the answer has at least one.
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
        """Returns what the assistant says, without what it thinks."""
        return remove_thinking("".join(self.pieces))

    @property
    def is_cut_off(self) -> bool:
        """Tells whether the answer ended before its end."""
        return means_cut_off(self.finish)

    def read(self, said: Any, *, name: str = "delta") -> None:
        """Reads a chunk, or with the name `message` a whole answer."""
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
    """Tells whether an answer that ended for this reason ended before its end."""
    return finish.casefold() in _CUT_OFF


def _texts(value: Any) -> Iterator[str]:
    """Yields the texts within a message."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value if isinstance(value, list) else (value[key] for key in value if key not in _NOT_WRITTEN):
            yield from _texts(inner)


class EventReader:
    """Cuts a stream of server-sent events at their ends, whatever the pieces that it comes in, and reads them.

    `is_over`: the event `[DONE]` has come.
    """

    def __init__(self) -> None:
        self.completion = Completion()
        self.is_over = False
        self._rest = b""

    def cut(self, piece: bytes) -> Iterator[bytes]:
        """Yields the events that are complete now, each with the empty line that ends it, byte for byte."""
        self._rest += piece
        while (end := _end_of_event(self._rest)) > 0:
            event, self._rest = self._rest[:end], self._rest[end:]
            self._read(event)
            yield event

    def end(self) -> Iterator[bytes]:
        """Yields what came behind the last complete event, as an event."""
        if self._rest.strip():
            yield from self.cut(b"\n\n")

    def _read(self, event: bytes) -> None:
        if _data_of(event) == _END:
            self.is_over = True
        else:
            self.completion.read(read_data(event))


def read_data(event: bytes) -> Any:
    """Returns the JSON that an event has; None for a comment, or what is nothing that a chat completion has."""
    try:
        return orjson.loads(_data_of(event))
    except orjson.JSONDecodeError:
        return None


def _data_of(event: bytes) -> bytes:
    return b"\n".join(line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:"))


def _end_of_event(data: bytes) -> int:
    """Returns where the first event ends, behind its empty line; 0 when it does not yet."""
    ends = [place + len(mark) for mark in (b"\n\n", b"\r\n\r\n", b"\r\r") if (place := data.find(mark)) >= 0]
    return min(ends, default=0)
