"""What MemOS left in the slots of llama.cpp's servers, in Redis: hashes and numbers, no text.

Without it, or when it is wrong, an answer is as right as ever and takes longer: the server compares tokens itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass

import orjson

from memory.stores.redis import call

# A server that nobody asks so long has its notes forgotten.
_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class SlotNote:
    """What a slot holds: the prefix `key`, and behind it what `session` said (hashes both). `task` is the server's
    number of the call that left it so: another number there means that somebody else had the slot since."""

    key: str
    session: str
    task: int
    at: float


def read_notes(server: str) -> dict[int, SlotNote]:
    """By slot, of the server at that address. Raises RedisAway."""
    found = call(lambda client: client.hgetall(_key(server)))
    return {int(slot): SlotNote(**orjson.loads(said)) for slot, said in found.items()}


def write_note(server: str, slot: int, note: SlotNote) -> None:
    """Raises RedisAway."""

    def run(client: object) -> None:
        with client.pipeline() as pipe:  # type: ignore[attr-defined]
            pipe.hset(_key(server), str(slot), orjson.dumps(asdict(note)))
            pipe.expire(_key(server), _SECONDS)
            pipe.execute()

    call(run)


def forget_note(server: str, slot: int) -> None:
    """Raises RedisAway."""
    call(lambda client: client.hdel(_key(server), str(slot)))


def _key(server: str) -> str:
    return f"memos:slots:1:{hashlib.sha256(server.encode()).hexdigest()[:16]}"
