"""Writes all of a namespace into a cube's file, as it was at one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, Min
from psycopg import IsolationLevel

from memory import ledger
from memory.enums import EmbeddingState
from memory.models import EmbeddingModel, Memory
from memory.services.cube_files import lines
from memory.services.cube_files.archive import CubeWriter
from memory.services.cube_files.manifest import Manifest
from memory.services.tenancy.policy import governing
from memory.types import Scope


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """The optional contents of a dump: vectors, quarantined items, audit events."""

    vectors: bool = False
    quarantine: bool = False
    audit: bool = False


def write_cube(
    scope: Scope,
    path: Path,
    *,
    options: DumpOptions,
    cube: dict[str, Any] | None = None,
    now: datetime,
    report: Callable[[int, int], None] = lambda _done, _all: None,
) -> Manifest:
    """Write the namespace to `path` and return the manifest; `report` gets the numbers of written and of all memories.

    It reads in one transaction that sees the database at one moment; nothing is locked. `cube` describes the cube
    (name, description, configuration).
    """
    with _one_moment(), CubeWriter(path) as writer:
        rows = Memory.objects.in_scope(scope)
        total = rows.count()
        times = rows.aggregate(first=Min("occurred_at"), last=Max("occurred_at"))
        model = EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first() if options.vectors else None
        policy = governing(scope.namespace_id)
        writer.write("policies", lines.policies(scope))
        writer.write("sessions", lines.sessions(scope))
        writer.write("documents", lines.documents(scope))
        writer.write("names", lines.names(scope))
        writer.write(
            "memories",
            lines.memories(scope, model_id=model.pk if model else None, report=lambda done: report(done, total)),
        )
        writer.write("links", lines.links(scope))
        writer.write("pairs", lines.pairs(scope))
        writer.write("summaries", lines.summaries(scope))
        writer.write("procedures", lines.procedures(scope))
        if options.quarantine:
            writer.write("quarantine", lines.quarantine(scope))
        if options.audit:
            writer.write("audit", lines.audit_events(scope))
        manifest = Manifest(
            server=ledger.secret_mark(),
            namespace_id=scope.namespace_id,
            namespace=scope.namespace,
            written_at=now.isoformat(),
            parts=dict(writer.parts),
            policy=policy.version,
            model={"provider": model.provider, "name": model.name, "dimensions": model.dimensions} if model else None,
            chat_models={str(purpose): name for purpose, name in policy.effective.policy.models.items() if name},
            first_at=times["first"].isoformat() if times["first"] else None,
            last_at=times["last"].isoformat() if times["last"] else None,
            cube=cube or {},
            memos=settings.SPECTACULAR_SETTINGS["VERSION"],
        )
        writer.finish(manifest)
    return manifest


@contextmanager
def _one_moment() -> Iterator[None]:
    """Open a transaction that sees the database as of its first statement; inside another transaction, use that one."""
    if connection.in_atomic_block:
        yield
        return
    connection.ensure_connection()
    before = connection.connection.isolation_level
    connection.connection.isolation_level = IsolationLevel.REPEATABLE_READ
    try:
        with transaction.atomic():
            yield
    finally:
        if connection.connection is not None and not connection.connection.closed:
            connection.connection.isolation_level = before
