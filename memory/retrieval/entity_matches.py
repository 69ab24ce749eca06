"""Finds which known entities a question names, and the memories that mention them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from memory.text.analysis import CJK, STOP_WORDS
from memory.text.names import keys_of_runs

MAX_WORDS = 5
MAX_CJK_CHARS = 8
Row = TypeVar("Row")

# The limit on names that are looked up for one question.
MAX_KEYS = 800
# An entity with this many mentions does not distinguish the memories that mention it.
TOLD_OF = 200

_WORD = re.compile(rf"[^\W_{CJK}]+(?:['’.-][^\W_{CJK}]+)*\.?", re.UNICODE)
_RUN = re.compile(f"[{CJK}]+")


@dataclass(frozen=True, slots=True)
class EntityMatch(Generic[Row]):
    """Holds an entity that the text names by `key`, and the memories that mention it under any of its names, unordered.

    `well_known`: one of its names has TOLD_OF mentions or more; then `memories` are not all.
    """

    entity_id: str
    key: str
    memories: list[Row]
    well_known: bool


# A common table expression `matches`: the entities that the `keys` name and that active memories mention.
MATCHES = f"""
named AS (
    SELECT DISTINCT ON (entity) entity, key FROM memory_entityalias
    WHERE namespace_id = %(namespace_id)s AND key = ANY(%(keys)s::text[]) ORDER BY entity, length(key) DESC
), matches AS MATERIALIZED (
    SELECT n.entity::text, n.key, m.memory_ids, m.well_known
    FROM named n
    CROSS JOIN LATERAL (
        SELECT array_agg(DISTINCT newest.memory_id::text) AS memory_ids,
               max(newest.mentions) >= {TOLD_OF} AS well_known
        FROM memory_entityalias a
        CROSS JOIN LATERAL (
            SELECT memory_id, count(*) OVER () AS mentions FROM (
                SELECT memory_id FROM memory_entitymention
                WHERE namespace_id = a.namespace_id AND alias = a.id AND active
                ORDER BY occurred_at DESC, id DESC LIMIT {TOLD_OF}
            ) m
        ) newest
        WHERE a.namespace_id = %(namespace_id)s AND a.entity = n.entity
    ) m
    WHERE m.memory_ids IS NOT NULL
    ORDER BY n.entity
)
"""  # noqa: S608 - put together of constants


def weigh(matches: Sequence[EntityMatch[Row]]) -> dict[Row, float]:
    """Returns the weight (0..1) of the named entities for each memory that mentions them.

    An entity weighs 1 − log n / log TOLD_OF if n memories mention it, and nothing from TOLD_OF memories on. The weights
    of several entities add up. A name that is part of a longer matched name does not count.
    """
    found: dict[Row, float] = {}
    for match in matches:
        if match.well_known or len(match.memories) >= TOLD_OF or _part_of_another(match, matches):
            continue
        rarity = 1 - math.log(len(match.memories)) / math.log(TOLD_OF)
        for memory in match.memories:
            found[memory] = min(1.0, found.get(memory, 0.0) + rarity)
    return found


def _part_of_another(match: EntityMatch[Row], found: Sequence[EntityMatch[Row]]) -> bool:
    """Tells whether the name is only a part of a longer one that was found ("york" of "new york")."""
    return any(
        other.entity_id != match.entity_id and len(other.key) > len(match.key) and match.key in other.key
        for other in found
    )


def name_keys(text: str) -> list[str]:
    """Lists the keys that `text` may name, MAX_KEYS at most: word sequences and runs of characters, longest first."""
    return list(islice(_keys(text), MAX_KEYS))


def _keys(text: str) -> Iterator[str]:
    words = [match.group() for match in _WORD.finditer(text)]
    seen: set[str] = set()
    for key, size in keys_of_runs(words, MAX_WORDS):
        if key and key not in seen and not (size == 1 and (key in STOP_WORDS or len(key) < 2)):
            seen.add(key)
            yield key
    for run in _RUN.findall(text):
        for size in range(min(MAX_CJK_CHARS, len(run)), 1, -1):
            for start in range(len(run) - size + 1):
                key = run[start : start + size]
                if key not in seen:
                    seen.add(key)
                    yield key
