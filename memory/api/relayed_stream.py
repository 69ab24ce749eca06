"""Passes on an answer while it comes: bytes unchanged, and errors in the shape of OpenAI's API."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing

import orjson
from django.http import HttpRequest, StreamingHttpResponse

from memory.api.event_stream import STREAM_HEADERS, EventStream, Slot, give_connection_back
from memory.api.openai_errors import describe_for_openai


def respond(
    request: HttpRequest, caller: str, begin: Callable[[], Generator[bytes]], *, headers: Mapping[str, str]
) -> StreamingHttpResponse:
    """Return a response that streams the pieces. The first, an empty one, is made here, so its errors come here."""
    slot = Slot(caller)
    try:
        give_connection_back()
        pieces = begin()
        stream = EventStream(_until_error(request, pieces), slot)
        stream.advance(pieces)
    except BaseException:
        slot.give_back()
        raise
    return StreamingHttpResponse(stream, content_type="text/event-stream", headers={**STREAM_HEADERS, **headers})


def _until_error(request: HttpRequest, pieces: Generator[bytes]) -> Generator[bytes]:
    with closing(pieces):
        try:
            yield from pieces
        except Exception as error:
            said = describe_for_openai(request, error)
            yield b"data: " + orjson.dumps(said) + b"\n\n"
