"""Records for all processes when a model last answered, which the console shows next to its current state."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final

from memory.errors import RedisAway
from memory.stores.redis import call

KEY = "memos:model_calls"
EMBEDDING: Final = "embedding"
RERANKER: Final = "reranker"
LANGUAGE: Final = "language"
# A process writes at most this often for each model: on a busy server, every call would cost a round trip.
EVERY_SECONDS = 5.0

_noted: dict[str, float] = {}


def note_answer(model: str) -> None:
    """Record that a model has just answered. Never fails: without Redis the time isn't known."""
    now = time.monotonic()
    if now - _noted.get(model, -EVERY_SECONDS) < EVERY_SECONDS:
        return
    _noted[model] = now
    try:
        call(lambda client: client.hset(KEY, model, time.time()))
    except RedisAway:
        return


def last_answers() -> dict[str, datetime]:
    """Return the time of each model's last answer; models that haven't answered since Redis started are missing."""
    try:
        found = call(lambda client: client.hgetall(KEY))
    except RedisAway:
        return {}
    return {name.decode(): datetime.fromtimestamp(float(at), UTC) for name, at in found.items()}


def forget() -> None:
    """Make the next answer of each model be recorded."""
    _noted.clear()
