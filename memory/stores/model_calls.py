"""When a model last answered, for all processes together: the console shows it beside whether it works now."""

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
# A process writes at most so often of one model: on a busy server each call would cost a round trip.
EVERY_SECONDS = 5.0

_noted: dict[str, float] = {}


def note_answer(model: str) -> None:
    """Notes that a model answered just now. Never fails: without Redis the moment is not known."""
    now = time.monotonic()
    if now - _noted.get(model, -EVERY_SECONDS) < EVERY_SECONDS:
        return
    _noted[model] = now
    try:
        call(lambda client: client.hset(KEY, model, time.time()))
    except RedisAway:
        return


def last_answers() -> dict[str, datetime]:
    """By model, its last good answer; a model that has not answered since Redis is up is not among them."""
    try:
        found = call(lambda client: client.hgetall(KEY))
    except RedisAway:
        return {}
    return {name.decode(): datetime.fromtimestamp(float(at), UTC) for name, at in found.items()}


def forget() -> None:
    """Makes the next answer of each model be written."""
    _noted.clear()
