"""MEMOS_REQUEST_SECONDS: a request that runs out of time is ended between its steps, and has written nothing."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection, transaction

from memory import deadline
from memory.api.errors import exception_handler
from memory.errors import DeadlineExceeded
from memory.models import AuditLog, Document, IdempotencyRecord, Memory, MemoryVersion
from memory.models.sql import fetch
from memory.postgresql.time_limit import limit_statements
from memory.services.ingestion import admission, documents

TURN = {"namespace": "alice", "session_id": "s1", "role": "user", "text": "Tea is at five."}
DOCUMENT = {"namespace": "alice", "document_id": "d", "text": "Tea is at five.\n\n" * 200}


def counts() -> list[int]:
    return [model._base_manager.count() for model in (Memory, Document, MemoryVersion, AuditLog, IdempotencyRecord)]


def assert_ended(answer) -> None:
    assert answer.status_code == 503, answer.content
    error = answer.json()["error"]
    assert error["code"] == "deadline_exceeded"
    assert "MEMOS_REQUEST_SECONDS" in error["message"]
    assert error["request_id"] == answer["X-Request-ID"]
    assert answer["Retry-After"] == "1"


@pytest.mark.parametrize("headers", [{}, {"Idempotency_Key": "k"}])
def test_a_request_without_time_is_ended_and_writes_nothing(alice, remember, settings, headers):
    memory_id = remember(alice, "Tea is at four.")
    path = f"/v1/memories/{memory_id}"
    before = counts()
    settings.MEMOS_REQUEST_SECONDS = 0
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    answers = [
        alice.post("/v1/ingest", TURN, **headers),
        alice.post("/v1/ingest/batch", {"items": [TURN] * 3}, **headers),
        alice.post("/v1/documents", DOCUMENT, **headers),
        alice.post(f"{path}/supersede", {"text": "Six.", "reason": "why"}, **headers),
        alice.post(f"{path}/pin", {"reason": "why"}, **headers),
        alice.client.patch(path, {"text": "Six.", "reason": "why"}, content_type="application/json", headers=named),
        alice.client.delete(path, headers=named),
        alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "tea"}),
        alice.post("/v1/search", {"namespace": "alice", "query": "tea"}),
    ]

    for answer in answers:
        assert_ended(answer)
    assert counts() == before


@pytest.mark.parametrize(
    ("module", "step", "body", "path"),
    [
        (admission, "judge", {"items": [TURN] * 5}, "/v1/ingest/batch"),
        (documents, "count_tokens", DOCUMENT, "/v1/documents"),
    ],
)
def test_time_that_runs_out_in_the_middle_ends_it(alice, monkeypatch, module, step, body, path):
    done = getattr(module, step)
    calls: list[int] = []

    def slow(*arguments, **named):
        calls.append(1)
        if len(calls) == 2:
            monkeypatch.setattr(deadline.time, "monotonic", lambda: float("inf"))
        return done(*arguments, **named)

    monkeypatch.setattr(module, step, slow)
    before = counts()

    with monkeypatch.context():
        answer = alice.post(path, body)
    monkeypatch.undo()

    assert_ended(answer)
    assert len(calls) == 2
    assert counts() == before


def test_outside_a_request_there_is_no_limit():
    deadline.check()
    with pytest.raises(DeadlineExceeded), deadline.within(0):
        deadline.check()
    deadline.check()


@pytest.mark.django_db(transaction=True)
def test_a_statement_that_takes_longer_is_ended_by_the_database(settings, rf):
    settings.MEMOS_REQUEST_SECONDS = 1
    connection.close()
    options = connection.settings_dict["OPTIONS"]
    connection.settings_dict["OPTIONS"] = {**options, "options": "-c statement_timeout=1000"}
    request = rf.get("/v1/memories")
    try:
        with pytest.raises(OperationalError) as ended, transaction.atomic():
            fetch("SELECT pg_sleep(20), %(n)s::int", {"n": 1}, prepared=False)
        with limit_statements():
            fetch("SELECT %(n)s::int", {"n": 1}, prepared=False)
        assert connection.cursor().execute("SHOW statement_timeout").fetchone() == ("1s",)
    finally:
        connection.settings_dict["OPTIONS"] = options
        connection.close()

    class Wrapped:
        _request = request

    answer = exception_handler(ended.value, {"request": Wrapped()})
    assert (answer.status_code, b"deadline_exceeded" in answer.content) == (503, True)
