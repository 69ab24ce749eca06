"""Compares the counters of namespaces with the stored memories, and corrects them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from memory.models import Namespace, NamespaceStat
from memory.models.queries import index as queries


@dataclass(frozen=True, slots=True)
class CounterDifference:
    """Holds the (memories, terms) of a namespace with wrong counters, according to the counters and to the rows."""

    namespace: str
    counters: tuple[int, int]
    rows: tuple[int, int]


def differences(namespace_ids: Sequence[int]) -> list[CounterDifference]:
    """Lists the namespaces whose counters differ from their rows. It reads the rows of all their memories."""
    found = queries.compare_counters(namespace_ids)
    return [CounterDifference(row[0], (row[1], row[2]), (row[3], row[4])) for row in found]


def recount() -> list[CounterDifference]:
    """Corrects the counters of all namespaces and returns the wrong ones. Writers wait meanwhile."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            # A writer that has changed counters commits first; one that waits for them has rows that are not counted
            # here, and adds them afterwards.
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
