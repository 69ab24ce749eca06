"""Receives whole requests, and has threads answer them: between the web server (ASGI) and Django (WSGI).

A thread waits for no client to send: the event loop receives head and body, within half a minute and up to
MEMOS_MAX_BODY_BYTES, before one is needed. A stream is made by its thread piece by piece, at the pace of its client,
and is closed as soon as that leaves.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any
from urllib.parse import unquote_to_bytes

from django.conf import settings

from memory.enums import ErrorCode

log = logging.getLogger("memos.web")

# A larger body waits in a file.
MAX_BYTES_IN_MEMORY = 65_536
# All bodies that are arriving have at most so many times MEMOS_MAX_BODY_BYTES together; one beyond is answered 503.
MAX_BODIES = 16
# A client that takes nothing of its answer for so long loses it, so that it holds no thread.
SEND_SECONDS = 20

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Answer = tuple[int, list[tuple[bytes, bytes]], bytes | None]


class Refused(Exception):
    """Refuses a request before it is all here: status, code and message, which the middleware makes an answer of."""


class Gateway:
    """The ASGI application that has `application` (WSGI) answer in at most so many threads."""

    def __init__(self, application: Callable[..., Iterable[bytes]], *, threads: int) -> None:
        self._application = application
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self._arriving = 0

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        with tempfile.SpooledTemporaryFile(MAX_BYTES_IN_MEMORY) as body:
            environ = _describe(scope, body)
            try:
                await self._receive_body(environ, scope, receive, body)
            except Refused as refused:
                environ["memos.refused"] = refused.args
            exchange = _Exchange(self._application, environ, receive, send)
            self._threads.submit(exchange.answer)
            await exchange.send_answer()

    async def _receive_body(
        self, environ: dict[str, Any], scope: dict[str, Any], receive: Receive, body: IO[bytes]
    ) -> None:
        """Write the body into `body`. Raises Refused."""
        length, coding = environ.get("CONTENT_LENGTH", ""), environ.pop("HTTP_TRANSFER_ENCODING", "")
        if coding and coding.lower() != "chunked":
            raise Refused(400, ErrorCode.INVALID_REQUEST, f"There is no Transfer-Encoding {coding!r} here.")
        if not (length or coding) and scope["http_version"] != "2":
            return
        if length.isdigit() and int(length) > settings.MEMOS_MAX_BODY_BYTES:
            # The middleware refuses it by its length.
            return
        received, more = 0, True
        try:
            async with asyncio.timeout(settings.MEMOS_RECEIVE_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Refused(400, ErrorCode.INVALID_REQUEST, "The body cannot be read to its end.")
                    piece, more = message["body"], message["more_body"]
                    received += len(piece)
                    self._arriving += len(piece)
                    if received > settings.MEMOS_MAX_BODY_BYTES:
                        raise Refused(413, ErrorCode.PAYLOAD_TOO_LARGE, _TOO_LARGE % settings.MEMOS_MAX_BODY_BYTES)
                    if self._arriving > MAX_BODIES * settings.MEMOS_MAX_BODY_BYTES:
                        raise Refused(503, ErrorCode.OVERLOADED, _NO_ROOM)
                    body.write(piece)
        except TimeoutError:
            raise Refused(408, ErrorCode.REQUEST_TIMEOUT, _TOO_SLOW % settings.MEMOS_RECEIVE_SECONDS) from None
        except OSError as error:
            log.error("a body could not be kept", extra={"reason": str(error)})
            raise Refused(503, ErrorCode.OVERLOADED, _NO_ROOM) from error
        finally:
            self._arriving -= received
        body.seek(0)
        environ["CONTENT_LENGTH"] = str(received)


_TOO_LARGE = "The body has more than %d bytes (MEMOS_MAX_BODY_BYTES). Send fewer items a batch."
_TOO_SLOW = "The request did not arrive within %d seconds. Send it faster, or send fewer items."
_NO_ROOM = "There is no room for another body. Try again in a moment."


class _Exchange:
    """A request that has arrived, and its answer: made in a thread, sent on the event loop."""

    def __init__(self, application: Callable[..., Any], environ: dict[str, Any], receive: Receive, send: Send) -> None:
        self._application = application
        self._environ = environ
        self._receive = receive
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._answered: asyncio.Future[Answer] = self._loop.create_future()
        self._ended = asyncio.Event()
        self._has_left = threading.Event()
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []

    async def send_answer(self) -> None:
        """Wait for the answer and send it; of a stream the head, and wait until the thread has sent the rest."""
        status, headers, content = await self._answered
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        if content is not None:
            await self._send({"type": "http.response.body", "body": content})
            return
        watch = asyncio.create_task(self._watch_client())
        await self._ended.wait()
        watch.cancel()

    async def _watch_client(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._has_left.set()

    def answer(self) -> None:
        """Have the application answer. In a thread of its own."""
        pieces: Any = None
        try:
            pieces = self._application(self._environ, self._start_response)
            if getattr(pieces, "streaming", False):
                self._tell(None)
                self._stream(pieces)
            else:
                self._tell(b"".join(pieces))
        except BaseException:
            log.exception("an answer broke off")
            self._loop.call_soon_threadsafe(self._fail)
        finally:
            try:
                if pieces is not None:
                    pieces.close()
            finally:
                self._loop.call_soon_threadsafe(self._ended.set)

    def _start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        self._status = int(status[:3])
        self._headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]

    def _tell(self, content: bytes | None) -> None:
        self._loop.call_soon_threadsafe(self._answered.set_result, (self._status, self._headers, content))

    def _fail(self) -> None:
        if not self._answered.done():
            self._answered.set_result((500, [(b"content-length", b"0")], b""))

    def _stream(self, pieces: Iterable[bytes]) -> None:
        """Send each piece, and wait until there is room for the next; an empty one only looks for the client."""
        for piece in pieces:
            if self._has_left.is_set() or (piece and not self._put(piece, more=True)):
                return
        self._put(b"", more=False)

    def _put(self, piece: bytes, *, more: bool) -> bool:
        """Wait until a piece is sent, and tell whether it was: not to a client that takes nothing of its answer."""
        try:
            asyncio.run_coroutine_threadsafe(self._send_piece(piece, more=more), self._loop).result()
        except TimeoutError:
            log.info("a client took nothing of its answer for too long")
            return False
        return True

    async def _send_piece(self, piece: bytes, *, more: bool) -> None:
        async with asyncio.timeout(SEND_SECONDS):
            await self._send({"type": "http.response.body", "body": piece, "more_body": more})


def _describe(scope: dict[str, Any], body: IO[bytes]) -> dict[str, Any]:
    """Return the environment of a request (PEP 3333)."""
    path = unquote_to_bytes(scope["raw_path"])
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": path.decode("latin-1"),
        # Django writes anew what is no UTF-8 in it.
        "memos.path": path,
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": scope["server"][0],
        "SERVER_PORT": str(scope["server"][1]),
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        # Proxies do the same: a name with an underscore would be taken for the one with a hyphen, which they set.
        if b"_" in name:
            continue
        key = name.decode("latin-1").upper().replace("-", "_")
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        text = value.decode("latin-1")
        environ[key] = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{text}" if key in environ else text
    return environ
