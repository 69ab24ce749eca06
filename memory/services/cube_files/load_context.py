"""Holds the common state of all steps of a load: its target, its file, its options and its ids; and the report of a
batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from memory.enums import CubeIds
from memory.services.cube_files.archive import CubeReader
from memory.services.cube_files.column_values import IdMap, UnreadableLine, check_line
from memory.services.cube_files.load_options import LoadOptions
from memory.services.erasure.erased_before import ErasedBefore
from memory.services.ingestion.take_over import find_model
from memory.types import Scope

Value = TypeVar("Value")
Lines = Sequence[tuple[int, dict[str, Any]]]

NEW, PRESENT, ERASED, LEFT_OUT, UNREADABLE = "new", "present", "erased", "left_out", "unreadable"


@dataclass(slots=True)
class BatchReport:
    """The results of a batch: the number of lines by outcome, and the first ones worth listing. `holds`: the same for
    their legal holds."""

    counts: Counter[str] = field(default_factory=Counter)
    holds: Counter[str] = field(default_factory=Counter)
    listed: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, str]] = field(default_factory=list)


class LoadContext:
    """A file that is loaded into a namespace; with `dry_run` only the effects are reported.

    `model_id` and `dimensions` are those of the file's vectors if the active model made them, else None.
    """

    def __init__(self, scope: Scope, reader: CubeReader, options: LoadOptions, *, ids: CubeIds, dry_run: bool) -> None:
        self.scope = scope
        self.reader = reader
        self.dry_run = dry_run
        self.ids = IdMap(scope, renew=ids == CubeIds.NEW)
        manifest = reader.manifest
        is_own = reader.is_of_this_server
        self.erased = ErasedBefore(
            scope,
            origin=manifest.namespace_id if is_own else None,
            written_at=datetime.fromisoformat(manifest.written_at) if is_own else None,
        )
        self.takes_holds = options.holds and reader.is_trusted
        model = manifest.model if reader.is_trusted else None
        self.model_id = find_model(**model) if model else None
        self.dimensions = int(model["dimensions"]) if model and self.model_id is not None else None

    def read(self, lines: Lines, read: Callable[[dict[str, Any]], Value], report: BatchReport) -> list[Value]:
        """Return what `read` makes of the lines; unreadable ones are reported."""
        found = []
        for number, line in lines:
            try:
                check_line(line)
                found.append(read(line))
            except UnreadableLine as fault:
                report.counts[UNREADABLE] += 1
                report.faults.append({"place": f"line {number}", "reason": str(fault)[:200]})
        return found
