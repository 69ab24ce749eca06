"""Checks a server that has recovered from faults: nothing is lost, nothing is doubled, and nothing is stuck."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator

import psycopg

from bench.fault_clients import Book, Caller
from bench.whole_server import WholeServer

SEARCHED = 300

_TWICE = """
SELECT metadata ->> 'mark', count(*) FROM memory_memory WHERE metadata ? 'mark' GROUP BY 1 HAVING count(*) > 1
"""
_STORED = "SELECT metadata ->> 'mark', id::text FROM memory_memory WHERE metadata ? 'mark'"
_REPLACED = """
SELECT metadata ->> 'mark' FROM memory_memory
WHERE metadata ? 'mark' AND (superseded_by IS NOT NULL OR state <> 'active')
"""
_GAPS = """
SELECT n.name, m.session, count(*), max(m.turn), s.message_count
FROM memory_memory m JOIN memory_namespace n ON n.id = m.namespace_id
JOIN memory_session s ON s.namespace_id = m.namespace_id AND s.name = m.session
WHERE m.turn > 0 GROUP BY 1, 2, 5 HAVING count(*) <> max(m.turn) OR max(m.turn) <> s.message_count
"""
# Scheduled jobs recur for ever; the other jobs of the queue must have ended.
_OPEN = """
SELECT 'job ' || kind || ' ' || state || ' after ' || attempts || ' attempts ' || error_type
FROM memory_job WHERE (schedule = '' AND state IN ('queued', 'running')) OR state = 'failed'
UNION ALL SELECT 'queue message ' || key FROM django_q_ormq
UNION ALL SELECT 'erasure ' || status || ' ' || waiting_for || error FROM memory_erasure WHERE status <> 'finished'
UNION ALL SELECT 'memory without vector' FROM memory_memory WHERE state = 'active' AND NOT embedded
UNION ALL SELECT 'summary asked for and not made: ' || name FROM memory_session WHERE summary_requested_at IS NOT NULL
"""
# The turns that are still to be compared with earlier ones: a backlog, of which each minute's run takes a part.
_UNSETTLED = "SELECT coalesce(sum(message_count - settled_turn), 0) FROM memory_session WHERE skipped_turn IS NULL"
_DOCUMENTS = """
SELECT d.document_id, d.version, count(*), count(DISTINCT c.index), max(m.metadata ->> 'doc'),
    count(DISTINCT m.metadata ->> 'doc')
