"""A chat model with scripted answers (whole, streamed or broken) behind an OpenAI-compatible endpoint on loopback."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 90, "completion_tokens": 12, "prompt_tokens_details": {"cached_tokens": 64}}


@dataclass
class ScriptedChat:
    """A chat model that answers with `pieces`.

    With a `status` other than 200 it refuses. With `breaks_off` it breaks off after the pieces. With `waits`, each
    piece but the first waits until `go_on` is set; otherwise it comes `pause` seconds after the previous one. `left` is
    set when a reader leaves.
    """

    url: str = ""
    pieces: list[str] = field(default_factory=list)
    finish: str = "stop"
    status: int = 200
    breaks_off: bool = False
    waits: bool = False
    pause: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def prompt(self) -> str:
        """Return the messages of the last request as one text."""
        return "\n".join(message["content"] for message in self.asked[-1]["messages"])


@contextlib.contextmanager
def scripted_chat() -> Iterator[ScriptedChat]:
    """Start a model that says nothing until `pieces` are set."""
    chat = ScriptedChat()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            chat.asked.append(body)
            if chat.status != 200:
                self._send(chat.status, "application/json", b'{"error": {"message": "no"}}')
            elif body.get("stream"):
                self._stream()
            else:
                message = {"role": "assistant", "content": "".join(chat.pieces)}
                choice = {"index": 0, "finish_reason": chat.finish, "message": message}
                self._send(200, "application/json", json.dumps(_completion(choices=[choice], usage=USAGE)).encode())

        def _send(self, status: int, kind: str, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _stream(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            try:
                for number, piece in enumerate(chat.pieces):
                    if number:
                        self._wait(30 if chat.waits else chat.pause)
                    self._chunk({"content": piece}, None)
                if chat.breaks_off:
                    self.connection.close()
                    return
                self._chunk({}, chat.finish)
                self._write(b"data: " + json.dumps(_completion(choices=[], usage=USAGE)).encode() + b"\n\n")
                self._write(b"data: [DONE]\n\n")
            except OSError:
                chat.left.set()

        def _wait(self, seconds: float) -> None:
            until = time.monotonic() + seconds
            while not chat.go_on.wait(min(0.02, max(0.0, until - time.monotonic()))) and time.monotonic() < until:
                with contextlib.suppress(BlockingIOError):
                    if not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                        raise OSError("the reader has left")

        def _chunk(self, delta: dict[str, str], finish: str | None) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self._write(b"data: " + json.dumps(_completion(choices=[choice])).encode() + b"\n\n")

        def _write(self, data: bytes) -> None:
            self.wfile.write(data)
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    chat.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield chat
    finally:
        chat.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _completion(**fields: Any) -> dict[str, Any]:
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted", **fields}


@contextlib.contextmanager
def scripted_model(settings: Any, *pieces: str) -> Iterator[ScriptedChat]:
    """Start a model that says `pieces`, and configure it in the settings."""
    with scripted_chat() as chat:
        settings.MEMOS_LLM_ENABLED = True
        settings.MEMOS_LLM_PROVIDER = "llamacpp"
        settings.MEMOS_LLM_BASE_URL = chat.url
        settings.MEMOS_LLM_MODEL = "scripted"
        settings.MEMOS_LLM_TIMEOUT_SECONDS = 5.0
        chat.pieces = list(pieces)
        yield chat
