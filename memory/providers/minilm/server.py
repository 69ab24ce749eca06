"""The process that has the model, and makes vectors for all processes of a machine.

    python -m memory.providers.minilm.server SOCKET --model-dir DIR [--model int8] [--threads 2]

One model in memory instead of one a process. It answers on a Unix socket, and whoever may open that is trusted: keep
the socket in a folder that nobody else can enter. A caller that gave way to others (`nice`) is in the background here
too.
"""

from __future__ import annotations

import argparse
import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading
from collections import defaultdict
from contextlib import suppress
from functools import partial
from pathlib import Path

import orjson

from memory.providers.minilm.joint import MODELS, LoadedModel, make_model
from memory.providers.minilm.messages import FAILURE, VECTORS, receive, send
from memory.providers.minilm.scheduling import EmbeddingQueue
from memory.providers.minilm.weights import WeightsError

_ROOT = Path(__file__).resolve().parents[3]
_MAKE_FILES = (
    "import pathlib, sys; sys.path.insert(0, sys.argv[1]); from memory.providers.minilm import joint; "
    "joint.make_model(sys.argv[3], pathlib.Path(sys.argv[2])).prepare()"
)


class EmbeddingServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers at the socket `path`; a file that is left there from a process that was killed is replaced."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: Path, model_dir: Path, threads: int) -> None:
        path.unlink(missing_ok=True)
        super().__init__(str(path), _Handler)
        self._queue = EmbeddingQueue(threads)
        self._models = _Models(model_dir)

    def load(self, model: str) -> None:
        """Loads a model before it is asked for. Raises WeightsError."""
        self._models[model].load()

    def answer(self, content: bytes, *, is_background: bool) -> tuple[bytes, bytes]:
        """Returns the answer to a request: its kind and its content."""
        try:
            asked = orjson.loads(content)
            model = self._models[asked["model"]]
            vectors = self._queue.embed(model, asked["texts"], is_background=is_background)
        except WeightsError as error:
            return FAILURE, str(error).encode()
        return VECTORS, vectors.tobytes()


class _Models(defaultdict[str, LoadedModel]):
    def __init__(self, model_dir: Path) -> None:
        super().__init__()
        self._make = partial(make_model, model_dir=model_dir)
        self._making = threading.Lock()

    def __missing__(self, name: str) -> LoadedModel:
        with self._making:
            if name not in self:
                self[name] = self._make(name)
        return self[name]


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, EmbeddingServer)
        is_background = _is_nice(self.request)
        # A caller that is killed takes its connection with it; there is nobody to tell.
        with suppress(ConnectionError):
            while (content := receive(self.request)) is not None:
                send(self.request, *self.server.answer(content, is_background=is_background))


def _is_nice(connection: socket.socket) -> bool:
    """Tells whether the process at the other end runs at a lower priority than this one (False where not on Linux)."""
    if not hasattr(socket, "SO_PEERCRED"):
        return False
    process, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    try:
        return os.getpriority(os.PRIO_PROCESS, process) > os.getpriority(os.PRIO_PROCESS, 0)
    except ProcessLookupError:
        return False


def _make_files(model_dir: Path, model: str) -> None:
    """Makes files that are not there in a process that ends: what makes them takes 15 MB and more. Where that fails,
    loading the model tries again, and says why."""
    if not make_model(model, model_dir).is_prepared:
        subprocess.run(  # noqa: S603 - our own command line
            [sys.executable, "-c", _MAKE_FILES, str(_ROOT), str(model_dir), model],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="Makes vectors for all processes of this machine.")
    parser.add_argument("socket", type=Path)
    parser.add_argument("--model-dir", type=Path, required=True)
    parser.add_argument("--model", choices=MODELS, default=MODELS[0])
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    with EmbeddingServer(given.socket, given.model_dir, given.threads) as server:
        _make_files(given.model_dir, given.model)
        try:
            server.load(given.model)
        except WeightsError as error:
            # Whoever asks is told the same, and the next request tries again.
            sys.stderr.write(f"{error}\n")
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
