"""An answer that is passed on while it comes: bytes as they are, and an error in the shape of OpenAI's API."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from contextvars import copy_context

import orjson
from django.http import HttpRequest, StreamingHttpResponse

from memory import deadline
from memory.api.event_stream import STREAM_HEADERS, Slot, give_connection_back, has_left
from memory.api.openai_errors import describe_for_openai


class RelayedStream:
    """The pieces, made for who calls now, wherever they are read. The first, which is empty, is made at once."""

    def __init__(self, request: HttpRequest, pieces: Generator[bytes], slot: Slot) -> None:
        self._pieces = _until_error(request, pieces)
        self._slot = slot
        with deadline.without_limit():
            self._context = copy_context()
        self._context.run(next, pieces)

    def __iter__(self) -> RelayedStream:
        return self

    def __next__(self) -> bytes:
        return self._context.run(next, self._pieces)

    def close(self) -> None:
        """Ends the work on what has not been read."""
        try:
            self._context.run(self._pieces.close)
        finally:
            self._slot.give_back()
            give_connection_back()


def respond(
    request: HttpRequest, caller: str, begin: Callable[[], Generator[bytes]], *, headers: Mapping[str, str]
) -> StreamingHttpResponse:
    """The response that sends the pieces. What is raised before there is one is raised here."""
    slot = Slot(caller)
    try:
        give_connection_back()
        stream = RelayedStream(request, begin(), slot)
    except BaseException:
        slot.give_back()
        raise
    return StreamingHttpResponse(stream, content_type="text/event-stream", headers={**STREAM_HEADERS, **headers})


def _until_error(request: HttpRequest, pieces: Generator[bytes]) -> Generator[bytes]:
    with closing(pieces):
        try:
            for piece in pieces:
                if has_left(request):
                    return
                yield piece
        except Exception as error:
            said = describe_for_openai(request, error)
            yield b"data: " + orjson.dumps(said) + b"\n\n"
