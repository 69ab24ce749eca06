"""Logs have one line for each record, and never contain a memory."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator

import pytest

from memos_site.logging import LineFormatter, current_request_id

MARKS = {"name": "memos.test", "levelname": "WARNING", "levelno": logging.WARNING}


def line(message: str, *args: object, exc_info: object = None, **extra: object) -> str:
    record = logging.makeLogRecord({**MARKS, "msg": message, "args": args, "exc_info": exc_info, **extra})
    return LineFormatter().format(record)


@pytest.fixture
def _request_id() -> Iterator[None]:
    token = current_request_id.set("r-1")
    yield
    current_request_id.reset(token)


def test_a_record_is_time_level_logger_and_event():
    assert re.fullmatch(
        r"time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=warning logger=memos\.test event=started", line("started")
    )


def test_its_time_is_utc():
    assert line("x", created=0.0, msecs=0.0).startswith("time=1970-01-01T00:00:00.000Z ")


@pytest.mark.usefixtures("_request_id")
def test_within_a_request_it_bears_the_requests_id():
    assert " request_id=r-1 event=started" in line("started")


def test_outside_a_request_it_bears_none():
    assert "request_id" not in line("started")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "plain"),
        (7, "7"),
        ("", '""'),
        ("two words", '"two words"'),
        ('say "hi"', r'"say \"hi\""'),
        ("a=b", '"a=b"'),
        ("back\\slash", r'"back\\slash"'),
        ("line\nlevel=error forged", r'"line\nlevel=error forged"'),
        ("carriage\rreturn", r'"carriage\rreturn"'),
        ("\x1b[31mred", r'"\u001b[31mred"'),
        ("限流", "限流"),
        ({"a": 1}, "\"{'a': 1}\""),
    ],
)
def test_a_value_that_could_be_misread_is_quoted(value, shown):
    assert line("x", extra_field=value).endswith(f" extra_field={shown}")


@pytest.mark.parametrize("separator", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_no_value_breaks_the_line(separator):
    assert len(line(f"a{separator}b", value=f"c{separator}d").split("\n")) == 1
    assert "\n" not in line(f"a{separator}b", value=f"c{separator}d")


def test_arguments_are_filled_in():
    assert 'event="5 of 7"' in line("%d of %d", 5, 7)


def test_a_traceback_stays_in_the_line():
    try:
        raise ValueError("boom")
    except ValueError:
        formatted = line("failed", exc_info=sys.exc_info())
    assert "\n" not in formatted
    assert 'traceback="Traceback (most recent call last):\\n' in formatted
    assert "ValueError: boom" in formatted


def test_a_request_is_one_line_with_its_id_route_status_and_key_and_no_memory(alice, caplog):
    caplog.set_level(logging.INFO)
    caplog.handler.setFormatter(LineFormatter())
    turn = {"namespace": "alice", "session_id": "s1", "role": "user", "text": "My secret is a zebra.", "metadata": {}}
    stored = alice.post("/v1/ingest", turn, X_Request_ID="r-77")
    alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "Which zebra?"}, X_Request_ID="r-78")

    assert stored["X-Request-ID"] == "r-77"
    lines = [entry for entry in caplog.text.splitlines() if "logger=memos.request" in entry]
    assert len(lines) == 2
    for request_id, route, entry in zip(("r-77", "r-78"), ("v1/ingest", "v1/query"), lines, strict=True):
        assert f"request_id={request_id} " in entry
        assert f" method=POST route={route} status=200 ms=" in entry
        assert f"key={alice.scope.actor}" in entry
    assert "zebra" not in caplog.text
    assert alice.token not in caplog.text


def test_degraded_requests_log_no_memory_either(alice, caplog, settings):
    caplog.set_level(logging.INFO)
    caplog.handler.setFormatter(LineFormatter())
    settings.MEMOS_EMBEDDING_PROVIDER = "openai"
    settings.MEMOS_EMBEDDING_DIMENSIONS = 4
    settings.MEMOS_EMBEDDING_BASE_URL = "http://127.0.0.1:9/v1"
    turn = {"namespace": "alice", "session_id": "s1", "role": "user", "text": "My secret is a zebra.", "metadata": {}}
    assert alice.post("/v1/ingest", turn).json()["degraded"] == ["embedding_delayed"]
    assert alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "zebra"}).status_code == 503
    assert 'event="embedding put off"' in caplog.text
    assert "zebra" not in caplog.text


@pytest.mark.parametrize("offered", ["", "a b", "x" * 65, "é", 'a"b'])
def test_a_request_id_that_is_not_plain_is_replaced(olga, offered):
    answered = olga.get("/health", headers={"X-Request-ID": offered})["X-Request-ID"]
    assert answered != offered
    assert re.fullmatch(r"[0-9a-f-]{36}", answered)


def test_the_id_does_not_stay_after_the_request(olga):
    olga.get("/health", headers={"X-Request-ID": "r-1"})
    assert current_request_id.get() == ""


def test_probes_are_logged_at_debug_only(olga, caplog):
    caplog.set_level(logging.DEBUG)
    olga.get("/health")
    (record,) = [entry for entry in caplog.records if entry.name == "memos.request"]
    assert record.levelno == logging.DEBUG
