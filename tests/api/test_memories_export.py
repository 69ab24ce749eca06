"""GET /v1/memories/export: a file that is written while it is sent."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tracemalloc

import pytest
from django.utils import timezone

from memory.models import Memory
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import export
from memory.types import NewMemory

EXPORT = "/v1/memories/export"
RED = json.dumps({"metadata.colour": "red"})


@pytest.fixture
def garden(alice, bob, remember):
    for number in range(8):
        remember(alice, f"Tulip {number} stands in bed {number}.", metadata={"colour": "red" if number < 5 else "blue"})
    remember(bob, "Bob's tulip stands in a pot.", metadata={"colour": "red"})
    return alice


def read(response):
    assert response.status_code == 200, response.content
    return b"".join(response.streaming_content)


def lines(tenant, **query):
    return [
        json.loads(line) for line in read(tenant.get(EXPORT, namespace=tenant.scope.namespace, **query)).splitlines()
    ]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"filter": "{"}, "filter"),
        ({"filter": "[]"}, "filter"),
        ({"filter": '{"text": 1}'}, "filter.text"),
        ({"filter": '{"or": [{"metadata.a": {"like": 1}}]}'}, "filter.or[0].metadata.a"),
        ({"format": "xlsx"}, "format"),
        ({"state": "gone"}, "state"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_sent(garden, query, field):
    answer = garden.get(EXPORT, namespace="alice", **query)

    assert answer.status_code == 400
    detail = answer.json()["error"]["detail"]
    assert (detail[0] if isinstance(detail, list) else detail)["field"] == field


def test_nobody_reads_what_the_list_would_not_show(garden, olga, make_tenant):
    assert olga.get(f"{EXPORT}?namespace=alice").status_code == 401
    assert make_tenant("alice", scopes=("write",)).get(EXPORT, namespace="alice").status_code == 403
    assert garden.get(EXPORT, namespace="bob").status_code == 404
    assert "Bob" not in str(lines(garden, state="any"))


def test_lines_are_the_memories_as_the_list_has_them(garden):
    listed = garden.get("/v1/memories", namespace="alice").json()["memories"]

    assert lines(garden) == listed[::-1]
    answer = garden.get(EXPORT, namespace="alice")
    read(answer)
    assert answer["Content-Type"] == "application/x-ndjson"
    assert 'filename="memories-' in answer["Content-Disposition"]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({}, 7),
        ({"state": "any"}, 8),
        ({"filter": RED}, 4),
        ({"filter": "{}"}, 7),
        ({"filter": RED, "text": "bed 3"}, 1),
        ({"filter": '{"kind": "said", "not": {"metadata.colour": "red"}}'}, 3),
        ({"session_id": "none"}, 0),
        ({"filter": json.dumps({"metadata.colour": "x' OR true --"})}, 0),
        ({"filter": json.dumps({"metadata.m\\.id) OR (1": {"ne": "%s"}})}, 0),
    ],
)
def test_it_holds_what_is_asked_for(garden, query, count):
    first = Memory.objects.in_scope(garden.scope).order_by("pk").first()
    garden.client.delete(f"/v1/memories/{first.pk}")

    assert len(lines(garden, **query)) == count


def test_an_empty_namespace_gives_an_empty_file(alice):
    assert read(alice.get(EXPORT, namespace="alice")) == b""
    assert len(read(alice.get(EXPORT, namespace="alice", format="csv")).splitlines()) == 1


def test_a_spreadsheet_finds_no_formula(alice, remember):
    texts = [
        '=HYPERLINK("http://evil.example","x")',
        "+1+cmd|' /C calc'!A0",
        "@SUM(A1)",
        "-2+3",
        '"quoted", and\nbroken',
    ]
    for text in texts:
        remember(alice, text, speaker="=1+1", metadata={"=key": "=value"})

    content = read(alice.get(EXPORT, namespace="alice", format="csv")).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(content)))

    assert [row["text"].removeprefix("'") for row in rows] == texts
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "@"))]
    assert {row["speaker"] for row in rows} == {"'=1+1"}
    assert json.loads(rows[0]["metadata"]) == {"=key": "=value"}


@pytest.mark.parametrize(
    ("accepted", "packed"), [("gzip", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False), ("br", False), ("", False)]
)
def test_it_is_compressed_for_who_accepts_that(garden, accepted, packed):
    answer = garden.client.get(f"{EXPORT}?namespace=alice", headers={"Accept-Encoding": accepted})
    content = read(answer)

    assert (answer.get("Content-Encoding") == "gzip") == packed
    assert len((gzip.decompress(content) if packed else content).splitlines()) == 8


def test_what_changes_while_it_is_sent_breaks_nothing(garden, remember, monkeypatch):
    monkeypatch.setattr(export, "PAGE", 2)
    before = [row["id"] for row in lines(garden)]

    pieces = iter(garden.get(EXPORT, namespace="alice").streaming_content)
    received = next(pieces) + next(pieces)
    garden.client.delete(f"/v1/memories/{before[0]}")
    garden.client.delete(f"/v1/memories/{before[5]}")
    Memory.objects.in_scope(garden.scope).filter(pk=before[6]).update(metadata={"changed": True})
    remember(garden, "A late tulip stands in bed 9.")
    rows = [json.loads(line) for line in (received + b"".join(pieces)).splitlines()]

    assert [row["id"] for row in rows] == [one for one in before if one != before[5]]
    assert [row["metadata"] for row in rows if row["id"] == before[6]] == [{"changed": True}]


def test_one_that_breaks_off_has_no_end(garden, monkeypatch):
    monkeypatch.setattr(export, "PAGE", 2)
    pieces = iter(garden.client.get(f"{EXPORT}?namespace=alice", headers={"Accept-Encoding": "gzip"}).streaming_content)
    received = next(pieces) + next(pieces)

    def break_off(*arguments):
        raise RuntimeError("the database is away")

    monkeypatch.setattr(export, "_read", break_off)
    with pytest.raises(RuntimeError):
        received += b"".join(pieces)
    with pytest.raises(EOFError):
        gzip.decompress(received)


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_one_that_breaks_off_says_so_in_its_last_line(garden, monkeypatch, format):
    monkeypatch.setattr(export, "PAGE", 2)
    pieces = iter(garden.client.get(f"{EXPORT}?namespace=alice&format={format}").streaming_content)
    received = next(pieces) + next(pieces)

    def break_off(*arguments):
        raise RuntimeError("the database is away")

    monkeypatch.setattr(export, "_read", break_off)
    received += b"".join(pieces)
    assert b"is not whole" in received.splitlines()[-1]


def test_its_memory_does_not_grow_with_the_file(alice, monkeypatch):
    monkeypatch.setattr(export, "PAGE", 50)
    text = "The tulip in bed {} is red and tall. " * 20
    ingest_batch(
        [(alice.scope, NewMemory(session="s1", role="user", text=text.format(*[one] * 20))) for one in range(800)],
        now=timezone.now(),
    )

    def measure(limit):
        tracemalloc.start()
        size = 0
        for number, piece in enumerate(alice.get(EXPORT, namespace="alice").streaming_content):
            size += len(piece)
            if number == limit:
                break
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size, peak

    # The first request of a process reads the OpenAPI document, which takes long under tracemalloc.
    b"".join(alice.get(EXPORT, namespace="alice").streaming_content)
    (few, small), (all_of_it, large) = measure(2), measure(None)

    assert all_of_it > 5 * few
    assert large < 2 * small
