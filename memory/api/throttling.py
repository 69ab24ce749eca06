"""The rate limit of a key, counted in fixed windows of a minute."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memory.stores.ratelimit import count_request
from memory.types import Access

if TYPE_CHECKING:
    from rest_framework.views import APIView


class KeyThrottle(BaseThrottle):
    """Refuses requests above a key's limit per minute with 429 and Retry-After."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        access = request.user
        if not isinstance(access, Access) or not access.requests_per_minute:
            return True
        self._now = time.time()
        limit = access.requests_per_minute
        count = count_request(access.actor, minute=int(self._now // 60), limit=limit, requests=_count(request, view))
        return count <= access.requests_per_minute

    def wait(self) -> float:
        return 60 - self._now % 60


def _count(request: Request, view: APIView) -> int:
    """Return how many requests this one counts for. A view may define `count_requests` for batches."""
    count = getattr(view, "count_requests", None)
    return count(request) if count else 1
