"""The process that has the model, and makes vectors for all processes of a machine.

    python -m memory.providers.minilm.server SOCKET --model-dir DIR [--precision int8] [--threads 2]

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

from memory.providers.minilm.messages import FAILURE, VECTORS, receive, send
from memory.providers.minilm.model import MiniLM
from memory.providers.minilm.scheduling import EmbeddingQueue
from memory.providers.minilm.weights import PRECISIONS, WeightsError, graph_filename

_ROOT = Path(__file__).resolve().parents[3]
_MAKE_GRAPH = (
    "import pathlib, sys; sys.path.insert(0, sys.argv[1]); from memory.providers.minilm import model; "
    "model.ensure_graph(pathlib.Path(sys.argv[2]), sys.argv[3])"
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

    def load(self, precision: str) -> None:
        """Loads a model before it is asked for. Raises WeightsError."""
        self._models[precision].load()

    def answer(self, content: bytes, *, is_background: bool) -> tuple[bytes, bytes]:
        """What one request is answered with."""
        try:
            asked = orjson.loads(content)
            model = self._models[asked["precision"]]
            vectors = self._queue.embed(model, asked["texts"], is_background=is_background)
        except WeightsError as error:
            return FAILURE, str(error).encode()
        return VECTORS, vectors.tobytes()


class _Models(defaultdict[str, MiniLM]):
    def __init__(self, model_dir: Path) -> None:
        super().__init__()
        self._make = partial(MiniLM, model_dir=model_dir)
        self._making = threading.Lock()

    def __missing__(self, precision: str) -> MiniLM:
        with self._making:
            if precision not in self:
                self[precision] = self._make(precision)
        return self[precision]


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, EmbeddingServer)
        is_background = _is_nice(self.request)
        # A caller that is killed takes its connection with it; there is nobody to tell.
        with suppress(ConnectionError):
            while (content := receive(self.request)) is not None:
                send(self.request, *self.server.answer(content, is_background=is_background))


def _is_nice(connection: socket.socket) -> bool:
    """Whether the process on the other side runs at a lower priority than this one (Linux; elsewhere none does)."""
    if not hasattr(socket, "SO_PEERCRED"):
        return False
    process, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    try:
        return os.getpriority(os.PRIO_PROCESS, process) > os.getpriority(os.PRIO_PROCESS, 0)
    except ProcessLookupError:
        return False


def _make_graph(model_dir: Path, precision: str) -> None:
    """Makes a graph that is not there in a process that ends: what makes it takes 15 MB. Where that fails, loading it
    tries again, and says why."""
    if not (model_dir / graph_filename(precision)).is_file():
        subprocess.run(  # noqa: S603 - our own command line
            [sys.executable, "-c", _MAKE_GRAPH, str(_ROOT), str(model_dir), precision],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="Makes vectors for all processes of this machine.")
    parser.add_argument("socket", type=Path)
    parser.add_argument("--model-dir", type=Path, required=True)
    parser.add_argument("--precision", choices=PRECISIONS, default=PRECISIONS[0])
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    with EmbeddingServer(given.socket, given.model_dir, given.threads) as server:
        _make_graph(given.model_dir, given.precision)
        try:
            server.load(given.precision)
        except WeightsError as error:
            # Whoever asks is told the same, and the next request tries again.
            sys.stderr.write(f"{error}\n")
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
