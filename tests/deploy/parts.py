"""Which parts of the tables each statement touches: by EXPLAIN of all that a piece of work sends, as it sends it."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.client_cursor import ClientCursorMixin
from psycopg.pq import TransactionStatus

PART = re.compile(r"^(memory_\w+)_p(\d\d)$")
# What was done to rows of parts in this transaction, by triggers and cascades too, which a plan does not show.
_TOUCHED = """
SELECT relname, seq_scan + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del
FROM pg_stat_xact_user_tables WHERE starts_with(relname, 'memory_') AND relname ~ '_p[0-9][0-9]$'
"""


@dataclass(frozen=True, slots=True)
class Explained:
    """A statement, and of each table of tenants the numbers of the parts that it touched.

    `planned` is what its plan ran; `touched` has the parts of its triggers, checks and cascades as well. `named` are
    the tables that its text names.
    """

    text: str
    planned: dict[str, set[int]]
    touched: dict[str, set[int]]
    named: frozenset[str]

    def __str__(self) -> str:
        return f"{' '.join(self.text.split())[:600]}\n  planned {self.planned}\n  touched {self.touched}"


@dataclass(slots=True)
class Recorder:
    """Explains each statement that names one of `tables`, whichever thread sends it."""

    tables: frozenset[str]
    unexplained: Collection[str]
    explained: list[Explained] = field(default_factory=list)
    busy: threading.local = field(default_factory=threading.local)

    def explain(self, connection: psycopg.Connection[Any], is_client_bound: bool, query: Any, values: Any) -> None:
        text = query.as_string(connection) if isinstance(query, sql.Composable) else str(query)
        named = frozenset(re.findall(r"\bmemory_[a-z_]+", text))
        failed = connection.info.transaction_status == TransactionStatus.INERROR
        if failed or not named & self.tables or text in self.unexplained:
            return
        kind = psycopg.ClientCursor if is_client_bound else psycopg.Cursor
        with connection.transaction(force_rollback=True), kind(connection) as own:
            # Not as a role that policies hold: a statement is to name the namespace itself.
            own.execute("SET LOCAL ROLE NONE")
            before = dict(own.execute(_TOUCHED).fetchall())
            own.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}", values)
            [(plans,)] = own.fetchall()
            after = dict(own.execute(_TOUCHED).fetchall())
        touched = [name for name, count in after.items() if count > before.get(name, 0)]
        self.explained.append(Explained(text, _by_table(_list_run(plans[0]["Plan"])), _by_table(touched), named))


def _list_run(node: dict[str, Any]) -> Iterator[str]:
    """The relations of a plan that were looked into: not those that were pruned when it began."""
    if node.get("Actual Loops", 1) and "Relation Name" in node:
        yield node["Relation Name"]
    for target in node.get("Target Tables", ()):
        yield target["Relation Name"]
    for below in node.get("Plans", ()):
        yield from _list_run(below)


def _by_table(names: Any) -> dict[str, set[int]]:
    parts: dict[str, set[int]] = {}
    for name in names:
        if match := PART.match(name):
            parts.setdefault(match[1], set()).add(int(match[2]))
    return parts


@contextmanager
def record(tables: frozenset[str], *, unexplained: Collection[str]) -> Iterator[list[Explained]]:
    """Inside, every statement about `tables` is explained first, with its parameters, and that is rolled back.

    But for the `unexplained`, in the words in which they are sent.
    """
    recorder = Recorder(tables, unexplained)
    send, send_many = psycopg.Cursor.execute, psycopg.Cursor.executemany

    def explain(cursor: Any, query: Any, values: Any) -> None:
        if getattr(recorder.busy, "is_set", False):
            return
        recorder.busy.is_set = True
        try:
            recorder.explain(cursor.connection, isinstance(cursor, ClientCursorMixin), query, values)
        finally:
            recorder.busy.is_set = False

    def execute(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
        explain(self, query, params)
        return send(self, query, params, **options)

    def executemany(self: Any, query: Any, params_seq: Any, **options: Any) -> Any:
        rows = list(params_seq)
        for row in rows[:1]:
            explain(self, query, row)
        return send_many(self, query, rows, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", execute)
        patch.setattr(psycopg.Cursor, "executemany", executemany)
        server_cursor = psycopg.ServerCursor.execute

        def declare(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
            explain(self, query, params)
            return server_cursor(self, query, params, **options)

        patch.setattr(psycopg.ServerCursor, "execute", declare)
        yield recorder.explained
