"""Reads an answer in a second thread, so that its reader can act while the answer is silent."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Generator
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2


def read_with_pauses(response: httpx2.Response, *, seconds: float) -> Generator[bytes]:
    """Yield the pieces of an answer as they come, and b"" after each `seconds` without one.

    Closing the generator ends the reading, even of a silent answer. Raise what reading raises.
    """
    came: SimpleQueue[bytes | Exception | None] = SimpleQueue()
    thread = threading.Thread(target=_read, args=(response, came), name="relayed-answer", daemon=True)
    thread.start()
    has_ended = False
    try:
        while (piece := _next(came, seconds)) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece
        has_ended = True
    finally:
        if not has_ended:
            # Shut down the plain socket below TLS, because the TLS object belongs to the reading thread.
            network = response.extensions["network_stream"]
            with contextlib.suppress(OSError):
                socket.socket.shutdown(network.get_extra_info("socket"), socket.SHUT_RDWR)
        thread.join()


def _next(came: SimpleQueue[bytes | Exception | None], seconds: float) -> bytes | Exception | None:
    try:
        return came.get(timeout=seconds)
    except Empty:
        return b""


def _read(response: httpx2.Response, came: SimpleQueue[bytes | Exception | None]) -> None:
    try:
        for piece in response.iter_raw():
            came.put(piece)
    except Exception as error:
        # The reader of the pieces raises it.
        came.put(error)
    else:
        came.put(None)
