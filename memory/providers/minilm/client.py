"""Asks the embedding process of this machine for vectors."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson

from memory.providers.minilm.joint import ReadText
from memory.providers.minilm.messages import FAILURE, receive, send
from memory.providers.minilm.weights import WeightsError

# The process starts again within this when it was killed.
RESTART_SECONDS = 5.0
RETRY_SECONDS = 0.05
# A message of so many texts is answered within seconds, also behind others.
ANSWER_SECONDS = 60.0
TEXTS_EACH = 128
_LATE = f"The embedding process did not answer within {ANSWER_SECONDS:.0f} seconds."


class EmbeddingServerAway(RuntimeError):
    """The embedding process does not answer."""


class PendingVectors:
    """Texts that were sent to the process, and are embedded meanwhile. For several threads."""

    def __init__(self, client: EmbeddingClient, texts: Sequence[ReadText], connection: socket.socket | None) -> None:
        self._client = client
        self._texts = texts
        # None: the answer was received.
        self._connection = connection
        self._answer: bytes | None = None
        self._is_late = False
        self._receiving = threading.Lock()

    def result(self) -> np.ndarray:
        """Returns and raises what `EmbeddingClient.embed` does; if the connection was lost, it asks again."""
        self.receive()
        if self._is_late:
            raise EmbeddingServerAway(_LATE)
        return self._client.embed(self._texts) if self._answer is None else self._client.read(self._answer)

    def receive(self) -> None:
        """Takes the answer off the connection, which others want to use."""
        with self._receiving:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            try:
                self._answer = receive(connection)
            except OSError as error:
                self._is_late = isinstance(error, TimeoutError)
            if self._answer is None:
                # The next user opens a new one.
                connection.close()


class EmbeddingClient:
    """Vectors of a model (one of `joint.MODELS`), float32 [texts, `dimensions`], from the process that answers at
    `path`. A thread keeps one connection. Texts are as the model's `split` takes them."""

    def __init__(self, path: Path, model: str, dimensions: int) -> None:
        self._path = path
        self._model = model
        self._dimensions = dimensions
        self._local = threading.local()

    def embed(self, texts: Sequence[ReadText]) -> np.ndarray:
        """float32 [len(texts), dimensions], each row of unit length.

        Waits for a process that is starting. Raises EmbeddingServerAway, WeightsError with what the process said, and
        TypeError for a text that has no UTF-8: one with half of a character (a lone surrogate).
        """
        vectors = np.empty((len(texts), self._dimensions), dtype=np.float32)
        for start in range(0, len(texts), TEXTS_EACH):
            part = texts[start : start + TEXTS_EACH]
            vectors[start : start + len(part)] = self._ask(part)
        return vectors

    def start(self, texts: Sequence[ReadText]) -> PendingVectors:
        """Sends texts, TEXTS_EACH at most; their vectors are waited for when they are wanted.

        Never raises: what is wrong with a text or the process is raised by `PendingVectors.result`.
        """
        connection = None
        try:
            connection = self._connect()
            send(connection, self._request(texts))
        except OSError:
            self._disconnect()
            connection = None
        except TypeError:
            # A text that no message can have (a lone surrogate): nothing was sent, and `result` raises it.
            connection = None
        pending = PendingVectors(self, texts, connection)
        self._local.pending = pending
        return pending

    def read(self, answer: bytes) -> np.ndarray:
        """Returns the vectors of an answer. Raises WeightsError with what the process said instead."""
        if answer[:1] == FAILURE:
            raise WeightsError(answer[1:].decode())
        return np.frombuffer(answer, dtype=np.float32, offset=1).reshape(-1, self._dimensions)

    def _request(self, texts: Sequence[ReadText]) -> bytes:
        return orjson.dumps({"model": self._model, "texts": list(texts)})

    def _ask(self, texts: Sequence[ReadText]) -> np.ndarray:
        request = self._request(texts)
        ends_at = time.monotonic() + RESTART_SECONDS
        while True:
            try:
                answer = self._exchange(request)
                break
            except TimeoutError as error:
                self._disconnect()
                raise EmbeddingServerAway(_LATE) from error
            except OSError as error:
                self._disconnect()
                if time.monotonic() > ends_at:
                    raise EmbeddingServerAway(
                        f"The embedding process does not answer at {self._path} ({error}); its log is embedding.log."
                    ) from error
                time.sleep(RETRY_SECONDS)
        return self.read(answer)

    def _exchange(self, request: bytes) -> bytes:
        connection = self._connect()
        send(connection, request)
        answer = receive(connection)
        if answer is None:
            raise ConnectionResetError("the connection was closed")
        return answer

    def _connect(self) -> socket.socket:
        # A connection that was made before a fork is the parent's.
        if getattr(self._local, "process", None) != os.getpid():
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(str(self._path))
            except OSError:
                connection.close()
                raise
            self._local.connection, self._local.process = connection, os.getpid()
            self._local.pending = None
        known: socket.socket = self._local.connection
        if self._local.pending is not None:
            # Whoever sent it may not have wanted the answer after all.
            self._local.pending.receive()
            self._local.pending = None
        return known

    def _disconnect(self) -> None:
        if getattr(self._local, "process", None) == os.getpid():
            self._local.connection.close()
            self._local.process = None
