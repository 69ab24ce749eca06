"""Indexes the names of entities in memory: which entity a name stands for, and the rows that mention it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from memory.retrieval.entity_matches import TOLD_OF, EntityMatch


class NameIndex:
    """Holds entities by name, and the rows that mention them, once for each mention.

    Entities and names (aliases) are ids as text.
    """

    def __init__(self) -> None:
        self._names: dict[str, tuple[str, str]] = {}
        self._by_key: dict[str, set[str]] = {}
        self._by_entity: dict[str, set[str]] = {}
        self._mentions: dict[str, list[int]] = {}
        self._mention_count = 0

    @property
    def bytes(self) -> int:
        """Returns the approximate size of the index, in bytes."""
        return 900 * len(self._names) + 40 * self._mention_count

    def put(self, alias: str, key: str, entity: str) -> None:
        """Adds or changes a name, with its key and the entity it stands for."""
        self.forget(alias)
        self._names[alias] = (key, entity)
        self._by_key.setdefault(key, set()).add(alias)
        self._by_entity.setdefault(entity, set()).add(alias)

    def forget(self, alias: str) -> None:
        """Removes a name, if it was known."""
        known = self._names.pop(alias, None)
        if known is not None:
            key, entity = known
            self._by_key[key].discard(alias)
            self._by_entity[entity].discard(alias)

    def add(self, row: int, aliases: Iterable[str]) -> None:
        """Adds a new row that mentions names, each one as often as it is in `aliases`."""
        for alias in aliases:
            self._mentions.setdefault(alias, []).append(row)
            self._mention_count += 1

    def select_known(self, keys: Iterable[str]) -> list[str]:
        """Returns the `keys` that name an entity."""
        return [key for key in keys if key in self._by_key]

    def keys_beside(self, key: str) -> Iterator[str]:
        """Yields all keys of the entities that `key` names."""
        for alias in self._by_key.get(key, ()):
            for other in self._by_entity[self._names[alias][1]]:
                yield self._names[other][0]

    def match(self, keys: Iterable[str], alive: np.ndarray) -> list[EntityMatch[int]]:
        """Finds the entities that the `keys` name and that a row mentions which is `alive` [rows]."""
        longest: dict[str, str] = {}
        for key in keys:
            for alias in self._by_key.get(key, ()):
                entity = self._names[alias][1]
                if len(key) > len(longest.get(entity, "")):
                    longest[entity] = key
        found = []
        for entity, key in longest.items():
            rows: set[int] = set()
            well_known = False
            for alias in self._by_entity[entity]:
                alive_rows = (row for row in reversed(self._mentions.get(alias, ())) if alive[row])
                newest = list(islice(alive_rows, TOLD_OF))
                well_known = well_known or len(newest) >= TOLD_OF
                rows.update(newest)
            if rows:
                found.append(EntityMatch(entity, key, list(rows), well_known))
        return found
