"""Headers, errors, retries and streams of requests, shared by the client and its async twin."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx2

from memos_client.errors import BY_STATUS, APIError, MemOSError, ServerFailed

T = TypeVar("T")

# Statuses that mean that the server did nothing and may succeed a moment later.
_BUSY = {429, 503}
FIRST_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """A request whose answer is a T.

    `once`: the server remembers its Idempotency-Key, so that a retry does nothing twice. `asks`: it changes nothing.
    `patience`: seconds that the server may wait before it answers. `content`: bytes to send instead of a JSON body.
    """

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content: bytes | None = None
    once: bool = False
    asks: bool = False
    key: str | None = None
    patience: float = 0.0

    def headers(self) -> dict[str, str]:
        """Return the Idempotency-Key, which is the same for all retries of this request."""
        return {"Idempotency-Key": self.key or uuid.uuid4().hex} if self.once else {}

    @property
    def is_repeatable(self) -> bool:
        """Return whether the request can be sent again safely when its outcome is unknown."""
        return self.once or self.asks or self.method in ("GET", "PUT")


def path_of(*parts: object) -> str:
    """Return the path with each part escaped."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def arguments(request: Request[Any], headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the request as arguments for httpx2."""
    params = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in without_none(request.params).items()
    }
    wanted: dict[str, Any] = {"params": params, "headers": dict(headers)}
    if request.body is not None:
        wanted["content"] = json.dumps(without_none(request.body), default=_encode).encode()
        wanted["headers"]["Content-Type"] = "application/json"
    elif request.content is not None:
        wanted["content"] = request.content
        wanted["headers"]["Content-Type"] = "application/octet-stream"
    return wanted


def _encode(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} does not go into JSON")


def error_of(response: httpx2.Response) -> APIError:
    """Return the error in a response, whether it comes from the server or from a proxy."""
    try:
        body = response.json()
    except ValueError:
        body = {}
    said = body.get("error") if isinstance(body, Mapping) else None
    said = said if isinstance(said, Mapping) else {}
    kind = BY_STATUS.get(response.status_code, ServerFailed if response.status_code >= 500 else APIError)
    return kind(
        response.status_code,
        str(said.get("code", "unexpected_answer")),
        str(said.get("message", f"The server answered {response.status_code} {response.reason_phrase}.")),
        detail=said.get("detail"),
        request_id=str(said.get("request_id", response.headers.get("X-Request-ID", ""))),
        retry_after=_seconds(response.headers.get("Retry-After", "")),
    )


def pause_before(request: Request[Any], attempt: int, error: MemOSError, *, longest: float) -> float | None:
    """Return the seconds to wait before retry `attempt` (from 1), or None if it would not help or come too late."""
    if isinstance(error, APIError):
        if error.status not in _BUSY:
            return None
    elif not request.is_repeatable:
        return None
    pause = getattr(error, "retry_after", 0.0) or FIRST_PAUSE * 2 ** (attempt - 1)
    return None if pause > longest else pause + random.uniform(0, 0.1)


def _seconds(header: str) -> float:
    try:
        return max(0.0, float(header))
    except ValueError:
        return 0.0


@dataclass
class EventReader:
    """Parses server-sent events line by line."""

    name: str = "message"
    data: str = ""

    def feed(self, line: str) -> tuple[str, Any] | None:
        """Return the event that the line completes, or None."""
        if not line:
            done, self.name, name, self.data = self.data, "message", self.name, ""
            return (name, json.loads(done)) if done else None
        field_name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field_name == "event":
            self.name = value
        elif field_name == "data":
            self.data += value
        return None


def error_of_event(data: Any) -> APIError:
    """Return the error that ends a stream."""
    said = data.get("error", {})
    return ServerFailed(
        200, said.get("code", "broke_off"), said.get("message", ""), detail=said.get("detail"),
        request_id=said.get("request_id", ""),
    )  # fmt: skip
