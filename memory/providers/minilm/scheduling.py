"""Decides which texts go through the model next.

A question of a few words must not wait for a batch of thousands, so the request with the fewest remaining runs is next
(shortest remaining processing time: Schrage 1968), unless another has waited too long. Questions that wait at the same
time are run together, because a text alone costs the model almost twice as much as one of eight. A question that need
not wait is run by the calling thread: on a busy machine, waking another thread takes longer than the model does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from memory.providers.minilm.model import RUN_TOKENS, RunModel, TextRun

# No request waits longer for its next run, unless others have waited longer still.
PATIENCE_SECONDS = 0.2


class EmbeddingQueue:
    """Runs texts through models, `threads` runs at a time, on worker threads and on the calling threads.

    The worker threads start with the first text.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._started = False
        self._running = 0
        self._requests: list[_Request] = []
        self._changed = threading.Condition()

    def embed(self, model: RunModel, texts: Sequence[Any], *, is_background: bool = False) -> np.ndarray:
        """float32 [len(texts), dimensions], each row of unit length. Waits for it.

        What is in the background has one thread at most, and only what others leave of it. Raises WeightsError.
        """
        request = _Request(model, model.split(texts), len(texts), is_background)
        if request.left:
            with self._changed:
                self._start()
                self._requests.append(request)
                taken = self._take() if request.is_short and self._next() is request else None
                if taken is None:
                    self._changed.notify(request.left)
            if taken is not None:
                self._run(taken)
            request.done.wait()
        if request.error is not None:
            raise request.error
        return request.vectors

    def _start(self) -> None:
        if not self._started:
            self._started = True
            for number in range(self._threads):
                threading.Thread(target=self._work, name=f"embed {number}", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._changed:
                while (taken := self._take()) is None:
                    self._changed.wait()
            self._run(taken)

    def _take(self) -> list[tuple[_Request, TextRun]] | None:
        """Takes the runs that go through the model together next; returns None if none may now."""
        request = self._next()
        if request is None:
            return None
        self._running += 1
        return [(each, each.take()) for each in (request, *self._list_companions(request))]

    def _run(self, taken: Sequence[tuple[_Request, TextRun]]) -> None:
        found = _embed(taken[0][0].model, [run for _, run in taken])
        with self._changed:
            self._running -= 1
            for (request, run), vectors in zip(taken, found, strict=True):
                if request.put(run, vectors):
                    self._requests.remove(request)
            # Background requests and questions that wait to be run together may go on.
            if self._requests:
                self._changed.notify_all()

    def _next(self) -> _Request | None:
        if self._running >= self._threads:
            return None
        is_busy = any(request.is_background and request.running for request in self._requests)
        # The next questions go together when this one is done.
        is_asking = any(request.is_short and request.running for request in self._requests)
        waiting = [
            request
            for request in self._requests
            if request.runs and not (request.is_background and is_busy) and not (request.is_short and is_asking)
        ]
        if not waiting:
            return None
        oldest = min(waiting, key=lambda request: request.waiting_since)
        if time.monotonic() - oldest.waiting_since > PATIENCE_SECONDS:
            return oldest
        return min(waiting, key=lambda request: (request.is_background, len(request.runs)))

    def _list_companions(self, first: _Request) -> list[_Request]:
        """Lists the requests whose next run can go through the model together with that of `first`."""
        if not first.is_short:
            return []
        width, rows = first.runs[0].width, len(first.runs[0].rows)
        companions = []
        for other in self._requests:
            if other is first or not other.is_short or not other.runs or other.model is not first.model:
                continue
            wider, more = max(width, other.runs[0].width), rows + len(other.runs[0].rows)
            if wider * more <= RUN_TOKENS:
                width, rows = wider, more
                companions.append(other)
        return companions


def _embed(model: RunModel, runs: Sequence[TextRun]) -> list[np.ndarray | Exception]:
    """Returns the vectors of each run, or its error. The runs are tried together, and one by one if that fails."""
    try:
        return list(model.embed_together(runs))
    except Exception as error:
        if len(runs) == 1:
            return [error]
    return [vectors for run in runs for vectors in _embed(model, [run])]


class _Request:
    def __init__(self, model: RunModel, runs: list[TextRun], texts: int, is_background: bool) -> None:
        self.model = model
        self.runs = runs
        self.is_background = is_background
        self.vectors = np.empty((texts, model.dimensions), dtype=np.float32)
        self.error: Exception | None = None
        self.left = len(runs)
        self.running = 0
        self.waiting_since = time.monotonic()
        self.done = threading.Event()
        # A question, or a text of a few lines.
        self.is_short = not is_background and len(runs) == 1 and runs[0].width * len(runs[0].rows) < RUN_TOKENS // 2

    def take(self) -> TextRun:
        self.running += 1
        self.waiting_since = time.monotonic()
        return self.runs.pop()

    def put(self, run: TextRun, vectors: np.ndarray | Exception) -> bool:
        """Stores the result of a run; returns whether the request is complete."""
        self.running -= 1
        self.left -= 1
        if isinstance(vectors, Exception):
            self.error = vectors
            self.left -= len(self.runs)
            self.runs.clear()
        else:
            self.vectors[run.rows] = vectors
        if self.left == 0:
            self.done.set()
        return self.left == 0
