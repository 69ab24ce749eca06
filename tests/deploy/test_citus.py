"""Scaling beyond one machine: keys contain the namespace, and each statement of the hot routes names it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.signals import request_started
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from psycopg import sql
from psycopg.pq import TransactionStatus

from deploy.citus import tables
from deploy.citus.distribute import list_statements
from memory.enums import ErasureStatus
from memory.models import Erasure, Job, Memory
from memory.postgresql import reach
from memory.postgresql.base import open_connection
from memory.retrieval.columns import store
from memory.services.index.embedding_model import active_model
from memory.services.jobs import runner
from tests.conftest import Tenant
from tests.job_queue import run_task
from tests.threads import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = (
    "Anna moved from Lisbon to Porto in May.",
    "The tulips in bed four are red.",
    "Mr Weber pays the invoice on Monday.",
    "The archive key is under the mat.",
)
_EXPLAINABLE = re.compile(r"\s*(?:/\*.*?\*/\s*)?(?:SELECT|INSERT|UPDATE|DELETE|WITH|MERGE)\b", re.IGNORECASE)
# PostgreSQL turns such a join into a condition on each of its tables.
_NAMES_NAMESPACE = re.compile(r"\bnamespace_id = |= (?:\w+\.)?namespace_id\b")
_CONDITIONS = ("Index Cond", "Recheck Cond", "Filter")
_JOINS = ("Hash Cond", "Merge Cond", "Join Filter")


@pytest.fixture
def opened() -> Iterator[None]:
    """This process loads the columns of namespaces that it is queried for."""
    store.open_store()
    yield
    store.close_store()


@pytest.fixture
def fill(opened: None, make_tenant: Callable[..., Tenant], remember: Callable[..., str]) -> Callable[[str], Tenant]:
    """Return a function that makes a tenant with memories, a document and the results of the worker's jobs."""

    def make(name: str) -> Tenant:
        tenant = make_tenant(name)
        for text in TEXTS:
            remember(tenant, text, speaker="Anna")
        tenant.post("/v1/documents", {"namespace": name, "document_id": "d1", "text": TEXTS[0]})
        run_task("index_entities")
        run_task("settle_memories")
        return tenant

    return make


def list_unbound(plan: dict[str, Any], spread: frozenset[str], above: str = "") -> Iterator[str]:
    """List a plan's scans of tenants' tables that have no condition on the namespace.

    The condition may be in the scan, in the bitmap below it, or in a join above it (`above`), which Citus carries out
    where the namespace is. A hashed subplan is looked up by everything that it returns.
    """
    conditions = " ".join(plan.get(name, "") for name in _CONDITIONS)
    below = plan.get("Plans", [])
    if plan.get("Relation Name") in spread and plan["Node Type"].endswith("Scan"):
        bitmaps = " ".join(inner.get("Index Cond", "") for inner in below)
        if not _NAMES_NAMESPACE.search(f"{conditions} {bitmaps} {above}"):
            yield f"{plan['Node Type']} on {plan['Relation Name']}: {conditions}"
    joins = " ".join(plan.get(name, "") for name in _JOINS)
    for inner in below:
        hashed = inner.get("Output", []) if inner["Parent Relationship"] == "SubPlan" else []
        looked_up = " ".join(f"{name} = " for name in hashed)
        yield from list_unbound(inner, spread, f"{above} {joins} {looked_up}")


