"""Gunicorn's worker with threads, which hands a request to a thread only when all of it has arrived.

Gunicorn's own reads head and body in the thread: ten clients that send a byte now and then hold all of them. Here the
worker's event loop reads, every connection has MEMOS_RECEIVE_SECONDS for a whole request, and no thread ever waits for
a client to send.

One of the workers takes no connections: it gets the requests that take long from the others (`memos_site.forwarding`),
and has many more threads, which mostly wait. So no stream holds a thread that a query needs. The others share what
there is to do: who is at work hands what comes to one that has less.
"""

from __future__ import annotations

import random
import selectors
import socket
import time
from concurrent.futures import Future
from functools import partial
from typing import Any

import orjson
from django.conf import settings
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker
from uuid_utils.compat import uuid7

from memory.api.responses import error_body
from memory.enums import ErrorCode
from memory.metrics import HANDED_OVER
from memos_site.client_connection import END, MAX_HEAD_BYTES, SPOOLED_BYTES, Connection
from memos_site.executor import RequestThreads
from memos_site.forwarding import Balance, Forwarding

RECV_BYTES = 262_144
# Of larger bodies so many of the largest size may be on their way at once; more are answered 503.
MOST_LARGE = 16
# How long a connection that was answered for the last time is read on, so that the answer is not cut off by a reset.
LINGER_SECONDS = 2.0
LINGER_BYTES = 65_536
# A web process is replaced when it has answered so many requests and is so old, each up to half as much again, so that
# no two are replaced at once. In an hour of `bench/soak.py` two grew from 201 to 303 MiB: by columns and caches, and by
# gaps between what was freed.
REPLACED_AFTER_REQUESTS = 2_500
REPLACED_AFTER_SECONDS = 300.0

_REASONS = {
    400: ("Bad Request", ErrorCode.INVALID_REQUEST),
    408: ("Request Timeout", ErrorCode.REQUEST_TIMEOUT),
    413: ("Content Too Large", ErrorCode.PAYLOAD_TOO_LARGE),
    431: ("Request Header Fields Too Large", ErrorCode.HEADERS_TOO_LARGE),
    503: ("Service Unavailable", ErrorCode.OVERLOADED),
}
# What a thread says of a connection on which another request may come.
_GOES_ON: Future[bool] = Future()
_GOES_ON.set_result(True)
_NO_ROOM = "There is no room for another large body. Try again in a moment."


