"""Caches memories of a namespace that were read as hits, until they change."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from memory.retrieval.hit_memory import HitMemory

# The limit on cached memories of a namespace; the oldest entries are dropped first.
MOST_KEPT = 1_000
# Longer texts (chunks of documents, whole conversations) are not cached: reading them again costs less than the space.
LONGEST_KEPT = 4_000
# The approximate size of a cached memory without its text, but with the words found in it.
_MEMORY_BYTES = 2_300
# The approximate size of a newer memory that replaces words of it, with its terms.
_LATER_BYTES = 6_000


class KeptMemories:
    """Caches memories by id; thread-safe.

    `bytes`: the approximate size. `moment` counts removals, so that a memory that was read before a removal is not
    cached after it.
    """

    def __init__(self) -> None:
        self._memories: dict[str, HitMemory] = {}
        # Memories that must be read again each time, with the row that each was made of.
        self._rows: dict[str, tuple[tuple, HitMemory]] = {}
        self._lock = threading.Lock()
        self.bytes = 0
        self.moment = 0

    def __len__(self) -> int:
        return len(self._memories)

    def get(self, ids: Iterable[str]) -> dict[str, HitMemory]:
        """Returns the cached memories among `ids`, by id."""
        with self._lock:
            found = [(identity, self._memories.get(identity)) for identity in ids]
        return {identity: memory for identity, memory in found if memory is not None}

    def keep(self, memories: Sequence[HitMemory], *, since: int) -> None:
        """Caches memories that were read at `moment` `since`, unless any memory was removed in the meantime."""
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
        """Returns the memory that was made of an equal row, which saves parsing it again, or None."""
        with self._lock:
            former, memory = self._rows.get(str(row[0]), (None, None))
        return memory if former == row else None

    def keep_made_of(self, row: tuple, memory: HitMemory) -> None:
        """Caches a memory for `find_made_of`, which compares the row, so that no change can make it stale."""
        with self._lock:
            if len(memory.text) <= LONGEST_KEPT:
                self._drop_row(memory.id_text)
                self._rows[memory.id_text] = row, memory
                self.bytes += 2 * _size(memory)
            for oldest in list(self._rows)[: max(0, len(self._rows) - MOST_KEPT)]:
                self._drop_row(oldest)

    def forget(self, identity: str) -> None:
        """Removes a memory that has changed or is gone."""
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
