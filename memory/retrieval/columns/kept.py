"""Memories of a namespace that were read as hits, kept until they change."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from memory.retrieval.hit_memory import HitMemory

# Of a namespace so many are kept; those that were read longest ago make room.
MOST_KEPT = 1_000
# Longer texts are documents' chunks and whole conversations: reading them again is cheap beside what they take.
LONGEST_KEPT = 4_000
# About what one takes beside its text, with the words that were found in it.
_MEMORY_BYTES = 2_300
# And the terms of a newer memory that says otherwise, and of what it speaks of.
_LATER_BYTES = 6_000


class KeptMemories:
    """For several threads. `bytes`: about what they take. `moment` counts what was forgotten: what was read before is
    not kept afterwards."""

    def __init__(self) -> None:
        self._memories: dict[str, HitMemory] = {}
        # Of others, which have to be read again: the row that each was made of.
        self._rows: dict[str, tuple[tuple, HitMemory]] = {}
        self._lock = threading.Lock()
        self.bytes = 0
        self.moment = 0

    def __len__(self) -> int:
        return len(self._memories)

    def get(self, ids: Iterable[str]) -> dict[str, HitMemory]:
        """Those of `ids` that are kept."""
        with self._lock:
            found = [(identity, self._memories.get(identity)) for identity in ids]
        return {identity: memory for identity, memory in found if memory is not None}

    def keep(self, memories: Sequence[HitMemory], *, since: int) -> None:
        """Keeps what was read at the moment `since`, unless something has changed since."""
        with self._lock:
            if since != self.moment:
                return
            for memory in memories:
                if len(memory.text) <= LONGEST_KEPT:
                    self._drop(memory.id_text)
                    self._memories[memory.id_text] = memory
                    self.bytes += _size(memory)
            for oldest in list(self._memories)[: max(0, len(self._memories) - MOST_KEPT)]:
                self._drop(oldest)

    def find_made_of(self, row: tuple) -> HitMemory | None:
        """The memory that was made of the same row, which is read again: what was found in it needs no second look."""
        with self._lock:
            former, memory = self._rows.get(str(row[0]), (None, None))
        return memory if former == row else None

    def keep_made_of(self, row: tuple, memory: HitMemory) -> None:
        """Keeps a memory for `find_made_of`, whatever changes."""
        with self._lock:
            if len(memory.text) <= LONGEST_KEPT:
                self._drop_row(memory.id_text)
                self._rows[memory.id_text] = row, memory
                self.bytes += 2 * _size(memory)
            for oldest in list(self._rows)[: max(0, len(self._rows) - MOST_KEPT)]:
                self._drop_row(oldest)

    def forget(self, identity: str) -> None:
        """A memory that has changed or is gone."""
        with self._lock:
            self.moment += 1
            self._drop(identity)
            self._drop_row(identity)

    def _drop(self, identity: str) -> None:
        memory = self._memories.pop(identity, None)
        if memory is not None:
            self.bytes -= _size(memory)

    def _drop_row(self, identity: str) -> None:
        _, memory = self._rows.pop(identity, (None, None))
        if memory is not None:
            self.bytes -= 2 * _size(memory)


def _size(memory: HitMemory) -> int:
    return _MEMORY_BYTES + 4 * len(memory.text) + _LATER_BYTES * len(memory.later)
