"""Answers with a chat completion in the shape of another API, whole or as a stream of its events."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, Protocol

import orjson
from django.conf import settings
from django.http import HttpRequest

from memory.api.openai_errors import describe_for_openai
from memory.services.gateway.completions import ChatCompletion, complete, stream
from memory.text.completion_messages import text_of
from memory.text.completion_parts import CompletionReader, Part
from memory.text.tokens import count_tokens

# The name of an event and its data.
Event = tuple[str, Mapping[str, Any]]


class AnswerWriter(Protocol):
    """Writes one answer: call `begin`, `take` for each part, then `end` or `fail`. Each yields events."""

    def begin(self) -> Iterator[Event]: ...

    def take(self, part: Part) -> Iterator[Event]: ...

    def end(self, ended: CompletionReader) -> Iterator[Event]: ...

    def fail(self, error: Mapping[str, Any]) -> Iterator[Event]:
        """End an answer that breaks off. `error` has the form of OpenAI's API."""
        ...


def write_whole(asked: ChatCompletion, writer: AnswerWriter) -> None:
    """Have the writer write the whole answer, which it then holds. Raises the same errors as `complete`."""
    answer = complete(asked)
    reader = CompletionReader()
    for part in reader.read_whole(orjson.loads(answer.content)):
        _pass_over(writer.take(part))
    reader.memos = answer.memos
    _count(asked, reader)
    _pass_over(writer.end(reader))


def write_events(
    request: HttpRequest, asked: ChatCompletion, writer: AnswerWriter, *, keep: Callable[[], None] | None = None
) -> Generator[bytes]:
    """Yield the events of the answer as it comes. The first piece is empty and means that the model has begun.

    `keep` is called when the answer is complete, before its last events. Until the model has begun, this raises the
    same errors as `stream`; later errors become an event.
    """
    reader = CompletionReader()
    with closing(stream(asked)) as events:
        yield next(events)
        yield from _encode(writer.begin())
        try:
            for part in reader.read_events(events):
                yield from _encode(writer.take(part))
            _count(asked, reader)
            last = list(writer.end(reader))
            if keep:
                keep()
        except Exception as error:
            last = list(writer.fail(describe_for_openai(request, error)["error"]))
        yield from _encode(last)


def _count(asked: ChatCompletion, reader: CompletionReader) -> None:
    """Estimate the token counts if the provider sent none, because both APIs report them and clients rely on it."""
    if not reader.usage:
        texts = ("\n".join(map(text_of, asked.turn.messages)), "".join(reader.written))
        asked_for, written = (count_tokens(text, settings.MEMOS_TOKENIZER) for text in texts)
        reader.usage = {"prompt_tokens": asked_for, "completion_tokens": written}


def _encode(events: Iterable[Event]) -> Iterator[bytes]:
    for name, data in events:
        yield b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps(data))


def _pass_over(events: Iterable[Event]) -> None:
    for _ in events:
        pass
