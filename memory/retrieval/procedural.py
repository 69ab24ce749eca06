"""Reads the prompt and the tools that every answer of a namespace includes: its own and the shared ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory.enums import ProcedureKind
from memory.models import Procedure
from memory.types import Scope

_COLUMNS = ("kind", "name", "version", "description", "text", "parameters")


def list_procedural(scope: Scope) -> dict[str, Any]:
    """Returns the enabled prompt and tools of the namespace, as `select_procedural` does."""
    rows = Procedure.objects.in_scope(scope).enabled().order_by("name", "-version").values("namespace_id", *_COLUMNS)
    return select_procedural(sorted(rows, key=lambda row: row["namespace_id"] is None))


def select_procedural(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns `{prompt, tools}`: the first prompt (or None) and all tools of `entries`.

    Callers put a namespace's own entries before the shared ones.
    """
    prompts = [entry for entry in entries if entry["kind"] == ProcedureKind.PROMPT]
    tools = [entry for entry in entries if entry["kind"] == ProcedureKind.TOOL]
    return {"prompt": describe_entry(prompts[0]) if prompts else None, "tools": [describe_entry(one) for one in tools]}


def describe_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """Returns a registry entry as clients see it."""
    common = {name: entry[name] for name in ("name", "version", "description")}
    own = "text" if entry["kind"] == ProcedureKind.PROMPT else "parameters"
    return {**common, own: entry[own]}
