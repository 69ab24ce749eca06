"""A client's connection, and what has arrived on it of its next request."""

from __future__ import annotations

import io
import re
import shutil
import socket
import tempfile
import time
from typing import IO, Any

from django.conf import settings
from gunicorn.http import get_parser
from gunicorn.http.unreader import Unreader
from gunicorn.workers.gthread import TConn

from memos_site.chunks import Chunks, ChunksRefused
from memos_site.forwarding import Forwarding, open_unnamed_file
from memos_site.long_requests import calls_answer, read_request_line

MAX_HEAD_BYTES = 65_536
# What is larger waits in a file.
SPOOLED_BYTES = 131_072
END = b"\r\n\r\n"

_LENGTH = re.compile(rb"\r\ncontent-length[ \t]*:[ \t]*([^\r\n]*?)[ \t]*(?=\r\n)", re.IGNORECASE)
_CODING = re.compile(rb"\r\ntransfer-encoding[ \t]*:", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*(?=\r\n)", re.IGNORECASE)
_CONTINUE = re.compile(rb"\r\nexpect[ \t]*:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE)


class Buffered(Unreader):
    """Gives gunicorn's parser what has arrived, and then the end of the stream."""

    def __init__(self) -> None:
        super().__init__()
        self.source: IO[bytes] = io.BytesIO()

    def chunk(self, size_hint: int | None = None) -> bytes:
        """The next piece."""
        return self.source.read(max(size_hint or 0, 8192))


class Connection(TConn):
    """A client's connection, and what has arrived of its next request.

    `deadline` (monotonic seconds) is when that must be here. `lacks`: how many bytes of the body are still to come,
    None while the head is; 1 or more while a body in chunks has not ended. Such a body reaches the application with a
    length, as any other. `is_cut`: its body is not read, so that no other request can follow. `takes_long`: its answer
    may.
    """

    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, sock, client, server)
        self.buffered = Buffered()
        self.parser = get_parser(cfg, (), client)
        self.parser.unreader = self.buffered
        self.data_ready = True
        self.deadline = 0.0
        self.rest = b""
        self.is_cut = False
        self.is_polled = False
        self.takes_long = False
        self.lacks: int | None = None
        self.length = 0
        self.wants_continue = False
        self._may_call_answer = False
        self._head = bytearray()
        self._arrived: IO[bytes] = io.BytesIO()
        self._chunks: Chunks | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a byte of the request has arrived."""
        return bool(self._head) or self.lacks is not None

    def begin(self) -> None:
        """Waits for the next request."""
        self.deadline = time.monotonic() + settings.MEMOS_RECEIVE_SECONDS
        self.lacks, self.length, self.is_cut = None, 0, False
        self._head = bytearray()
        self._arrived = io.BytesIO()

    def take(self, data: bytes) -> int | None:
        """Takes what has arrived; the status to refuse it with, or None. It is complete when `lacks` is 0."""
        if self.lacks is not None:
            return self._take_body(data)
        looked_at = max(0, len(self._head) - len(END) + 1)
        self._head += data
        end = self._head.find(END, looked_at)
        if end < 0 or end > MAX_HEAD_BYTES:
            return 431 if len(self._head) > MAX_HEAD_BYTES else None
        head, rest = bytes(self._head[: end + len(END)]), bytes(self._head[end + len(END) :])
        self._head = bytearray(b" ")
        self._read_head(head)
        return self._take_body(rest)

    def _read_head(self, head: bytes) -> None:
        lengths = _LENGTH.findall(head)
        self.length = int(lengths[0]) if len(lengths) == 1 and lengths[0].isdigit() and len(lengths[0]) < 19 else 0
        self._chunks = None
        codings = len(_CODING.findall(head))
        if codings == len(_CHUNKED.findall(head)) == 1 and not lengths and _is_http_1_1(head):
            self._chunks = Chunks(most=settings.MEMOS_MAX_BODY_BYTES, spooled_bytes=SPOOLED_BYTES)
        # What is refused by its head alone is answered without its body.
        self.is_cut = (
            (codings > 0 and self._chunks is None)
            or len(lengths) > 1
            or (bool(lengths) and not self.length and lengths[0].strip(b"0") != b"")
            or self.length > settings.MEMOS_MAX_BODY_BYTES
        )
        self.lacks = 0 if self.is_cut else 1 if self._chunks else self.length
        line = read_request_line(head)
        self.takes_long = line.takes_long and not self.is_cut
        is_large = self.lacks > SPOOLED_BYTES
        self._may_call_answer = line.may_call_answer and not is_large
        self._arrived = tempfile.TemporaryFile() if is_large else io.BytesIO()  # noqa: SIM115 - closed with the request
        self._arrived.write(head)
        self.wants_continue = bool(self.lacks) and _CONTINUE.search(head) is not None

    def _take_body(self, data: bytes) -> int | None:
        assert self.lacks is not None
        if self._chunks is not None:
            try:
                return self._take_chunks(self._chunks, data)
            except ChunksRefused as refused:
                return refused.status
        self._arrived.write(data[: self.lacks])
        self.rest = data[self.lacks :]
        self.lacks -= len(data) - len(self.rest)
        if self.lacks == 0:
            self._complete()
        return None

    def _take_chunks(self, chunks: Chunks, data: bytes) -> int | None:
        """Rewrites the request as one with a Content-Length when the last chunk is here."""
        rest = chunks.take(data)
        self.length = chunks.length
        if rest is None:
            return None
        head = self._arrived.getvalue()  # type: ignore[attr-defined]
        if chunks.length > SPOOLED_BYTES:
            self._arrived = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the request
        else:
            self._arrived = io.BytesIO()
        self._arrived.write(_CHUNKED.sub(b"\r\nContent-Length: %d" % chunks.length, head))
        with chunks.body as body:
            body.seek(0)
            shutil.copyfileobj(body, self._arrived)
        self._chunks = None
        self.rest, self.lacks = rest, 0
        self._complete()
        return None

    def _complete(self) -> None:
        self._arrived.seek(0)
        if self._may_call_answer and self.length <= SPOOLED_BYTES:
            self.takes_long = calls_answer(self._arrived.read())
            self._arrived.seek(0)
        self.buffered.source = self._arrived

    def forget(self) -> None:
        """Lets go of the request."""
        self._arrived.close()
        if self._chunks is not None:
            self._chunks.body.close()
            self._chunks = None

    def forward(self, forwarding: Forwarding) -> bool:
        """Gives request and connection to another process; False when it takes none."""
        with open_unnamed_file() if self.length <= SPOOLED_BYTES else tempfile.TemporaryFile() as request:
            try:
                shutil.copyfileobj(self._arrived, request)
                request.flush()
                return forwarding.send(self.sock, request)
            finally:
                self._arrived.seek(0)

    def send(self, data: bytes) -> None:
        """Sends a few bytes without waiting; a client that takes none of them gets none."""
        try:
            self.sock.setblocking(False)
            self.sock.send(data)
        except OSError:
            pass


def _is_http_1_1(head: bytes) -> bool:
    """Returns whether the request is of the version that has chunks."""
    return head.partition(b"\r\n")[0].endswith(b" HTTP/1.1")
