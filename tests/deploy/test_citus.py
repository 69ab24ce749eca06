"""Tables of tenants in parts by namespace, as Citus would have them: what is kept, and what each statement touches."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.signals import request_started
from django.db import DatabaseError, connection
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from psycopg import sql

from deploy.citus import distribute, tables
from deploy.citus.partition import Unspreadable, name_part, partition
from memory.enums import ErasureStatus
from memory.models import Erasure, Job, Memory
from memory.postgresql import reach, row_security
from memory.postgresql.base import open_connection
from memory.retrieval import hnsw
from memory.retrieval.columns import store
from memory.services.backup import postgres
from memory.services.index import common_terms, hnsw_indexes
from memory.services.index.embedding_model import active_model
from memory.services.ingestion.ingest import ingest_batch
from memory.services.jobs import lag, pacing
from memory.services.usage import bookkeeper
from memory.types import NewMemory
from tests.conftest import Tenant
from tests.deploy.parts import Explained, record
from tests.deploy.split import Parted, split, url_of
from tests.job_queue import run_job, run_task
from tests.threads import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = (
    "Anna moved from Lisbon to Porto in May.",
    "The tulips in bed four are red.",
    "Mr Weber pays the invoice on Monday.",
    "The archive key is under the mat.",
)


# Rows of these are of no tenant, and stay on the coordinator.
ON_COORDINATOR = {
    "memory_idempotencyrecord": "an erasure looks for answers that were kept of what it erases, once",
}
# Statements that touch every part.
UNEXPLAINED = {
    pacing._OTHERS: "a job asks at most once a second whether others wait, of any namespace",
    lag._SETTLING: "a job looks at most once in ten seconds how long turns wait, of any namespace",
    lag._ENTITIES: "the same",
    "LOCK TABLE memory_contextpack IN SHARE MODE": "an erasure waits for packs that are being written; nothing is read",
}


@pytest.fixture(scope="module", autouse=True)
def parted(django_db_setup: None, django_db_blocker: Any, request: pytest.FixtureRequest) -> Iterator[Parted]:
    """A copy of the test database, in parts: few of them unless all tests run on such a one, for they take time."""
    parts = request.config.getoption("partitions") or 8
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
                yield split(parts)
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
            remember(tenant, text, speaker="Anna")
        tenant.post("/v1/documents", {"namespace": tenant.scope.namespace, "document_id": "d1", "text": TEXTS[0]})
    run_task("index_entities")
    run_task("settle_memories")
    return alice


def part_of(namespace_id: int, parts: int) -> int:
    """The number of the part that has the rows of a namespace."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n FROM generate_series(0, %(parts)s - 1) n "
            "WHERE satisfies_hash_partition('memory_memory'::regclass, %(parts)s, n, %(namespace_id)s::bigint)",
            {"parts": parts, "namespace_id": namespace_id},
        )
        [(number,)] = cursor.fetchall()
    return int(number)


def newest(tenant: Tenant) -> str:
    return str(Memory.objects.in_scope(tenant.scope).filter(turn__gte=0).latest("id").pk)


def send(tenant: Tenant, method: str, path: str, body: Any) -> Any:
    answer = getattr(tenant.client, method)(path, data=json.dumps(body), content_type="application/json")
    assert answer.status_code < 300, b"".join(answer)
    if answer.streaming:
        b"".join(answer.streaming_content)
    return answer


def ingest(tenant: Tenant) -> None:
    turn = {"namespace": "alice", "session_id": "s9", "role": "user", "text": "Anna has a dog now."}
    headers = {"Idempotency-Key": "once"}
    for _ in range(2):
        assert (
            tenant.client.post("/v1/ingest", json.dumps(turn), "application/json", headers=headers).status_code == 200
        )
    send(tenant, "post", "/v1/ingest/batch", {"items": [turn, turn | {"session_id": "s8"}]})


def ask(tenant: Tenant) -> None:
    question = {"namespace": "alice", "query": "Where does Anna live?"}
    message = {"namespace": "alice", "message": "Where does Anna live?"}
    setting = {"top_k": 3, "score_threshold": 0}
    send(tenant, "post", "/v1/search", question)
    send(tenant, "post", "/v1/search/batch", {"questions": [question, question | {"query": "tulips"}]})
    send(tenant, "post", "/v1/why", {**question, "memory_id": newest(tenant)})
    send(tenant, "post", "/v1/retrieval", {"knowledge_id": "alice", "query": "tulips", "retrieval_setting": setting})
    send(tenant, "post", "/v1/answer", question)
    send(tenant, "post", "/v1/answer/stream", question)
    send(tenant, "post", "/v1/chat", message | {"session_id": "s5"})
    send(tenant, "post", "/v1/chat/stream", message | {"session_id": "s6"})


