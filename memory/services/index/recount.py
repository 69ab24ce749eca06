"""Compares the namespaces' counters with what is stored, and sets them right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from memory.enums import MemoryState
from memory.models import Namespace, NamespaceStat


@dataclass(frozen=True, slots=True)
class CounterDifference:
    """A namespace whose counters are wrong: (memories, terms) as counted by the counters and by the rows."""

    namespace: str
    counters: tuple[int, int]
    rows: tuple[int, int]


# One statement is one snapshot: writers change rows and counters together, so they are equal in each.
_DIFFERENCES = """
WITH counters AS (
    SELECT namespace_id, sum(memories)::bigint AS memories, sum(terms)::bigint AS terms
    FROM memory_namespacestat WHERE namespace_id = ANY(%(namespace_ids)s) GROUP BY namespace_id
), stored AS (
    SELECT namespace_id, count(*) AS memories, sum(length)::bigint AS terms
    FROM memory_memory WHERE namespace_id = ANY(%(namespace_ids)s) AND state = %(active)s GROUP BY namespace_id
)
SELECT n.name, coalesce(c.memories, 0), coalesce(c.terms, 0), coalesce(s.memories, 0), coalesce(s.terms, 0)
FROM memory_namespace n
LEFT JOIN counters c ON c.namespace_id = n.id
LEFT JOIN stored s ON s.namespace_id = n.id
WHERE n.id = ANY(%(namespace_ids)s)
  AND (coalesce(c.memories, 0), coalesce(c.terms, 0)) <> (coalesce(s.memories, 0), coalesce(s.terms, 0))
ORDER BY n.name
"""


def differences(namespace_ids: Sequence[int]) -> list[CounterDifference]:
    """Those of the namespaces whose counters differ from their rows. Reads every memory's row of them."""
    with connection.cursor() as cursor:
        cursor.execute(_DIFFERENCES, {"namespace_ids": list(namespace_ids), "active": MemoryState.ACTIVE.value})
        return [CounterDifference(row[0], (row[1], row[2]), (row[3], row[4])) for row in cursor.fetchall()]


def recount() -> list[CounterDifference]:
    """Sets the counters of all namespaces right and returns what was wrong. Writers wait meanwhile."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Who holds counters commits first; who waits for them has rows that are not counted here, and adds them.
            cursor.execute("LOCK TABLE memory_namespacestat IN SHARE ROW EXCLUSIVE MODE")
        wrong = differences(list(Namespace.objects.values_list("pk", flat=True)))
        identities = dict(
            Namespace.objects.filter(name__in=[entry.namespace for entry in wrong]).values_list("name", "pk")
        )
        NamespaceStat.objects.filter(namespace_id__in=identities.values()).delete()
        NamespaceStat.objects.bulk_create(
            NamespaceStat(
                namespace_id=identities[entry.namespace], shard=0, memories=entry.rows[0], terms=entry.rows[1]
            )
            for entry in wrong
        )
    return wrong
