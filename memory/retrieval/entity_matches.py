"""Which known entities a question names, and the memories that mention them: what an entity arm searches with."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from memory.models.sql import fetch
from memory.text.analysis import CJK, STOP_WORDS
from memory.text.names import name_key
from memory.types import Scope

MAX_WORDS = 5
MAX_CJK_CHARS = 8
# Names that are looked up of one question.
MAX_KEYS = 800
# An entity that so many memories mention tells nothing of any of them.
TOLD_OF = 200

_WORD = re.compile(rf"[^\W_{CJK}]+(?:['’.-][^\W_{CJK}]+)*\.?", re.UNICODE)
_RUN = re.compile(f"[{CJK}]+")


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """An entity that the text names by `key`. `memory_ids` mention it under any of its names, newest first."""

    entity_id: uuid.UUID
    name: str
    kind: str
    key: str
    memory_ids: list[uuid.UUID]


_MATCHES = """
WITH named AS (
    SELECT DISTINCT ON (entity) entity, key FROM memory_entityalias
    WHERE namespace_id = %(namespace_id)s AND key = ANY(%(keys)s) ORDER BY entity, length(key) DESC
)
SELECT e.id, e.name, e.kind, n.key, m.memory_ids
FROM named n
JOIN memory_entity e ON e.namespace_id = %(namespace_id)s AND e.id = n.entity
CROSS JOIN LATERAL (
    SELECT array_agg(memory_id) AS memory_ids FROM (
        SELECT m.memory_id, max(m.occurred_at) AS occurred_at
        FROM memory_entityalias a
        CROSS JOIN LATERAL (
            SELECT memory_id, occurred_at FROM memory_entitymention
            WHERE namespace_id = a.namespace_id AND alias = a.id AND active
            ORDER BY occurred_at DESC, id DESC LIMIT %(limit)s
        ) m
        WHERE a.namespace_id = %(namespace_id)s AND a.entity = n.entity
        GROUP BY m.memory_id ORDER BY 2 DESC, 1 DESC LIMIT %(limit)s
    ) newest
) m
WHERE m.memory_ids IS NOT NULL
ORDER BY e.id
"""


def entity_matches(scope: Scope, text: str, *, limit: int = 200) -> list[EntityMatch]:
    """The entities that `text` names, each with at most `limit` memories; the longest name at a place counts.

    Only active memories count.
    """
    keys = list(_keys(text))[:MAX_KEYS]
    if not keys:
        return []
    parameters = {"namespace_id": scope.namespace_id, "keys": keys, "limit": limit}
    found = [EntityMatch(*row) for row in fetch(_MATCHES, parameters, prepared=False)]
    return [match for match in found if not _part_of_another(match, found)]


def mentions(scope: Scope, text: str) -> dict[str, float]:
    """How much each memory says of the entities that `text` names: 0 to 1, by its id.

    An entity counts the more, the fewer memories mention it: 1 − log n / log TOLD_OF of n, nothing from TOLD_OF on. Of
    several named entities what they count is added up.
    """
    found: dict[str, float] = {}
    for match in entity_matches(scope, text, limit=TOLD_OF):
        rarity = 1 - math.log(len(match.memory_ids)) / math.log(TOLD_OF)
        if rarity > 0:
            for memory_id in match.memory_ids:
                key = str(memory_id)
                found[key] = min(1.0, found.get(key, 0.0) + rarity)
    return found


def _part_of_another(match: EntityMatch, found: list[EntityMatch]) -> bool:
    """Whether the name is only a part of a longer one that was found ("york" of "new york")."""
    return any(
        other.entity_id != match.entity_id and len(other.key) > len(match.key) and match.key in other.key
        for other in found
    )


def _keys(text: str) -> Iterator[str]:
    """The keys that `text` may name: word sequences and runs of characters, longest first."""
    words = [match.group() for match in _WORD.finditer(text)]
    seen: set[str] = set()
    for size in range(min(MAX_WORDS, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            key = name_key(" ".join(words[start : start + size]))
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
