"""The later memories that may take something back that an older one says, which came after they were compared."""

from __future__ import annotations

import time
import uuid

from django.db.models import Q

from memory.enums import Role
from memory.governance.supersession import settle
from memory.models import Memory
from memory.models.memory import MemoryQuerySet
from memory.models.sql import fetch
from memory.services.index import neighbours
from memory.services.index.embedding_model import active_model
from memory.text.utterances import statements
from memory.types import Scope

# Later memories that share rare words with the older one, or are near in meaning, are read; so many of those that do
# something to it are compared anew with all before them.
READ = 100
COMPARED = 20
MOST_SECONDS = 2.0
_NEAR = 30

# Memories mostly come in the order of their times: then none that was there before tells of a later time.
_HAS_LATER = """
SELECT EXISTS (
    SELECT FROM memory_memory later
    WHERE later.namespace_id = m.namespace_id AND later.role = 'user' AND later.turn > 0
      AND (later.occurred_at > m.occurred_at OR later.occurred_at = m.occurred_at AND later.id > m.id)
      AND (%(anew)s::bool OR later.id < m.id)
)
FROM memory_memory m
WHERE m.namespace_id = %(namespace_id)s AND m.id = %(id)s::uuid
  AND m.state = 'active' AND m.superseded_by IS NULL AND m.turn > 0
"""

# Words that stand in many memories tell nothing: the rarest of the older one's find those that may be about it.
_RAREST = 12
_COUNTED = 1_000
_SHARING = """
WITH words AS MATERIALIZED (
    SELECT term, (SELECT count(*) FROM (
        SELECT FROM memory_posting p WHERE p.namespace_id = %(namespace_id)s AND p.term = t.term LIMIT %(counted)s
    ) AS found) AS number
    FROM unnest(%(terms)s::text[]) AS t (term)
), rare AS MATERIALIZED (SELECT term FROM words WHERE number > 1 ORDER BY number, term LIMIT %(rarest)s)
SELECT m.id FROM memory_posting p JOIN rare USING (term)
JOIN memory_memory m ON m.namespace_id = %(namespace_id)s AND m.id = p.memory_id
WHERE p.namespace_id = %(namespace_id)s AND m.state = 'active' AND m.superseded_by IS NULL AND m.turn > 0
  AND m.role = 'user'
  AND (m.occurred_at > %(occurred_at)s OR m.occurred_at = %(occurred_at)s AND m.id > %(id)s::uuid)
  AND (%(anew)s::bool OR m.id < %(id)s::uuid)
GROUP BY m.id ORDER BY count(*) DESC, m.id DESC LIMIT %(read)s
"""


def read_overtaken(scope: Scope, memory_id: uuid.UUID, *, anew: bool) -> Memory | None:
    """The memory, when `find_later` may find something: it holds, and there are memories of a later time."""
    values = {"namespace_id": scope.namespace_id, "id": memory_id, "anew": anew}
    if fetch(_HAS_LATER, values, prepared=False) != [(True,)]:
        return None
    return Memory.objects.in_scope(scope).active().filter(pk=memory_id, superseded_by=None, turn__gt=0).first()


def find_later(scope: Scope, memory: Memory, *, anew: bool) -> list[uuid.UUID]:
    """The memories that tell of a later time than `memory` and speak of what it says, oldest first, COMPARED at most.

    Without `anew` only those that MemOS knew before it: the others were or will be compared with it as they came.
    Raises EmbeddingUnavailable.
    """
    found = fetch(
        _SHARING,
        {
            "namespace_id": scope.namespace_id,
            "terms": list(memory.terms),
            "rarest": _RAREST,
            "counted": _COUNTED,
            "occurred_at": memory.occurred_at,
            "id": memory.pk,
            "anew": anew,
            "read": READ,
        },
        prepared=False,
    )
    model = active_model()
    [near] = neighbours.near_each(scope, model.embed([memory.text]), model_id=model.id, limit=_NEAR)
    rows = _later(scope, memory, anew=anew).active().filter(superseded_by=None)
    read = list(rows.filter(pk__in={*(identity for (identity,) in found), *near}).order_by("occurred_at", "pk")[:READ])
    until = time.thread_time() + MOST_SECONDS
    return [one.pk for one in read if _does_something(one, memory, until=until)][:COMPARED]


def _later(scope: Scope, memory: Memory, *, anew: bool) -> MemoryQuerySet:
    rows = Memory.objects.in_scope(scope).filter(
        Q(occurred_at__gt=memory.occurred_at) | Q(occurred_at=memory.occurred_at, pk__gt=memory.pk),
        role=Role.USER,
        turn__gt=0,
    )
    return rows if anew else rows.filter(pk__lt=memory.pk)


def _does_something(later: Memory, memory: Memory, *, until: float) -> bool:
    """Whether what the later memory says does something to the older one, were there only these two."""
    told = statements(later.text, speaker=later.speaker)
    found = settle(later.pk, told, {memory.pk: statements(memory.text, speaker=memory.speaker)}, until=until)
    return bool(found.retired or found.linked or found.review)