def query(tenant: Tenant) -> None:
    """By SQL, and by the columns once these are loaded in the background."""
    for _ in range(2):
        send(tenant, "post", "/v1/query", {"namespace": "alice", "query": "Where does Anna live?", "session_id": "s1"})
        wait_until(lambda: store.last_seen(tenant.scope, active_model().id) is not None)


def read_memory(tenant: Tenant) -> None:
    memory = newest(tenant)
    named = {"namespace": "alice"}
    one = f"/v1/memories/{memory}"
    for path, asked in ((one, {}), (f"{one}/history", {}), ("/v1/memories", named), ("/v1/memories/export", named)):
        answer = tenant.get(path, **asked)
        assert answer.status_code == 200
        if answer.streaming:
            b"".join(answer.streaming_content)


def read_entities(tenant: Tenant) -> None:
    listed = tenant.get("/v1/entities", namespace="alice").json()["entities"]
    answer = tenant.get(f"/v1/entities/{listed[0]['id']}")
    assert answer.json()["timeline"]
    assert tenant.get("/v1/graph", namespace="alice").status_code == 200


def change_memory(tenant: Tenant) -> None:
    path = f"/v1/memories/{newest(tenant)}"
    body = {"reason": "tidy"}
    send(tenant, "patch", path, {"reason": "tidy", "text": "The archive key is in the drawer."})
    send(tenant, "post", f"{path}/pin", body)
    send(tenant, "post", f"{path}/unpin", body)
    send(tenant, "post", f"{path}/feedback", {"kind": "useful"})
    send(tenant, "post", f"{path}/supersede", {"text": "The archive key is on the shelf.", "reason": "moved"})
    path = f"/v1/memories/{newest(tenant)}"
    send(tenant, "delete", f"{path}?reason=tidy", {})
    send(tenant, "post", f"{path}/restore", body)


def work(tenant: Tenant, kind: str) -> None:
    """Does what the worker would."""
    for job in Job.objects.in_scope(tenant.scope).filter(kind=kind, state="queued"):
        run_job(job)


def change_many(tenant: Tenant) -> None:
    body = {"namespace": "alice", "filter": {"session_id": "s1"}, "reason": "tidy"}
    change = send(tenant, "delete", "/v1/memories", body).json()["id"]
    work(tenant, "change_memories")
    assert tenant.get(f"/v1/memories/bulk/{change}").json()["state"] == "done"
    send(tenant, "post", f"/v1/memories/bulk/{change}/undo", {"reason": "after all"})
    work(tenant, "change_memories")
    changes = {"namespace": "alice", "filter": {"session_id": "s1"}, "reason": "tidy", "importance": 0.5}
    send(tenant, "patch", "/v1/memories", changes)
    work(tenant, "change_memories")


def erase(tenant: Tenant) -> None:
    targets = (
        {"memory_ids": [newest(tenant)]},
        {"speaker": "Anna"},
        {"session_id": "s1"},
        {"whole_namespace": True, "confirm": "alice"},
    )
    for target in targets:
        send(tenant, "post", "/v1/erasures", {"namespace": "alice", "reason": "asked", **target})
        work(tenant, "erase")
    ended = Erasure.objects.in_scope(tenant.scope).filter(status=ErasureStatus.FINISHED)
    assert ended.count() == len(targets)
    assert tenant.get("/v1/erasures", namespace="alice").status_code == 200
    assert tenant.get(f"/v1/erasures/{ended[0].id}").status_code == 200


def reset(tenant: Tenant) -> None:
    send(tenant, "post", "/v1/sessions/reset", {"namespace": "alice", "session_id": "s1", "confirm": True})


def use_documents(tenant: Tenant) -> None:
    send(tenant, "post", "/v1/documents", {"namespace": "alice", "document_id": "d2", "text": " ".join(TEXTS)})
    assert tenant.get("/v1/documents", namespace="alice").status_code == 200
    assert tenant.get("/v1/documents/d2", namespace="alice").status_code == 200
    answer = tenant.client.delete("/v1/documents/d2?namespace=alice")
    assert answer.status_code < 300, answer.content