class BufferedWorker(ThreadWorker):
    """See the module. Before it is forked are set: `forwarding` and `has_streams`, which says that it is the one that
    streams are handed over to; of the others `balance`, None where there is one only, and their number in it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._accepting = False
        self.forwarding: Forwarding | None = None
        self.has_streams = False
        self.balance: Balance | None = None
        self.balance_number = 0
        self.metrics_number = 0
        # When a process that stops has waited long enough for clients that have connected and sent nothing yet.
        self._stops_waiting_at = 0.0
        self._is_replaced = False
        share = random.uniform(1.0, 1.5)  # noqa: S311 - no secret
        self._replaced_at = time.monotonic() + REPLACED_AFTER_SECONDS * share
        self._replaced_after = REPLACED_AFTER_REQUESTS * share
        # Requests that have a thread, or wait for one.
        self._answering = 0
        self._arriving: dict[Connection, None] = {}
        self._lingering: dict[Connection, list[float]] = {}

    def accept(self, listener: Any) -> None:
        """Takes a new connection, and reads from it when it is readable."""
        try:
            client_sock, client_addr = listener.accept()
        except OSError as error:
            if isinstance(error, BlockingIOError | ConnectionAbortedError):
                return
            raise
        self.nr_conns += 1
        self._await_request(Connection(self.cfg, client_sock, client_addr, client_sock.getsockname()))

    def init_process(self) -> None:
        """Starts the loop."""
        if self.has_streams:
            # The next request of the connection is for the web processes: it comes on a new one.
            self.cfg.set("keepalive", 0)
        super().init_process()

    def get_thread_pool(self) -> RequestThreads:
        """As many threads as there may be streams, or requests at once."""
        threads = settings.MEMOS_STREAM_THREADS if self.has_streams else self.cfg.threads
        return RequestThreads(threads)

    def run(self) -> None:
        """Serves until it is asked to stop, and ends when the last request is answered, however long that takes."""
        super().run()
        self.tpool.shutdown(wait=True)

    def is_parent_alive(self) -> bool:
        """Whether the server is there; without it this process stops."""
        if super().is_parent_alive():
            return True
        self.alive = False
        return False

    def set_accept_enabled(self, enabled: bool) -> None:
        """Takes connections from clients and from the other workers, or takes none."""
        inbox = self._inbox()
        if enabled != self._accepting:
            if not self.has_streams:
                super().set_accept_enabled(enabled)
            self._accepting = enabled
            if inbox is not None and enabled:
                inbox.enter()
                self.poller.register(inbox.receiving, selectors.EVENT_READ, lambda _: self._receive(inbox))
                self._count(0)
            elif inbox is not None:
                self.poller.unregister(inbox.receiving)
                if self.balance is not None:
                    self.balance.forget(self.balance_number)
        if inbox is not None and not self.alive:
            inbox.leave()
            # Perhaps no other process will read it.
            for waiting in (inbox, *(self.balance.list_unattended() if self.balance is not None else ())):
                while self._receive(waiting):
                    pass
            if self._is_replaced:
                self._pass_on_those_that_wait()

    def _inbox(self) -> Forwarding | None:
        if self.has_streams:
            return self.forwarding
        return None if self.balance is None else self.balance.inbox(self.balance_number)

    def notify(self) -> None:
        """Tells that the loop turns: gunicorn, and the other web processes. Stops where it is to be replaced."""
        super().notify()
        self._count(0)
        is_worn = self.nr >= self._replaced_after and time.monotonic() >= self._replaced_at
        if self.alive and is_worn and self.balance is not None and self.forwarding is not None:
            # Before it looks: of two that would go in the same moment, each finds the other gone, and stays.
            self.balance.forget(self.balance_number)
            if self.balance.are_others_there(self.balance_number):
                self._is_replaced = True
                # What is arriving is not cut off; what is being answered is waited for in any case (`run`).
                self.cfg.set("graceful_timeout", settings.MEMOS_RECEIVE_SECONDS + self.cfg.graceful_timeout)
                self.alive = False
            else:
                self._count(0)

    def _pass_on(self, conn: Connection) -> bool:
        """Gives a connection on which nothing has arrived to another process, so that its client notices nothing of the
        replacement; False when there is none."""
        other = None if self.balance is None else self.balance.find_other(self.balance_number)
        conn.begin()
        if other is None or not self._forwards(conn, other):
            return False
        self._give_up(conn)
        return True

    def _give_up(self, conn: Connection) -> None:
        """Lets go of a connection that another process has."""
        conn.forget()
        self.nr_conns -= 1
        conn.close()

    def _pass_on_those_that_wait(self) -> None:
        for conn in list(self.keepalived_conns):
            self.poller.unregister(conn.sock)
            self.keepalived_conns.remove(conn)
            self._keep(conn)
        for conn in [conn for conn in self._arriving if not conn.has_begun]:
            self._stop_waiting(conn)
            self._keep(conn)

    def _keep(self, conn: Connection) -> None:
        """Waits for the next request: here, or, in a process that is replaced, elsewhere."""
        if not self._is_replaced or not self._pass_on(conn):
            super().finish_request(conn, _GOES_ON)

    def _receive(self, inbox: Forwarding) -> bool:
        """Takes a request that was handed over, or a connection that was passed on; False when there is none."""
        try:
            handed = inbox.receive()
        except OSError as error:
            self.log.error("a request was lost: %s", error)
            return True
        if handed is None:
            return False
        client, request = handed
        try:
            conn = Connection(self.cfg, client, client.getpeername(), client.getsockname())
        except OSError as error:
            # The client has left meanwhile.
            self.log.info("a request was not taken over: %s", error)
            request.close()
            client.close()
            return True
        self.nr_conns += 1
        try:
            with request:
                conn.begin()
                arrived = request.read()
                conn.take(arrived)
        except OSError as error:
            self.log.error("a body could not be kept: %s", error)
            self._refuse(conn, 503, _NO_ROOM)
            return True
        if not arrived:
            self._keep(conn)
        elif self.has_streams and self._answering >= settings.MEMOS_STREAM_THREADS:
            self._refuse(conn, 503, "So many answers are on their way (MEMOS_STREAM_THREADS). Try again in a moment.")
        else:
            self.enqueue_req(conn)
        return True

    def enqueue_req(self, conn: Connection) -> None:
        """Has a thread answer."""
        super().enqueue_req(conn)
        self._count(1)

    def _count(self, change: int) -> None:
        self._answering += change
        if self.balance is not None and self._accepting and not self._is_replaced:
            self.balance.report(self.balance_number, self._answering)

    def on_client_socket_readable(self, conn: Connection, client: Any) -> None:
        """A kept connection has something to read."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self._await_request(conn)

    def finish_request(self, conn: Connection, fs: Any) -> None:
        """A thread has answered: waits for the next request, or closes. On the main thread."""
        try:
            goes_on = not fs.cancelled() and fs.result()
        except Exception:
            self.log.exception("request failed")
            goes_on = False
        conn.forget()
        self._count(-1)
        if not goes_on or conn.is_cut:
            self._linger(conn)
        elif conn.rest:
            self._await_request(conn, conn.rest)
        else:
            self._keep(conn)

    def murder_pending(self) -> None:
        """Answers what did not arrive in time, closes what has been answered for the last time, and takes what was
        handed to a process that is gone."""
        now = time.monotonic()
        if not self.alive and not self._stops_waiting_at:
            self._stops_waiting_at = now + STOP_KEEPALIVE_LINGER
        is_last = 0 < self._stops_waiting_at <= now
        for conn in [conn for conn in self._arriving if conn.deadline <= now or (is_last and not conn.has_begun)]:
            message = (
                f"The request did not arrive within {settings.MEMOS_RECEIVE_SECONDS} seconds (MEMOS_RECEIVE_SECONDS). "
                "Send it faster, or send fewer items."
            )
            self._stop_waiting(conn)
            self._refuse(conn, 408, message) if conn.has_begun else self._linger(conn)
        for conn in [conn for conn, (deadline, _) in self._lingering.items() if deadline <= now]:
            self._end(conn)
        if self.balance is not None and self.alive:
            for inbox in self.balance.list_unattended():
                # No more at a time than there are threads: other processes take the rest.
                for _ in range(self.cfg.threads):
                    if not self._receive(inbox):
                        break

    def _await_request(self, conn: Connection, data: bytes = b"") -> None:
        """Takes `data`, or what is there to read; only a request that is not all there by then is polled for."""
        conn.begin()
        conn.sock.setblocking(False)
        self._arriving[conn] = None
        if data:
            self._take(conn, data)
        else:
            self._read(conn, conn.sock)
        if conn in self._arriving:
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._read, conn))
            conn.is_polled = True

    def _stop_waiting(self, conn: Connection) -> None:
        del self._arriving[conn]
        if conn.is_polled:
            self.poller.unregister(conn.sock)
            conn.is_polled = False

    def _read(self, conn: Connection, client: Any) -> None:
        try:
            data = conn.sock.recv(RECV_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._take(conn, data)
        else:
            # The client has closed.
            self._stop_waiting(conn)
            conn.forget()
            self._linger(conn)

    def _take(self, conn: Connection, data: bytes) -> None:
        is_new = conn.lacks is None
        try:
            refused = conn.take(data)
        except OSError as error:
            # There is no place for the file. Raised, it would end the loop and with it all other requests.
            self.log.error("a body could not be kept: %s", error)
            refused = 503
        if refused is None and is_new and conn.lacks and conn.length > SPOOLED_BYTES and self._is_full(conn):
            refused = 503
        if refused is not None:
            self._stop_waiting(conn)
            self._refuse(conn, refused, _explain(refused))
        elif conn.lacks == 0:
            self._stop_waiting(conn)
            self._answer(conn)
        elif is_new and conn.lacks and conn.wants_continue:
            conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _answer(self, conn: Connection) -> None:
        """Has the request answered: here, where the streams are, or by a process with less to do."""
        if self._hands_over(conn):
            self._give_up(conn)
        else:
            self.enqueue_req(conn)

    def _hands_over(self, conn: Connection) -> bool:
        # What is handed over by a process that stops may be read by nobody: the others stop, too.
        if not self.alive:
            return False
        if self.forwarding and conn.takes_long:
            return self._forwards(conn, self.forwarding)
        # A large body, and a request with bytes of the next one behind it, stay here.
        if self.balance is None or conn.is_cut or conn.rest or conn.length > SPOOLED_BYTES:
            return False
        if not self.balance.hand_over(self.balance_number, self._answering, partial(self._forwards, conn)):
            return False
        try:
            HANDED_OVER.inc()
        except OSError as error:
            # The first in a process opens a file. Raised, it would end the loop.
            self.log.error("a request that was handed over could not be counted: %s", error)
        return True

    def _forwards(self, conn: Connection, forwarding: Forwarding) -> bool:
        try:
            return conn.forward(forwarding)
        except OSError as error:
            self.log.error("a request could not be handed over: %s", error)
            return False

    def _is_full(self, conn: Connection) -> bool:
        large = (other.length for other in self._arriving if other is not conn and other.length > SPOOLED_BYTES)
        return sum(large) + conn.length > MOST_LARGE * settings.MEMOS_MAX_BODY_BYTES

    def _refuse(self, conn: Connection, status: int, message: str) -> None:
        conn.forget()
        request_id = str(uuid7())
        reason, code = _REASONS[status]
        content = error_body(None, code, message)
        content["error"]["request_id"] = request_id
        self.log.info("request refused: %s %s %s", status, code, request_id)
        body = orjson.dumps(content)
        lines = [
            f"HTTP/1.1 {status} {reason}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            f"X-Request-ID: {request_id}",
            *(["Retry-After: 1"] if status == 503 else []),
            "Connection: close",
        ]
        conn.send("\r\n".join(lines).encode() + END + body)
        self._linger(conn)

    def _linger(self, conn: Connection) -> None:
        """Closes for writing, and for reading when the client has, without waiting for it (RFC 9112, 9.6)."""
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._drain, conn))
        except (OSError, ValueError):
            self.nr_conns -= 1
            conn.close()
            return
        self._lingering[conn] = [time.monotonic() + LINGER_SECONDS, LINGER_BYTES]

    def _drain(self, conn: Connection, client: Any) -> None:
        try:
            data = conn.sock.recv(RECV_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._lingering[conn][1] -= len(data)
        if not data or self._lingering[conn][1] <= 0:
            self._end(conn)

    def _end(self, conn: Connection) -> None:
        del self._lingering[conn]
        self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()


def _explain(status: int) -> str:
    """What to say to a client whose request was refused while it arrived."""
    most = settings.MEMOS_MAX_BODY_BYTES
    return {
        400: "The chunks of the body cannot be read.",
        413: f"The body has more than {most} bytes (MEMOS_MAX_BODY_BYTES). Send fewer items a batch.",
        431: f"The headers have more than {MAX_HEAD_BYTES} bytes.",
    }.get(status, _NO_ROOM)
