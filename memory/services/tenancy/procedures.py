"""Restores prompts and tools from a cube's file: the entries that agents of a namespace are given."""

from __future__ import annotations

from collections.abc import Sequence

from memory.gate.fields import judge_fields
from memory.models import Procedure
from memory.services.tenancy.policy import in_force
from memory.types import Scope


def take_over_procedures(scope: Scope, entries: Sequence[Procedure], *, dry_run: bool = False) -> tuple[int, int, int]:
    """Store the entries whose kind, name and version are new; return how many are new, how many exist, and how many the
    gate refuses.

    With `dry_run` nothing is written. Inside the caller's transaction.
    """
    gate = in_force(scope.namespace_id).gate
    known = set(Procedure.objects.filter(namespace_id=scope.namespace_id).values_list("kind", "name", "version"))
    kept: list[Procedure] = []
    present = 0
    for one in entries:
        if (one.kind, one.name, one.version) in known:
            present += 1
            continue
        told = {name: getattr(one, name) for name in ("name", "version", "description", "text", "parameters")}
        if judge_fields(told, policy=gate).values == told:
            known.add((one.kind, one.name, one.version))
            kept.append(one)
    if not dry_run:
        Procedure.objects.bulk_create(kept, ignore_conflicts=True)
    return len(kept), present, len(entries) - len(kept) - present