# What Citus has for it, as far as this file needs it: a table is known from then on, and none that is not yet known may
# refer to it, or be referred to.
CITUS = """
CREATE TABLE known (name text PRIMARY KEY, kind text NOT NULL, beside text);
CREATE FUNCTION make_known(wanted text, kind text, beside text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND wanted::regclass IN (conrelid, confrelid)) THEN
        RAISE 'a foreign key of % is there still', wanted;
    END IF;
    INSERT INTO known VALUES (wanted, kind, beside);
END $$;
CREATE FUNCTION create_reference_table(wanted text) RETURNS void LANGUAGE sql
    AS $$ SELECT make_known(wanted, 'reference', NULL) $$;
CREATE FUNCTION create_distributed_table(wanted text, by_column text, colocate_with text DEFAULT NULL) RETURNS void
    LANGUAGE sql AS $$ SELECT make_known(wanted, by_column, colocate_with) $$;
"""
FOREIGN_KEYS = """
SELECT k.conrelid::regclass::text, k.confrelid::regclass::text, k.conname::text, pg_get_constraintdef(k.oid),
       k.confdeltype::text, k.confupdtype::text,
       ARRAY (SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY AS c (number, place)
              JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = c.number ORDER BY c.place),
       ARRAY (SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY AS c (number, place)
              JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = c.number ORDER BY c.place)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE k.contype = 'f' AND k.conparentid = 0 AND NOT c.relispartition
"""


# What is done all day, and the operations of the API that it sends.
ROUTES: dict[str, tuple[Callable[[Tenant], None], set[str]]] = {
    "ingest": (ingest, {"POST /v1/ingest", "POST /v1/ingest/batch"}),
    "documents": (
        use_documents,
        {
            "POST /v1/documents",
            "GET /v1/documents",
            "GET /v1/documents/{document_id}",
            "DELETE /v1/documents/{document_id}",
        },
    ),
    "query": (query, {"POST /v1/query"}),
    "ask": (
        ask,
        {
            "POST /v1/search",
            "POST /v1/search/batch",
            "POST /v1/why",
            "POST /v1/retrieval",
            "POST /v1/answer",
            "POST /v1/answer/stream",
            "POST /v1/chat",
            "POST /v1/chat/stream",
        },
    ),
    "read": (
        read_memory,
        {
            "GET /v1/memories",
            "GET /v1/memories/export",
            "GET /v1/memories/{memory_id}",
            "GET /v1/memories/{memory_id}/history",
        },
    ),
    "change": (
        change_memory,
        {
            "PATCH /v1/memories/{memory_id}",
            "DELETE /v1/memories/{memory_id}",
            "POST /v1/memories/{memory_id}/feedback",
            "POST /v1/memories/{memory_id}/pin",
            "POST /v1/memories/{memory_id}/restore",
            "POST /v1/memories/{memory_id}/supersede",
            "POST /v1/memories/{memory_id}/unpin",
        },
    ),
    "change many": (
        change_many,
        {
            "PATCH /v1/memories",
            "DELETE /v1/memories",
            "GET /v1/memories/bulk/{change_id}",
            "POST /v1/memories/bulk/{change_id}/undo",
        },
    ),
    "entities": (read_entities, {"GET /v1/entities", "GET /v1/entities/{entity_id}", "GET /v1/graph"}),
    "erase": (erase, {"GET /v1/erasures", "POST /v1/erasures", "GET /v1/erasures/{erasure_id}"}),
    "reset": (reset, {"POST /v1/sessions/reset"}),
}
HOT = {"Ask", "Documents", "Entities", "Erasures", "Ingest", "Memories", "Sessions"}
NOT_HOT = {
    "GET /v1/document-files": "a file is read by a job of its own",
    "GET /v1/document-files/{file_id}": "a file is read by a job of its own",
    "POST /v1/documents/{document_id}/reparse": "a file is read by a job of its own",
    "POST /v1/entities/{entity_id}/merge": "people do it, now and then",
    "POST /v1/entities/{entity_id}/split": "people do it, now and then",
    "POST /v1/dev/seed": "for trials only",
}


def list_operations() -> dict[str, re.Pattern[str]]:
    """The hot operations of the API, and what their requests look like."""
    found = {}
    for path, operations in SchemaGenerator().get_schema(request=None, public=True)["paths"].items():
        for method, operation in operations.items():
            if HOT & set(operation["tags"]):
                name = f"{method.upper()} {path}"
                found[name] = re.compile(re.sub(r"\{[^}]+\}", "[^/]+", name))
    return found


