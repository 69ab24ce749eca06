"""What goes wrong between a program and its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class MemOSError(Exception):
    """All that this package raises."""


class ConnectionFailed(MemOSError):
    """The server does not answer, or not in time."""


class NotKept(MemOSError):
    """The gate kept a text out, so that it is not remembered. `verdict`: quarantine or reject. `reasons`: why.
    `quarantine_id`: where it waits for a person who may release it; None for a text that was rejected."""

    def __init__(
        self, what: str, verdict: str, reasons: Sequence[Mapping[str, str]], quarantine_id: str | None
    ) -> None:
        why = "; ".join(reason["says"] for reason in reasons) or "no reason was given"
        waits = f" It waits in the quarantine as {quarantine_id}." if quarantine_id else ""
        super().__init__(f"{what} was not kept ({verdict}): {why}.{waits}")
        self.verdict = verdict
        self.reasons = list(reasons)
        self.quarantine_id = quarantine_id


class ChangedByGate(UserWarning):
    """A text was remembered with marks in place of what the gate takes for a secret."""


class APIError(MemOSError):
    """The server refuses a request, and says why.

    `status`: of HTTP. `code`: the kind of error, for programs. `detail`: which fields, where the server names them.
    `request_id`: what the server's log knows the request by. `retry_after`: seconds, where it names them.
    """

    def __init__(
        self, status: int, code: str, message: str, *, detail: Any = None, request_id: str = "", retry_after: float = 0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.detail = detail
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.message} ({self.code}, HTTP {self.status})"


class InvalidRequest(APIError):
    """Something about the request is wrong (400, 413, 415, 422)."""


class NotAuthenticated(APIError):
    """The key is missing or not valid (401)."""


class Forbidden(APIError):
    """The key may not do this (403)."""


class NotFound(APIError):
    """There is no such thing within the key's reach (404)."""


class Conflict(APIError):
    """It has been changed meanwhile, or the Idempotency-Key was used for something else (409, 412)."""


class RateLimited(APIError):
    """Too many requests, or a budget is spent (429)."""


class ServerFailed(APIError):
    """The server could not do it (5xx)."""


BY_STATUS: dict[int, type[APIError]] = {
    400: InvalidRequest,
    401: NotAuthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    429: RateLimited,
}