FROM memory_document d JOIN memory_documentchunk c ON c.document_key = d.id
JOIN memory_memory m ON m.id = c.memory_id GROUP BY 1, 2
"""


def check(server: WholeServer, book: Book, *, seconds: float) -> list[str]:
    """Waits up to `seconds` for the background work to end; returns a sentence for each check that fails."""
    problems = [f"still open: {count} × {what}" for what, count in _wait_for_end(server, seconds).items()]
    with _connect(server) as connection:
        problems += _writes(connection, book)
        problems += _keys(connection, book)
        problems += [f"session {row} has gaps" for row in connection.execute(_GAPS)]
        problems += _documents(connection, book)
        problems += _erasures(connection, book)
        replaced = {row[0] for row in connection.execute(_REPLACED)}
    problems += _searches(server, book, without=replaced)
    problems += [f"{count} × {what}" for what, count in book.unclean.items()]
    return [*problems, *_commands(server)]


def _connect(server: WholeServer) -> psycopg.Connection:
    """Connects to the database. Raises psycopg.OperationalError if it has not come back within a minute."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return psycopg.connect(server.urls()["DATABASE_URL"], autocommit=True)
        except (psycopg.OperationalError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _wait_for_end(server: WholeServer, seconds: float) -> dict[str, int]:
    """Counts by kind the work that has not ended after `seconds`."""
    deadline = time.monotonic() + seconds
    calm = 0
    left: dict[str, int] = {}
    with _connect(server) as connection:
        while time.monotonic() < deadline and calm < 3:
            left = {}
            for (what,) in connection.execute(_OPEN):
                left[what] = left.get(what, 0) + 1
            # Messages of schedules come and go; the work has ended after three checks in a row without any.
            calm = 0 if left else calm + 1
            time.sleep(1)
    return left


def _writes(connection: psycopg.Connection, book: Book) -> Iterator[str]:
    for mark, count in connection.execute(_TWICE):
        told = "acknowledged" if mark in book.marks else "not acknowledged"
        yield f"{mark} ({told}) is there {count} times"
    stored = dict(connection.execute(_STORED).fetchall())
    lost = {mark for mark, (_, memory_id) in book.marks.items() if stored.get(mark) != memory_id}
    if lost:
        yield f"{len(lost)} of {len(book.marks)} acknowledged memories are lost, such as {sorted(lost)[:3]}"
    unknown = set(stored) - set(book.sent)
    if unknown:
        yield f"{len(unknown)} memories are there that nobody sent, or that were erased: {sorted(unknown)[:3]}"
    print(
        f"acknowledged {len(book.marks)}, there {len(stored)}, sent and not acknowledged "
        f"{len(book.sent) - len(book.marks)}",
        flush=True,
    )


def _keys(connection: psycopg.Connection, book: Book) -> Iterator[str]:
    kept = dict(connection.execute("SELECT key, memory_ids FROM memory_idempotencyrecord").fetchall())
    wrong = [key for key, ids in book.keys.items() if kept.get(key) != ids]
    if wrong:
        yield f"{len(wrong)} of {len(book.keys)} Idempotency-Keys do not have the answer that was given"


def _documents(connection: psycopg.Connection, book: Book) -> Iterator[str]:
    rows = {row[0]: row[1:] for row in connection.execute(_DOCUMENTS)}
    for document_id, (_, version, mark) in book.documents.items():
        if document_id not in rows:
            yield f"document {document_id} is lost"
            continue
        stored, chunks, indexes, stored_mark, marks = rows[document_id]
        # The last version may have been written although its answer was lost.
        if stored < version or (stored == version and stored_mark != mark):
            yield f"document {document_id} is of version {stored}, version {version} was acknowledged"
        if marks != 1 or chunks != indexes:
            yield f"document {document_id} has {chunks} chunks with {indexes} places of {marks} versions"


def _erasures(connection: psycopg.Connection, book: Book) -> Iterator[str]:
    finished = {row[0] for row in connection.execute("SELECT id::text FROM memory_erasure WHERE status = 'finished'")}
    if lost := set(book.erased) - finished:
        yield f"{len(lost)} of {len(book.erased)} erasures that were acknowledged did not end"
    statement = """SELECT count(*) FROM memory_memory m JOIN memory_namespace n ON n.id = m.namespace_id
                   WHERE n.name = %s AND m.session = %s"""
    for namespace, session in book.erased.values():
        [(count,)] = connection.execute(statement, [namespace, session]).fetchall()
        if count:
            yield f"{count} memories of {namespace}/{session} are there after its erasure"
    [(unsettled,)] = connection.execute(_UNSETTLED).fetchall()
    print(f"turns that wait to be compared with earlier ones {unsettled}")
    print(f"erasures {len(book.erased)}, documents {len(book.documents)}, keys {len(book.keys)}", flush=True)


def _searches(server: WholeServer, book: Book, *, without: set[str]) -> Iterator[str]:
    """Searches for some acknowledged memories by their unique words, except replaced ones; yields failures."""
    caller = Caller(server.port, server.key, Book())
    there = sorted(set(book.marks) - without)
    chosen = random.Random(7).sample(there, min(SEARCHED, len(there)))
    missing = 0
    for mark in chosen:
        namespace, memory_id = book.marks[mark]
        body, answer = {"namespace": namespace, "query": f"Delivery {mark}"}, None
        for _ in range(20):
            status, answer = caller.ask("POST", "/v1/search", body)
            if status == 200:
                break
            time.sleep(0.5)
        missing += memory_id not in [hit["id"] for hit in (answer or {}).get("hits", [])]
    print(f"searched {len(chosen)}, found {len(chosen) - missing}; replaced by later ones {len(without)}", flush=True)
    if missing:
        yield f"{missing} of {len(chosen)} acknowledged memories are not found by their words"


def _commands(server: WholeServer) -> Iterator[str]:
    """Yields the complaints of the commands doctor and verify_audit."""
    doctor = server.manage("doctor")
    for line in doctor.stdout.splitlines():
        if line.startswith(("FAIL", "WARN")) or "Traceback" in line:
            yield f"doctor: {line}"
    audit: subprocess.CompletedProcess[str] = server.manage("verify_audit")
    print(f"verify_audit: {audit.stdout.strip().splitlines()[-1] if audit.stdout.strip() else audit.stderr[-300:]}")
    if audit.returncode:
        yield f"the audit chain does not hold: {audit.stdout.strip()[-300:]}"