def test_no_hot_operation_is_left_out():
    assert set().union(*(sent for _, sent in ROUTES.values())) == list_operations().keys() - NOT_HOT.keys()
    assert NOT_HOT.keys() <= list_operations().keys()


@pytest.mark.parametrize("route", ROUTES)
def test_each_statement_of_a_hot_route_touches_the_part_of_its_namespace(parted, filled, route):
    own = part_of(filled.scope.namespace_id, parted.parts)
    send_all, operations = ROUTES[route]
    requests: list[str] = []

    def note(environ: Any, **_signal: Any) -> None:
        requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")

    request_started.connect(note)
    try:
        with record(parted.tables, unexplained=UNEXPLAINED) as explained:
            send_all(filled)
    finally:
        request_started.disconnect(note)

    known = sorted(list_operations().items(), key=lambda named: "{" in named[0])
    sent = {next(name for name, looks in known if looks.fullmatch(request)) for request in requests}
    assert sent == operations
    assert any(one.touched for one in explained)
    strays = [one for one in explained if _strays(one, own)]
    assert strays == [], "\n\n".join(map(str, strays))
    with connection.cursor() as cursor:
        whole = set(connection.introspection.table_names(cursor)) - parted.tables
    beside = {name for one in explained for name in one.named & whole}
    assert beside <= {*tables.REFERENCE, *ON_COORDINATOR}


def test_a_statement_that_names_no_namespace_is_found(parted, alice, remember):
    memory = remember(alice, TEXTS[0])

    with record(parted.tables, unexplained=()) as explained, reach.across_namespaces():
        Memory.objects.across_namespaces().get(pk=memory)
        Memory.objects.in_scope(alice.scope).get(pk=memory)

    every, one = explained
    own = part_of(alice.scope.namespace_id, parted.parts)
    assert every.planned == every.touched == {"memory_memory": set(range(parted.parts))}
    assert one.planned == one.touched == {"memory_memory": {own}}


def _strays(one: Explained, own: int) -> bool:
    return any(parts != {own} for by_table in (one.planned, one.touched) for parts in by_table.values())


def test_the_rows_and_the_schema_of_the_tables_are_kept(parted):
    assert parted.kept == {"s1", "s2", "s3"}
    for before, after in zip(parted.before, parted.after, strict=True):
        assert before
        assert after == before


def test_every_table_with_a_namespace_is_spread_or_said_to_be_whole(parted):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'namespace_id' "
            "WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition"
        )
        having = {name for (name,) in cursor.fetchall()}
    # Who reaches which namespaces, and the tools of all namespaces beside those of one.
    assert having - parted.tables == {"memory_apikey_namespaces", "ops_staffgrant", "memory_procedure"}


def test_a_part_is_held_by_row_level_security_too(parted, alice, bob, remember):
    remember(bob, TEXTS[0])
    part = name_part("memory_memory", part_of(bob.scope.namespace_id, parted.parts))
    counted = {}
    for tenant in (alice, bob):
        with reach.within(tenant.scope.namespace_id), connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {part}")
            counted[tenant.scope.namespace] = cursor.fetchone()[0]

    assert counted == {"alice": 0, "bob": 1}
    assert open_connection().row_security_state() == row_security.Protection()


def test_no_part_of_the_audit_log_can_be_changed_or_emptied(parted, alice, remember):
    remember(alice, TEXTS[0])
    part = name_part("memory_auditlog", part_of(alice.scope.namespace_id, parted.parts))
    for change in (f"UPDATE {part} SET actor = 'nobody'", f"DELETE FROM {part}", f"TRUNCATE {part}"):
        with pytest.raises(DatabaseError, match="append-only"), connection.cursor() as cursor:
            cursor.execute(change)


def test_tables_in_parts_are_left_as_they_are(parted):
    assert partition(open_connection().connection, parted.parts) == []


def test_a_unique_index_without_the_namespace_is_refused(parted):
    raw = open_connection().connection
    with raw.transaction(force_rollback=True):
        raw.execute("CREATE TABLE memory_wrong (namespace_id bigint, id uuid UNIQUE, PRIMARY KEY (namespace_id, id))")
        with pytest.raises(Unspreadable, match="memory_wrong_id_key"):
            partition(raw, parted.parts)