@contextmanager
def watch(spread: frozenset[str]) -> Iterator[dict[str, list[str]]]:
    """Plan each statement about tenants' tables before it runs, and yield the statements with their unbound scans.

    The statement is planned as a role without policies, so the condition must be in the statement.
    """
    planned: dict[str, list[str]] = {}

    def plan(cursor: psycopg.Cursor[Any], query: Any, values: Any) -> None:
        connection = cursor.connection
        text = query.as_string(connection) if isinstance(query, sql.Composable) else str(query)
        failed = connection.info.transaction_status == TransactionStatus.INERROR
        if failed or not _EXPLAINABLE.match(text) or not set(re.findall(r"\bmemory_[a-z_]+", text)) & spread:
            return
        with connection.transaction(force_rollback=True), psycopg.RawCursor(connection) as own:
            send(own, "SET LOCAL ROLE NONE")
            with type(cursor)(connection) as asking:
                send(asking, f"EXPLAIN (VERBOSE, FORMAT JSON) {text}", values)
                [(plans,)] = asking.fetchall()
        planned.setdefault(text, list(list_unbound(plans[0]["Plan"], spread)))

    send = psycopg.Cursor.execute

    def execute(self: psycopg.Cursor[Any], query: Any, params: Any = None, **options: Any) -> Any:
        plan(self, query, params)
        return send(self, query, params, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", execute)
        yield planned


def name_of(tenant: Tenant) -> str:
    return tenant.scope.namespace


def newest(tenant: Tenant) -> str:
    return str(Memory.objects.in_scope(tenant.scope).filter(turn__gte=0).latest("id").pk)


def send(tenant: Tenant, method: str, path: str, body: Any) -> Any:
    answer = getattr(tenant.client, method)(path, data=json.dumps(body), content_type="application/json")
    assert answer.status_code < 300, b"".join(answer)
    if answer.streaming:
        b"".join(answer.streaming_content)
    return answer


def ingest(tenant: Tenant) -> None:
    turn = {"namespace": name_of(tenant), "session_id": "s9", "role": "user", "text": "Anna has a dog now."}
    headers = {"Idempotency-Key": "once"}
    for _ in range(2):
        assert (
            tenant.client.post("/v1/ingest", json.dumps(turn), "application/json", headers=headers).status_code == 200
        )
    send(tenant, "post", "/v1/ingest/batch", {"items": [turn, turn | {"session_id": "s8"}]})


def ask(tenant: Tenant) -> None:
    question = {"namespace": name_of(tenant), "query": "Where does Anna live?"}
    message = {"namespace": name_of(tenant), "message": "Where does Anna live?"}
    setting = {"top_k": 3, "score_threshold": 0}
    send(tenant, "post", "/v1/search", question)
    send(tenant, "post", "/v1/search/batch", {"questions": [question, question | {"query": "tulips"}]})
    send(tenant, "post", "/v1/why", {**question, "memory_id": newest(tenant)})
    send(
        tenant,
        "post",
        "/v1/retrieval",
        {"knowledge_id": name_of(tenant), "query": "tulips", "retrieval_setting": setting},
    )
    send(tenant, "post", "/v1/answer", question)
    send(tenant, "post", "/v1/answer/stream", question)
    send(tenant, "post", "/v1/chat", message | {"session_id": "s5"})
    send(tenant, "post", "/v1/chat/stream", message | {"session_id": "s6"})


def query(tenant: Tenant) -> None:
    """Query by SQL, and by the columns once these were loaded in the background."""
    for _ in range(2):
        send(
            tenant,
            "post",
            "/v1/query",
            {"namespace": name_of(tenant), "query": "Where does Anna live?", "session_id": "s1"},
        )
        wait_until(lambda: store.last_seen(tenant.scope, active_model().id) is not None)


def read_memory(tenant: Tenant) -> None:
    memory = newest(tenant)
    named = {"namespace": name_of(tenant)}
    one = f"/v1/memories/{memory}"
    for path, asked in ((one, {}), (f"{one}/history", {}), ("/v1/memories", named), ("/v1/memories/export", named)):
        answer = tenant.get(path, **asked)
        assert answer.status_code == 200
        if answer.streaming:
            b"".join(answer.streaming_content)


def read_entities(tenant: Tenant) -> None:
    listed = tenant.get("/v1/entities", namespace=name_of(tenant)).json()["entities"]
    answer = tenant.get(f"/v1/entities/{listed[0]['id']}")
    assert answer.json()["timeline"]
    assert tenant.get("/v1/graph", namespace=name_of(tenant)).status_code == 200


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
    """Carry out the queued jobs of the kind, as the worker would."""
    for job in Job.objects.in_scope(tenant.scope).filter(kind=kind, state="queued"):
        # Like `run_job`, this reads the row again by its id alone.
        runner._run(runner._begin(job, timezone.now()))


def change_many(tenant: Tenant) -> None:
    body = {"namespace": name_of(tenant), "filter": {"session_id": "s1"}, "reason": "tidy"}
    change = send(tenant, "delete", "/v1/memories", body).json()["id"]
    work(tenant, "change_memories")
    assert tenant.get(f"/v1/memories/bulk/{change}").json()["state"] == "done"
    send(tenant, "post", f"/v1/memories/bulk/{change}/undo", {"reason": "after all"})
    work(tenant, "change_memories")
    changes = {"namespace": name_of(tenant), "filter": {"session_id": "s1"}, "reason": "tidy", "importance": 0.5}
    send(tenant, "patch", "/v1/memories", changes)
    work(tenant, "change_memories")


def erase(tenant: Tenant) -> None:
    targets = (
        {"memory_ids": [newest(tenant)]},
        {"speaker": "Anna"},
        {"session_id": "s1"},
        {"whole_namespace": True, "confirm": name_of(tenant)},
    )
    for target in targets:
        send(tenant, "post", "/v1/erasures", {"namespace": name_of(tenant), "reason": "asked", **target})
        work(tenant, "erase")
    ended = Erasure.objects.in_scope(tenant.scope).filter(status=ErasureStatus.FINISHED)
    assert ended.count() == len(targets)
    assert tenant.get("/v1/erasures", namespace=name_of(tenant)).status_code == 200
    assert tenant.get(f"/v1/erasures/{ended[0].id}").status_code == 200


def reset(tenant: Tenant) -> None:
    send(tenant, "post", "/v1/sessions/reset", {"namespace": name_of(tenant), "session_id": "s1", "confirm": True})


def use_documents(tenant: Tenant) -> None:
    send(
        tenant,
        "post",
        "/v1/documents",
        {"namespace": name_of(tenant), "document_id": "d2", "text": " ".join(TEXTS)},
    )
    assert tenant.get("/v1/documents", namespace=name_of(tenant)).status_code == 200
    assert tenant.get("/v1/documents/d2", namespace=name_of(tenant)).status_code == 200
    answer = tenant.client.delete(f"/v1/documents/d2?namespace={name_of(tenant)}")
    assert answer.status_code < 300, answer.content


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
    """List the API's hot operations, with a pattern for their requests."""
    found = {}
    for path, operations in SchemaGenerator().get_schema(request=None, public=True)["paths"].items():
        for method, operation in operations.items():
            if HOT & set(operation["tags"]):
                name = f"{method.upper()} {path}"
                found[name] = re.compile(re.sub(r"\{[^}]+\}", "[^/]+", name))
    return found


ROUTES = (
    ingest, use_documents, query, ask, read_memory, change_memory, change_many, read_entities, reset, erase,
)  # fmt: skip


def test_each_statement_of_a_hot_route_names_its_namespace(fill):
    """Requests are sent to each operation in these parts of the API, so the test also checks new ones."""
    with open_connection().connection.cursor() as cursor:
        spread = frozenset(tables.list_spread(cursor))
        assert tables.list_unspreadable(cursor, [*spread]) == []
    requests: list[str] = []

    def note(environ: Any, **_signal: Any) -> None:
        requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")

    unbound: dict[str, list[str]] = {}
    for number, route in enumerate(ROUTES):
        tenant = fill(f"tenant-{number}")
        request_started.connect(note)
        with watch(spread) as planned:
            route(tenant)
        request_started.disconnect(note)
        assert planned
        unbound |= {text: scans for text, scans in planned.items() if scans}

    assert unbound == {}
    known = sorted(list_operations().items(), key=lambda named: "{" in named[0])
    sent = {next(name for name, looks in known if looks.fullmatch(request)) for request in requests}
    assert sent == list_operations().keys() - NOT_HOT.keys()


def test_a_statement_that_names_no_namespace_is_found(alice, remember):
    memory = remember(alice, TEXTS[0])
    with watch(frozenset({"memory_memory"})) as planned, reach.across_namespaces():
        Memory.objects.across_namespaces().get(pk=memory)
        Memory.objects.in_scope(alice.scope).get(pk=memory)

    assert [len(scans) for scans in planned.values()] == [1, 0]


def test_the_statements_for_citus_are_those_of_the_schema():
    written = Path(tables.__file__).with_name("distribute.sql").read_text(encoding="utf-8")
    with open_connection().connection.cursor() as cursor:
        assert list_statements(cursor) == written, "python -m deploy.citus.distribute > deploy/citus/distribute.sql"
