"""Rate limit of one key: a fixed window of a minute."""

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
    """Refuses (429, Retry-After) what a key sends above its requests a minute."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        access = request.user
        if not isinstance(access, Access) or not access.requests_per_minute:
            return True
        self._now = time.time()
        count = count_request(access.actor, minute=int(self._now // 60), limit=access.requests_per_minute)
        return count <= access.requests_per_minute

    def wait(self) -> float:
        return 60 - self._now % 60