@pytest.mark.parametrize("namespaces", [0, 8])
def test_each_statement_of_a_search_in_a_large_namespace_touches_its_part(
    parted, alice, settings, monkeypatch, namespaces
):
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 50
    settings.MEMOS_HNSW_NAMESPACES = namespaces
    monkeypatch.setattr(common_terms, "COMMON", 10)
    said = [f"The crate {n} in hall {n % 7} is as good as new." for n in range(80)]
    ingest_batch([(alice.scope, NewMemory(session="s1", role="user", text=text)) for text in said], now=timezone.now())
    own = part_of(alice.scope.namespace_id, parted.parts)
    question = {"namespace": "alice", "query": "Which crate is in hall 3?"}
    now = timezone.now().isoformat()

    made = hnsw_indexes.keep_up(seconds=60).made
    assert common_terms.keep_up() == 1
    with record(parted.tables, unexplained=UNEXPLAINED) as searched:
        for narrowed in ({}, {"filter": {"session_id": "s1"}}, {"as_of": now}, {"valid_at": now}):
            assert send(alice, "post", "/v1/search", question | narrowed).json()["hits"]
        send(alice, "post", "/v1/query", question)

    assert made == bool(namespaces)
    assert [one for one in searched if _strays(one, own)] == []
    assert {"memory_posting", "memory_memoryvector"} <= set().union(*(one.touched for one in searched))
    settings.MEMOS_HNSW_NAMESPACES = 0
    assert hnsw_indexes.keep_up(seconds=60).dropped == made


def test_an_hnsw_index_is_of_the_part_that_has_the_namespace(parted, alice, settings):
    settings.MEMOS_LARGE_NAMESPACE_MEMORIES = 50
    items = [(alice.scope, NewMemory(session="s", role="user", text=f"crate {n} in hall {n % 7}")) for n in range(60)]
    ingest_batch(items, now=timezone.now())

    assert hnsw_indexes.keep_up(seconds=60).made == 1
    [place] = hnsw_indexes.list_ready()
    with connection.cursor() as cursor:
        name = hnsw.name_index(*place)
        cursor.execute("SELECT indrelid::regclass::text FROM pg_index WHERE indexrelid = %s::regclass", [name])
        [(table,)] = cursor.fetchall()
    assert table == name_part("memory_memoryvector", part_of(alice.scope.namespace_id, parted.parts))
    assert send(alice, "post", "/v1/search", {"namespace": "alice", "query": "crate 7"}).json()["hits"]

    settings.MEMOS_HNSW_NAMESPACES = 0
    assert hnsw_indexes.keep_up(seconds=60).dropped == 1


def test_the_statements_for_citus_are_those_of_the_schema(monkeypatch, capsys):
    written = Path(tables.__file__).with_name("distribute.sql").read_text(encoding="utf-8")
    monkeypatch.setenv("DATABASE_URL", url_of(open_connection()))

    distribute.main()

    assert capsys.readouterr().out == written, "python -m deploy.citus.distribute > deploy/citus/distribute.sql"


def test_the_statements_for_citus_leave_the_foreign_keys_that_it_can_keep(parted):
    """By its documentation: a key of a spread table leads to one beside it, with namespace_id in the same place of
    both, or to a reference table; one of a reference table to such a one; and none changes namespace_id."""
    raw = open_connection().connection
    script = Path(tables.__file__).with_name("distribute.sql").read_text(encoding="utf-8")
    script = script.replace("\nBEGIN;\n", "\n").replace("\nCOMMIT;\n", "\n")
    with raw.transaction(force_rollback=True):
        before = [tuple(map(str, row)) for row in raw.execute(FOREIGN_KEYS).fetchall()]
        raw.execute(CITUS)
        raw.execute(script)
        keys = raw.execute(FOREIGN_KEYS).fetchall()
        known = {name: (kind, beside) for name, kind, beside in raw.execute("SELECT * FROM known").fetchall()}

    assert sorted(before) == sorted(tuple(map(str, row)) for row in keys)
    assert known.keys() == parted.tables | {*tables.REFERENCE}
    assert known.pop(tables.FIRST) == (tables.COLUMN, None)
    assert {known.pop(name) for name in tables.REFERENCE} == {("reference", None)}
    assert set(known.values()) == {(tables.COLUMN, tables.FIRST)}
    for table, to, name, _, on_delete, on_update, columns, to_columns in keys:
        if table in parted.tables:
            assert to in parted.tables or to in tables.REFERENCE, name
            if to in parted.tables:
                assert columns.index(tables.COLUMN) == to_columns.index(tables.COLUMN), name
            assert tables.COLUMN not in columns or (on_delete not in "nd" and on_update not in "ndc"), name
        elif table in tables.REFERENCE:
            assert to in tables.REFERENCE, name
        else:
            assert to not in parted.tables, name
