"""Compares the namespaces' counters with what is stored, and sets them right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from memory.models import Namespace, NamespaceStat
from memory.models.queries import index as queries


@dataclass(frozen=True, slots=True)
class CounterDifference:
    """A namespace whose counters are wrong: (memories, terms) as counted by the counters and by the rows."""

    namespace: str
    counters: tuple[int, int]
    rows: tuple[int, int]


def differences(namespace_ids: Sequence[int]) -> list[CounterDifference]:
    """Those of the namespaces whose counters differ from their rows. Reads every memory's row of them."""
    found = queries.compare_counters(namespace_ids)
    return [CounterDifference(row[0], (row[1], row[2]), (row[3], row[4])) for row in found]


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
