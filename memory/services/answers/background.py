"""Runs a generator that waits for a model in a separate thread, so that the caller can watch its client meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TypeVar

from django.db import connections

from memory.providers.chat.cancellation import Cancellation, current

Piece = TypeVar("Piece")


def run_beside(pieces: Generator[Piece], *, waiting_seconds: float) -> Generator[Piece | None]:
    """Yield the pieces, made in another thread for the same caller; None whenever none came for `waiting_seconds`.

    Raises what `pieces` raises. Closing it ends the model's answer that is being read, and closes `pieces`.
    """
    made: SimpleQueue[Piece | BaseException | _End] = SimpleQueue()
    is_left = threading.Event()
    cancellation = Cancellation()

    def run() -> None:
        end: BaseException | _End = _End()
        current.set(cancellation)
        try:
            with closing(pieces):
                for piece in pieces:
                    if is_left.is_set():
                        break
                    made.put(piece)
        except BaseException as error:
            end = error
        finally:
            connections.close_all()
            made.put(end)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True, name="model call").start()
    try:
        while True:
            try:
                piece = made.get(timeout=waiting_seconds)
            except Empty:
                yield None
                continue
            if isinstance(piece, _End):
                return
            if isinstance(piece, BaseException):
                raise piece
            yield piece
    finally:
        is_left.set()
        cancellation.cancel()


class _End:
    """Marks the end of the pieces."""
