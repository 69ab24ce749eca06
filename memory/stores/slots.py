"""Records in Redis what MemOS left in the slots of llama.cpp's servers: hashes and numbers, but no text.

A missing or wrong note makes an answer slower, but not wrong, because the server compares tokens itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass

import orjson

from memory.stores.redis import call

# Notes about a server that isn't called for this long expire.
_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class SlotNote:
    """The content of a slot: the prefix `key`, and what `session` said after it (both are hashes).

    `task` is the server's number of the call that left it so; a different number means that another caller has used the
    slot since.
    """

    key: str
    session: str
    task: int
    at: float


def read_notes(server: str) -> dict[int, SlotNote]:
    """Return the notes about the server at that address by slot. Raise RedisAway."""
    found = call(lambda client: client.hgetall(_key(server)))
    return {int(slot): SlotNote(**orjson.loads(said)) for slot, said in found.items()}


def write_note(server: str, slot: int, note: SlotNote) -> None:
    """Store the note about a slot. Raise RedisAway."""

    def run(client: object) -> None:
        with client.pipeline() as pipe:  # type: ignore[attr-defined]
            pipe.hset(_key(server), str(slot), orjson.dumps(asdict(note)))
            pipe.expire(_key(server), _SECONDS)
            pipe.execute()

    call(run)


def forget_note(server: str, slot: int) -> None:
    """Delete the note about a slot. Raise RedisAway."""
    call(lambda client: client.hdel(_key(server), str(slot)))


def _key(server: str) -> str:
    return f"memos:slots:1:{hashlib.sha256(server.encode()).hexdigest()[:16]}"
