"""Posts one message to a webhook: once, to the checked address, within a time limit, without redirects."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from memory.services.webhooks.addresses import AddressRefused, WebhookTarget, resolve

# The most bytes of an answer that are read; receivers report the result by the status.
READ_BYTES = 4096
KEPT_CHARS = 500
_REDIRECTS = range(300, 400)
_MAX_RETRY_AFTER = 86_400


@dataclass(frozen=True, slots=True)
class DeliveryReply:
    """The result of an attempt. `status` 0: there was no answer; `error` is '' when it was delivered."""

    status: int
    error: str
    milliseconds: int
    answer: str = ""
    retry_after: int = 0

    @property
    def is_delivered(self) -> bool:
        return not self.error


def post(target: WebhookTarget, *, headers: Mapping[str, str], body: bytes, seconds: float) -> DeliveryReply:
    """Post the body; `seconds` cover everything, from the connection to the end of the answer.

    Never raises for errors of a receiver or a network.
    """
    started = time.monotonic()
    try:
        status, retry_after, answer = _exchange(target, headers, body, started + seconds)
    except AddressRefused as refused:
        return DeliveryReply(0, str(refused), _since(started))
    except (OSError, http.client.HTTPException) as error:
        return DeliveryReply(0, _say(error, seconds, is_late=time.monotonic() >= started + seconds), _since(started))
    return DeliveryReply(status, _judge(status), _since(started), answer, retry_after)


def _exchange(target: WebhookTarget, headers: Mapping[str, str], body: bytes, deadline: float) -> tuple[int, int, str]:
    link = http.client.HTTPConnection(target.host, target.port)
    plain = _connect_to(target, deadline)
    # Set the socket, so that http.client does not connect itself, which would resolve the name again.
    link.sock = _wrap_in_tls(plain, target) if target.scheme == "https" else plain
    # Shut the socket down at the deadline, which ends a waiting read, because an answer may trickle in.
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), _shut_down, [link.sock])
    timer.daemon = True
    timer.start()
    try:
        if isinstance(link.sock, ssl.SSLSocket):
            link.sock.do_handshake()
        link.request("POST", target.path, body=body, headers={**headers, "Host": target.authority})
        response = link.getresponse()
        answer = response.read(READ_BYTES).decode("utf-8", "replace").replace("\0", "")
        return response.status, _seconds(response.getheader("Retry-After", "")), answer[:KEPT_CHARS]
    finally:
        timer.cancel()
        link.close()


def _connect_to(target: WebhookTarget, deadline: float) -> socket.socket:
    addresses = resolve(target)
    for address in addresses[:-1]:
        with suppress(OSError):
            return _connect(address, target.port, deadline, shares=len(addresses))
    return _connect(addresses[-1], target.port, deadline, shares=1)


def _connect(address: str, port: int, deadline: float, *, shares: int) -> socket.socket:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    plain = socket.create_connection((address, port), timeout=left / shares)
    plain.settimeout(max(0.1, deadline - time.monotonic()))
    return plain


def _shut_down(link: socket.socket) -> None:
    with suppress(OSError):
        # Bypass TLS, whose state belongs to the reading thread.
        socket.socket.shutdown(link, socket.SHUT_RDWR)


def _wrap_in_tls(plain: socket.socket, target: WebhookTarget) -> ssl.SSLSocket:
    return _tls().wrap_socket(plain, server_hostname=target.host, do_handshake_on_connect=False)


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _judge(status: int) -> str:
    if 200 <= status < 300:
        return ""
    if status in _REDIRECTS:
        return f"The receiver answered {status}: redirects are not followed. Give the webhook its last address."
    return f"The receiver answered {status}, and not 2xx."


def _say(error: Exception, seconds: float, *, is_late: bool) -> str:
    if is_late or isinstance(error, TimeoutError):
        return f"There was no answer within {seconds:g} seconds."
    if isinstance(error, socket.gaierror):
        return "The name of the host is not known."
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"The receiver's certificate does not hold: {error.verify_message}."
    if isinstance(error, ConnectionRefusedError):
        return "The connection was refused: nothing listens there."
    return f"The connection broke off: {type(error).__name__}."


def _seconds(value: str) -> int:
    """Return Retry-After in seconds; 0 for a date, or anything else that is not a number."""
    return min(int(value), _MAX_RETRY_AFTER) if value.isascii() and value.isdigit() and len(value) < 10 else 0


def _since(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
