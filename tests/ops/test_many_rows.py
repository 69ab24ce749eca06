"""The number of a page's statements does not grow with its rows: it is the same for ten rows and for thousands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection
from django.db.models import F
from django.test import Client

from memory.caches import forget_all
from memory.models import Entity, NamespaceStat, RequestMinute
from memory.stores.redis import call
from tests.ops.addresses import addresses
from tests.ops.conftest import NOW
from tests.ops.test_pipeline import failed_job, quarantined

# More than a page and than Django fetches at once, but fewer than in a large namespace, for which some pages load parts
# later.
MANY = 2_100


def copied(column: str) -> str:
    """Return SQL for the id of copy g, made from the original's."""
    return f"(left(one.{column}::text, 24) || lpad(to_hex(1000000 + g), 12, '0'))::uuid"


def multiply(table: str, condition: str, first: int, last: int, **changed: str) -> None:
    """Copy one row of the table for each number g from `first` to `last`, with other values (SQL) in some columns."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT column_name FROM information_schema.columns WHERE table_name = %s", [table])
        columns = [name for (name,) in cursor.fetchall()]
        values = ", ".join(changed.get(name, f'one."{name}"') for name in columns)
        names = ", ".join(f'"{name}"' for name in columns)
        cursor.execute(
            f"INSERT INTO {table} ({names}) SELECT {values} "
            f"FROM (SELECT * FROM {table} WHERE {condition} LIMIT 1) one, generate_series({first}, {last}) g"
        )
        assert cursor.rowcount == last - first + 1, table


def grow(world, first: int, last: int) -> None:
    """Add more of everything from which lists and counts are made."""
    own = f"namespace_id = {world.harbour.namespace_id}"
    memory = f"{own} AND id = '{world.ids[0]}'"
    # A search would merge equal texts, and then read others instead.
    text = "md5(g::text) || ' ' || md5((g + 1)::text)"
    multiply("memory_memory", memory, first, last, id=copied("id"), turn="1000 + g", text=text)
    of_memory = f"{own} AND memory_id = '{world.ids[0]}'"
    for table in ("memory_memoryvector", "memory_projectedmemory"):
        multiply(table, of_memory, first, last, memory_id=copied("memory_id"))
    NamespaceStat.objects.filter(namespace_id=world.harbour.namespace_id, shard=0).update(
        memories=F("memories") + last - first + 1
    )
    multiply("memory_session", f"{own} AND name = 'night shift'", first, last, name="'berth ' || g")
    multiply("memory_condensation", own, first, last, id=copied("id"), number="100 + g")
    for table in ("memory_contextpack", "memory_quarantineditem", "memory_auditlog"):
        multiply(table, own, first, last, id=copied("id"))
    multiply("memory_job", f"{own} AND state = 'failed'", first, last, id=copied("id"), once="false")
    multiply("memory_namespace", "name = 'bakery'", first, last, id="1000000 + g", name="'shop ' || g")
    multiply("memory_evaluationrun", "namespace = 'harbour'", first, last, id=copied("id"))
    multiply("memory_requestminute", own, first, last, minute="one.minute - g * interval '1 minute'")
    tove = Entity.objects.across_namespaces().get(name="Tove")
    multiply("memory_entity", f"{own} AND id = '{tove.id}'", first, last, id=copied("id"), name="'Tove ' || g")
    alias = {"id": copied("id"), "key": "'tove ' || g", "entity": copied("entity")}
    multiply("memory_entityalias", f"{own} AND entity = '{tove.id}'", first, last, **alias)
    mention = {"id": copied("id"), "memory_id": copied("memory_id")}
    multiply("memory_entitymention", of_memory, first, last, **mention)


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collect the statements sent to PostgreSQL within, through Django and directly."""
    sent: list[str] = []
    whole = psycopg.Cursor.execute

    def execute(cursor: psycopg.Cursor, query: object, *arguments: object, **options: object) -> object:
        sent.append(str(query))
        return whole(cursor, query, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", execute)
        yield sent


def costs(
    client: Client, every: dict[str, tuple[str, dict[str, object]]], clear_shared: Callable[[], None]
) -> dict[str, list[str]]:
    """Return the statements of each address when it is opened a second time.

    Everything that other addresses counted or read is forgotten first: fast runs would still have what a process keeps
    for two seconds, and slow ones not.
    """
    found = {}
    for name, (path, query) in every.items():
        if client.get(path, query).status_code == 405:
            continue
        clear_shared()
        forget_all()
        call(lambda redis: [redis.delete(key) for key in redis.scan_iter("memos:figures:*")])
        with statements() as sent:
            assert client.get(path, query).status_code in (200, 204, 302), path
        found[name] = sent
    return found


def test_every_address_of_the_console_asks_as_often_at_thousands_of_rows(world, staff, clear_shared):
    failed_job(world.harbour)
    quarantined(world.harbour)
    minute = NOW.replace(second=0, microsecond=0)
    RequestMinute.objects.create(
        namespace_id=world.harbour.namespace_id, minute=minute, route="v1/query", count=1, errors=0, empty_recalls=0,
        latency=[0] * 20,
    )  # fmt: skip
    every = addresses(world)
    grow(world, 1, 10)
    few = costs(staff, every, clear_shared)
    grow(world, 11, MANY)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

    many = costs(staff, every, clear_shared)

    assert len(few) > 35
    assert max(map(len, few.values())) <= 40
    more = {name: Counter(many[name]) - Counter(few[name]) for name in few if len(many[name]) > len(few[name])}
    assert more == {}
