"""The tables of the index and of the audit are written in one place, by SQL or by Django; whose SQL reads memories is
named here."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import partial

import pytest
from django.apps import apps

from memory.models import large, search
from memory.services.erasure.holders import HOLDERS
from tests.contracts.test_writes import ROOT, sources

INDEX, AUDIT = ("memory/services/index/", "memory/models/queries/index"), ("memory/audit.py",)
# Vectors, postings, counters and counts of common terms; which model is in use is the index's own business, too.
OWNERS = {
    model._meta.db_table: INDEX
    for model in apps.get_app_config("memory").get_models()
    if model.__module__ in (search.__name__, large.__name__)
} | {"memory_namespacestat": INDEX, "memory_auditlog": AUDIT}
# Those that write memories by SQL: the rest changes a row that it has locked, through Django.
MEMORY_WRITERS = {
    "memory/models/queries/index.py": "deletes memories with their postings and counts; stores missing vectors",
    "memory/models/queries/retention.py": "rates a batch, and only what differs",
    "memory/services/index/insert.py": "stores memories with all that a search reads, in one statement",
}

ONE_ROUND = "one statement for a request that is waited for"
JOINED = "joins memories with what is counted, aggregated or searched beside them"
LOCKS = "a lock or an order of locks that Django does not write"
WITH_WRITE = "the reading half of a statement that writes"
COMPOSED = "conditions that are put together as SQL"
MEMORY_READERS = {
    "memory/models/queries/entities.py": LOCKS,
    "memory/models/queries/erased_words.py": COMPOSED,
    "memory/models/queries/erasure.py": LOCKS,
    "memory/models/queries/erasure_holders.py": COMPOSED,
    "memory/models/queries/index.py": WITH_WRITE,
    "memory/models/queries/memories.py": JOINED,
    "memory/models/queries/monitoring.py": JOINED,
    "memory/models/queries/retention.py": WITH_WRITE,
    "memory/models/queries/training.py": JOINED,
    "memory/retrieval/arms/dense.py": COMPOSED,
    "memory/retrieval/arms/lexical.py": COMPOSED,
    "memory/retrieval/arms/preferences.py": ONE_ROUND,
    "memory/retrieval/candidate_features.py": ONE_ROUND,
    "memory/retrieval/columns/load.py": ONE_ROUND,
    "memory/retrieval/durable.py": ONE_ROUND,
    "memory/retrieval/hits.py": ONE_ROUND,
    "memory/retrieval/named_words.py": ONE_ROUND,
    "memory/retrieval/predicate.py": COMPOSED,
    "memory/services/projection/read.py": JOINED,
    "memory/services/recall/context.py": ONE_ROUND,
    "memory/services/recall/window.py": ONE_ROUND,
    "memory/services/retention/due.py": COMPOSED,
    "memory/services/retention/forecast.py": COMPOSED,
}

WRITTEN = re.compile(r"\b(?:INSERT\s+INTO|UPDATE(?:\s+ONLY)?|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE)\s+(memory_\w+)")
READ = re.compile(r"\b(?<!DELETE )(?:FROM|JOIN|USING)\s+(memory_\w+)")
METHODS = {
    "create", "get_or_create", "update_or_create", "bulk_create", "bulk_update", "delete", "update", "_raw_delete",
}  # fmt: skip
TABLES = {model.__name__: model._meta.db_table for model in apps.get_app_config("memory").get_models()}


def written_tables(tree: ast.AST) -> set[str]:
    """The tables that a module writes, by SQL or through `Model.objects` (of a queryset kept in a variable: not)."""
    found = {table for text in _texts(tree) for table in WRITTEN.findall(text)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            begin = re.match(r"(\w+)\.objects\b", ast.unparse(node.func.value))
            if begin and begin.group(1) in TABLES:
                found.add(TABLES[begin.group(1)])
    return found


def read_tables(tree: ast.AST) -> set[str]:
    """The tables that the SQL of a module reads."""
    return {table for text in _texts(tree) for table in READ.findall(text)}


def _texts(tree: ast.AST) -> list[str]:
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@dataclass(frozen=True)
class Module:
    """The tables of each way that a module's code has with them."""

    written: set[str]
    written_by_sql: set[str]
    read: set[str]


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    """Maps paths to modules, without migrations and the models themselves."""
    found = {}
    for path in sources():
        if path.startswith("memory/models/queries/") or not path.startswith(("memory/migrations/", "memory/models/")):
            tree = ast.parse((ROOT / path).read_text("utf-8"))
            by_sql = {table for text in _texts(tree) for table in WRITTEN.findall(text)}
            found[path] = Module(written_tables(tree), by_sql, read_tables(tree))
    return found


def test_the_index_and_the_audit_are_written_in_one_place_each(modules):
    elsewhere: dict[str, set[str]] = defaultdict(set)
    for path, module in modules.items():
        for table in module.written:
            if table in OWNERS and not path.startswith(OWNERS[table]):
                elsewhere[path].add(table)

    assert {"memory_memoryvector", "memory_posting", "memory_corpus", "memory_commonterm"} <= OWNERS.keys()
    assert elsewhere == {}


def test_erasures_have_the_index_clear_its_tables():
    """Holders are made of tables' names, which the reading above does not see."""
    ways = {holder.name: [holder.clear, holder.sweep] for holder in HOLDERS if holder.name in OWNERS}
    own = [name for name, both in ways.items() if any(_is_statement(way) for way in both)]

    assert ways.keys() >= {"memory_memoryvector", "memory_posting", "memory_commonterm"}
    assert own == []
    assert all(any(map(_is_statement, (one.clear, one.sweep))) for one in HOLDERS if one.name == "memory_memorylink")


def _is_statement(way: object) -> bool:
    """Whether a holder is cleared by a statement of `holders`, and not by a function."""
    return isinstance(way, partial) or getattr(way, "__qualname__", "").startswith("_clear_with.")


def test_what_writes_and_reads_memories_by_sql_is_named(modules):
    writers = {path for path, module in modules.items() if "memory_memory" in module.written_by_sql}
    readers = {path for path, module in modules.items() if "memory_memory" in module.read}

    assert writers == MEMORY_WRITERS.keys()
    assert readers == MEMORY_READERS.keys()


def test_writing_and_reading_is_seen():
    for source, written, read in (
        ("S = 'DELETE FROM memory_posting p USING memory_memory m'", {"memory_posting"}, {"memory_memory"}),
        (
            "S = f'INSERT INTO memory_auditlog {x} SELECT 1 FROM memory_session'",
            {"memory_auditlog"},
            {"memory_session"},
        ),
        ("S = 'UPDATE memory_memoryvector v SET filed = true'", {"memory_memoryvector"}, set()),
        ("Posting.objects.in_scope(scope).filter(term='x').delete()", {"memory_posting"}, set()),
        ("Posting.objects.in_scope(scope).filter(term='x').count()", set(), set()),
    ):
        tree = ast.parse(source)
        assert (written_tables(tree), read_tables(tree)) == (written, read)
