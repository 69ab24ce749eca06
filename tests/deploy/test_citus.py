"""Tables of tenants in parts by namespace, as Citus would have them: what is kept, and what each statement touches."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from psycopg import sql

from deploy.citus import tables
from deploy.citus.partition import PARTS, partition
from memory import tasks
from memory.models import Job, Memory
from memory.postgresql.base import open_connection
from memory.retrieval.columns import store
from memory.services.backup import postgres
from memory.services.usage import bookkeeper
from tests.conftest import Tenant
from tests.deploy.parts import Explained, record

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = (
    "Anna moved from Lisbon to Porto in May.",
    "The tulips in bed four are red.",
    "Mr Weber pays the invoice on Monday.",
    "The archive key is under the mat.",
)


@pytest.fixture(scope="module", autouse=True)
def parted(django_db_setup: None, django_db_blocker: Any) -> Iterator[frozenset[str]]:
    """The tables of tenants, in a copy of the empty test database where they are in parts."""
    usual = postgres.database_name()
    name = f"memos_parts_{uuid.uuid4().hex[:12]}"
    with django_db_blocker.unblock():
        bookkeeper.close()
        connection.close()
        with postgres.connect(postgres.MAINTENANCE) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(usual)))
            # Of the settings themselves: connections of other threads are made from them.
            connection.settings_dict["NAME"] = name
            try:
                database = open_connection()
                partition(database.connection)
                database.set_up_row_security()
                with database.connection.cursor() as cursor:
                    yield frozenset(tables.list_spread(cursor))
            finally:
                bookkeeper.close()
                connection.close()
                connection.settings_dict["NAME"] = usual
                postgres.drop(admin, name)


@pytest.fixture
def opened() -> Iterator[None]:
    """This process holds what it is asked for."""
    store.open_store()
    yield
    store.close_store()


@pytest.fixture
def filled(opened: None, alice: Tenant, bob: Tenant, remember: Callable[..., str]) -> Tenant:
    """Alice, with memories, a document and what the worker makes of them; Bob has said the same."""
    for tenant in (alice, bob):
        for text in TEXTS:
            remember(tenant, text)
        tenant.post("/v1/documents", {"namespace": tenant.scope.namespace, "document_id": "d1", "text": TEXTS[0]})
    tasks.index_entities()
    tasks.settle_memories()
    return alice


def part_of(namespace_id: int) -> int:
    """The number of the part that has the rows of a namespace."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n FROM generate_series(0, %s) n WHERE satisfies_hash_partition("
            "'memory_memory'::regclass, %s, n, %s::bigint)",
            [PARTS - 1, PARTS, namespace_id],
        )
        [(number,)] = cursor.fetchall()
    return int(number)


def newest(tenant: Tenant) -> str:
    return str(Memory.objects.in_scope(tenant.scope).filter(turn__gte=0).latest("id").pk)


def send(tenant: Tenant, method: str, path: str, body: Any) -> Any:
    answer = getattr(tenant.client, method)(path, data=json.dumps(body), content_type="application/json")
    assert answer.status_code < 300, answer.content
    return answer


def post(path: str, **body: Any) -> Callable[[Tenant], Any]:
    return lambda tenant: send(tenant, "post", path, {"namespace": "alice", **body})


def ingest(tenant: Tenant) -> None:
    turn = {"namespace": "alice", "session_id": "s9", "role": "user", "text": "Anna has a dog now."}
    headers = {"Idempotency-Key": "once"}
    for _ in range(2):
        assert (
            tenant.client.post("/v1/ingest", json.dumps(turn), "application/json", headers=headers).status_code == 200
        )
    send(tenant, "post", "/v1/ingest/batch", {"items": [turn, turn | {"session_id": "s8"}]})


def query(tenant: Tenant) -> None:
    """By SQL, and by the columns that are loaded in the background."""
    for _ in range(3):
        send(tenant, "post", "/v1/query", {"namespace": "alice", "query": "Where does Anna live?", "session_id": "s1"})


def read_memory(tenant: Tenant) -> None:
    memory = newest(tenant)
    for path in (f"/v1/memories/{memory}", f"/v1/memories/{memory}/history", "/v1/memories", "/v1/memories/export"):
        answer = tenant.get(path, namespace="alice")
        assert answer.status_code == 200
        if answer.streaming:
            b"".join(answer.streaming_content)


def change_memory(tenant: Tenant) -> None:
    path = f"/v1/memories/{newest(tenant)}"
    body = {"namespace": "alice", "reason": "tidy"}
    send(tenant, "patch", path, {"reason": "tidy", "text": "The archive key is in the drawer."})
    send(tenant, "post", f"{path}/pin", body)
    send(tenant, "post", f"{path}/unpin", body)
    send(tenant, "post", f"{path}/feedback", {"namespace": "alice", "kind": "useful"})
    send(tenant, "delete", path, body)
    send(tenant, "post", f"{path}/restore", body)


def work(tenant: Tenant, kind: str) -> None:
    """Does what the worker would."""
    for job in Job.objects.in_scope(tenant.scope).filter(kind=kind, state="queued"):
        getattr(tasks, kind)(*job.arguments, job=(job.namespace_id, str(job.pk)))


def forget_many(tenant: Tenant) -> None:
    body = {"namespace": "alice", "filter": {"session_id": "s1"}, "reason": "tidy"}
    send(tenant, "delete", "/v1/memories", body)
    work(tenant, "change_memories")


def erase(tenant: Tenant) -> None:
    send(tenant, "post", "/v1/erasures", {"namespace": "alice", "memory_ids": [newest(tenant)], "reason": "asked"})
    work(tenant, "erase")
    send(tenant, "post", "/v1/sessions/reset", {"namespace": "alice", "session_id": "s1", "confirm": True})


ROUTES: dict[str, Callable[[Tenant], Any]] = {
    "ingest": ingest,
    "documents": post("/v1/documents", document_id="d2", text=" ".join(TEXTS)),
    "query": query,
    "search": post("/v1/search", query="tulips"),
    "why": post("/v1/why", query="tulips", memory_id=None),
    "read": read_memory,
    "change": change_memory,
    "forget": forget_many,
    "erase": erase,
}
ROUTES["why"] = lambda tenant: post("/v1/why", query="tulips", memory_id=newest(tenant))(tenant)


@pytest.mark.parametrize("route", ROUTES)
def test_each_statement_of_a_hot_route_touches_the_part_of_its_namespace(parted, filled, route):
    own = part_of(filled.scope.namespace_id)

    with record(parted) as explained:
        ROUTES[route](filled)

    import os
    open(f"/tmp/explained_{route}.txt", "w").write("\n\n".join(f"{_strays(one,own)} {sorted(one.named-parted)} {one}" for one in explained))
    assert explained
    assert [one for one in explained if _strays(one, own)] == []


def _strays(one: Explained, own: int) -> bool:
    return any(parts != {own} for by_table in (one.planned, one.touched) for parts in by_table.values())
