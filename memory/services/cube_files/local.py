"""Dumps to and loads from files of this machine, for commands: at once, without a job, of any size."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent
from memory.services.cube_files import memtensor
from memory.services.cube_files.archive import open_cube
from memory.services.cube_files.dump import DumpOptions, write_cube
from memory.services.cube_files.load import HOLDS, LISTED, CubeLoader, in_batches, store_batch
from memory.services.cube_files.load_context import BatchReport, Lines, LoadContext
from memory.services.cube_files.load_options import LoadOptions, check_sender, choose_ids, count_lines, part_of
from memory.services.cube_files.manifest import Manifest
from memory.services.cube_files.run import SHOWN_FAULTS, describe_cube
from memory.services.imports.take_in import in_batches as in_batches_of_turns
from memory.services.imports.take_in import take_in
from memory.types import Scope

Report = Callable[[int, int], None]
_PARTIAL = ".partial"


@dataclass(slots=True)
class LoadOutcome:
    """The results of a load by part; the first faults, and the refused files of a folder."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    listed: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, str]] = field(default_factory=list)
    refused: list[dict[str, str]] = field(default_factory=list)

    def transact(self, part: str, work: Callable[[], BatchReport], lines: Lines) -> None:
        """Do the work in a transaction, and count its results."""
        with transaction.atomic():
            report = work()
        self.add(part, report)

    def add(self, part: str, report: BatchReport) -> None:
        """Add the counts of a batch."""
        self.counts.setdefault(part, Counter()).update(report.counts)
        if report.holds.total():
            self.counts.setdefault(HOLDS, Counter()).update(report.holds)
        self.listed += report.listed[: LISTED - len(self.listed)]
        told = [{**fault, "place": f"{part}, {fault['place']}"} for fault in report.faults]
        self.faults += told[: SHOWN_FAULTS - len(self.faults)]


def dump_to_file(scope: Scope, path: Path, *, options: DumpOptions, now: datetime, report: Report) -> Manifest:
    """Write the namespace to a file that only its owner may read, completely or not at all.

    Raises FileExistsError, OSError.
    """
    if path.exists():
        raise FileExistsError(path)
    partial = path.with_name(path.name + _PARTIAL)
    # A partial file of another process stays, because it is not deleted below.
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        manifest = write_cube(scope, partial, options=options, cube=describe_cube(scope), now=now, report=report)
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)
    audit.record(
        scope, AuditEvent.CUBE_DUMP, subject=path.name, details={"memories": manifest.parts["memories"].lines}, now=now
    )
    return manifest


def load_from_file(
    scope: Scope,
    path: Path,
    *,
    options: LoadOptions,
    dry_run: bool,
    clock: Callable[[], datetime],
    report: Report,
) -> LoadOutcome:
    """Load a file, each batch in a transaction; data that were loaded before are found to exist.

    Raises UnreadableImport.
    """
    outcome = LoadOutcome()
    if memtensor.is_folder(path):
        return _take_in_folder(scope, path, outcome, dry_run=dry_run, clock=clock, report=report)
    reader = open_cube(path)
    check_sender(reader, options)
    reader.verify()
    ids = choose_ids(scope, reader, options.ids)
    loader = CubeLoader(LoadContext(scope, reader, options, ids=ids, dry_run=dry_run))
    steps = options.steps_of(reader)
    done, total = 0, count_lines(reader, steps)
    for step in steps:
        for batch in in_batches(reader, step, after=0):
            store_batch(loader, step, batch, now=clock(), transact=partial(outcome.transact, part_of(step)))
            done += len(batch)
            report(done, total)
    if not dry_run:
        details = {"counts": outcome.counts, "signature": reader.signature.value}
        audit.record(scope, AuditEvent.CUBE_LOAD_FINISH, subject=path.name, details=details, now=clock())
    return outcome


def name_in_file(path: Path, *, options: LoadOptions) -> str:
    """Return the namespace that the file comes from. Raises UnreadableImport for a file that is refused."""
    if memtensor.is_folder(path):
        return str(memtensor.describe(path)["cube"].get("id") or memtensor.ORIGIN)
    reader = open_cube(path)
    check_sender(reader, options)
    reader.verify()
    return reader.manifest.namespace


def _take_in_folder(
    scope: Scope,
    path: Path,
    outcome: LoadOutcome,
    *,
    dry_run: bool,
    clock: Callable[[], datetime],
    report: Report,
) -> LoadOutcome:
    outcome.refused = memtensor.describe(path)["refused"]
    found, done = memtensor.survey(path), 0
    if found.kept_out.counts:
        outcome.add("memories", found.kept_out)
    for batch in in_batches_of_turns(memtensor.read_turns(path)):
        counts = memtensor.preview(scope, batch) if dry_run else memtensor.count(take_in(scope, batch, now=clock()))
        outcome.add("memories", BatchReport(counts=counts))
        done += len(batch)
        report(done, found.turns)
    return outcome
