"""Errors of the client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class MemOSError(Exception):
    """The base of all errors that this package raises."""


class ConnectionFailed(MemOSError):
    """The server did not answer, or not in time."""


class NotKept(MemOSError):
    """The gate refused a text, so it was not remembered. `verdict` is quarantine or reject, and `reasons` say why.

    `quarantine_id` names it in the quarantine, where a reviewer may release it. It is None for a rejected text.
    """

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
    """A text was remembered with its suspected secrets masked."""


class APIError(MemOSError):
    """The server refused a request.

    `status` is the HTTP status. `code` is the kind of error, for programs. `detail` lists the wrong fields if the
    server names them. `request_id` identifies the request in the server's log. `retry_after` is in seconds, 0 if not
    given.
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
    """The request is not valid (400, 413, 415, 422)."""


class NotAuthenticated(APIError):
    """The key is missing or not valid (401)."""


class Forbidden(APIError):
    """The key does not allow this (403)."""


class NotFound(APIError):
    """There is nothing of that name or id within the key's reach (404)."""


class Conflict(APIError):
    """The resource was changed meanwhile, or the Idempotency-Key was used for another request (409, 412)."""


class RateLimited(APIError):
    """There were too many requests, or a budget is used up (429)."""


class ServerFailed(APIError):
    """The server failed (5xx)."""


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
