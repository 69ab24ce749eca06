"""Only services, the audit, the ledger and models write rows of the domain; any other writer is listed here."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRITERS = ("memory/services/", "memory/models/", "memory/audit.py", "memory/ledger.py", "memory/migrations/")
# Tables without a tenant: the schedules' own table, a key's last use, and the console's data of its staff.
OWN_TABLES = {
    "memory/api/authentication.py": {"update"},
    # The module reads with several statements from one snapshot.
    "memory/retrieval/columns/load.py": {"atomic"},
    # The module saves a word list into a file.
    "memory/providers/name_lists.py": {"save"},
    # The module saves a neural network and a table into files.
    "memory/providers/use_v3/graph.py": {"save"},
    "memory/schedules.py": {"delete", "update_or_create"},
    "ops/admin/lists.py": {"atomic"},
    "ops/admin/saved_views.py": {"atomic", "update", "update_or_create", "delete"},
    "ops/bulk.py": {"atomic", "create", "update", "delete", "save"},
    "ops/second_factor.py": {"atomic", "create", "bulk_create", "delete", "save"},
}
METHODS = {
    "atomic", "save", "create", "get_or_create", "update_or_create", "bulk_create", "bulk_update", "delete", "update",
}  # fmt: skip
SQL = re.compile(r"\b(?:INSERT INTO|UPDATE (?:ONLY )?memory_\w+|DELETE FROM|MERGE INTO|TRUNCATE)\b")


def sources() -> list[str]:
    return sorted(
        str(path.relative_to(ROOT)) for top in ("memory", "ops", "memos_site") for path in (ROOT / top).rglob("*.py")
    )


def writes(tree: ast.AST) -> set[str]:
    """Return the methods by which a module writes rows, and `sql` if a statement in it does."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            if _is_of_rows(node):
                found.add(node.func.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value):
            found.add("sql")
    return found


def _is_of_rows(call: ast.Call) -> bool:
    """Return whether a call with such a name is on a model, a queryset or the transaction.

    Dictionaries, sets, hashes and clients of other servers have methods of the same names.
    """
    assert isinstance(call.func, ast.Attribute)
    name, target = call.func.attr, call.func.value
    if name == "atomic":
        return True
    if name in ("update", "delete", "create"):
        text = ast.unparse(target)
        keywords_only = not call.args
        return (
            ".objects" in text
            or (name == "delete" and not call.args and not call.keywords)
            or (name == "update" and keywords_only and bool(call.keywords))
        )
    return True


def test_nothing_else_writes() -> None:
    found = {path: writes(ast.parse((ROOT / path).read_text())) for path in sources() if not path.startswith(WRITERS)}
    assert {path: seen for path, seen in found.items() if seen} == OWN_TABLES


def test_a_write_is_seen() -> None:
    for source, seen in (
        ("Memory.objects.filter(pk=1).update(state='x')", {"update"}),
        ("row.save()", {"save"}),
        ("row.delete()", {"delete"}),
        ("with transaction.atomic(): pass", {"atomic"}),
        ("S = 'DELETE FROM memory_memory'", {"sql"}),
        ("seen.update(other); cache.delete(key)", set()),
    ):
        assert writes(ast.parse(source)) == seen
