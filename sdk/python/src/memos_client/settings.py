"""Reads the server's address, and builds the headers of every request."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memos_client.errors import MemOSError
from memos_client.transport import without_none


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Settings of a client.

    `timeout` is in seconds for one request. `retries` is how often a request is sent again, each time after at most
    `longest_pause` seconds.
    """

    url: str
    key: str
    namespace: str | None
    timeout: float
    retries: int
    longest_pause: float

    @classmethod
    def read(cls, url: str | None, key: str | None, namespace: str | None, **limits: Any) -> ClientSettings:
        """Read the arguments, or else MEMOS_URL, MEMOS_API_KEY and MEMOS_NAMESPACE. Raises MemOSError."""
        url = url or os.environ.get("MEMOS_URL") or "http://127.0.0.1:8000"
        key = key or os.environ.get("MEMOS_API_KEY") or ""
        if not key:
            raise MemOSError("There is no key: give one, or set MEMOS_API_KEY. `manage.py issue_api_key` makes one.")
        return cls(url.rstrip("/"), key, namespace or os.environ.get("MEMOS_NAMESPACE") or None, **limits)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "User-Agent": "memos-client-python"}

    def with_namespace(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that are not None, with the client's namespace if they name none."""
        given = without_none(options)
        return without_none({"namespace": self.namespace_of(given.pop("namespace", None)), **given})

    def namespace_of(self, named: str | None) -> str | None:
        """Return `named`, or else the client's own namespace; None stands for the key's default."""
        return named or self.namespace
