"""Carries dumps and loads out. A batch of a load and its progress are stored in one transaction: an interrupted load
continues where it ended. An interrupted dump begins again."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime
from itertools import chain
from pathlib import Path

from django.db import transaction
from django.db.models import Q

from memory.enums import CubeIds, CubeSignature
from memory.models import Cube, CubeFile, CubeFilePart, Erasure
from memory.services.cube_files import memtensor
from memory.services.cube_files.archive import CubeReader, open_cube
from memory.services.cube_files.dump import DumpOptions, write_cube
from memory.services.cube_files.load import HOLDS, LISTED, CubeLoader, in_batches, store_batch
from memory.services.cube_files.load_context import BatchReport, Lines, LoadContext
from memory.services.cube_files.load_options import LoadOptions, check_sender, choose_ids, count_lines, part_of
from memory.services.cube_files.requests import JOB_SECONDS, end, name_of, store_pieces
from memory.services.imports.disk import write_file
from memory.services.imports.source import UnreadableImport
from memory.services.imports.take_in import in_batches as in_batches_of_turns
from memory.services.imports.take_in import take_in
from memory.services.imports.uploads import read_used
from memory.services.jobs import queue, runner
from memory.spool import open_folder
from memory.types import Scope

Clock = Callable[[], datetime]

SHOWN_FAULTS = 20
_MAX_PROBLEM_CHARS = 500
_DUMP_TRIES = 3
_FILE_GONE = "The file is there no longer: send it again."
# Entries in a load's options: which ids it uses, and the steps by which it counts.
_RESOLVED, _STEPS = "ids_of_load", "steps_of_load"


class CubeFileStopped(Exception):
    """It was cancelled, or another worker continues it: the present batch must not be stored."""


def carry_out_dump(*, namespace_id: int, file_id: uuid.UUID, now: Clock) -> int:
    """Write the file of a dump; return its number of bytes. A finished dump stays as it is."""
    row = CubeFile.objects.filter(namespace_id=namespace_id, id=file_id).first()
    if row is None or row.finished_at is not None:
        return 0
    scope = Scope(namespace_id, name_of(row), row.actor, str(row.id))
    with suppress(CubeFileStopped):
        for _ in range(_DUMP_TRIES):
            if (size := _dump_once(scope, row, now=now)) is not None:
                return size
        with transaction.atomic():
            stored = _lock(row)
            stored.problem = "Something of the namespace was erased while it was written, each time. Dump it again."
            end(stored, now=now())
    return 0


def carry_out_load(*, namespace_id: int, file_id: uuid.UUID, now: Clock, seconds: float = JOB_SECONDS / 2) -> int:
    """Load the rest of the file; return how many lines were processed. After `seconds` the rest is queued.

    A finished load stays as it is.
    """
    deadline = time.monotonic() + seconds
    row = CubeFile.objects.filter(namespace_id=namespace_id, id=file_id).first()
    if row is None or row.finished_at is not None:
        return 0
    progress = LoadProgress(row)
    with suppress(CubeFileStopped):
        try:
            with _file_of(row) as path:
                is_over = progress.load_all(path, now=now, deadline=deadline)
            if is_over:
                progress.finish(now=now())
            else:
                queue.enqueue(queue.LOAD_CUBE, namespace_id, str(file_id), seconds=JOB_SECONDS)
        except UnreadableImport as refusal:
            progress.finish(now=now(), problem=refusal.message)
    return progress.done - row.done


def describe_cube(scope: Scope) -> dict:
    """Describe the namespace's cube for the manifest; empty if it is not a cube."""
    cube = Cube.objects.in_scope(scope).first()
    if cube is None:
        return {}
    return {"id": str(cube.pk), "name": cube.name, "description": cube.description, "kinds": list(cube.kinds)}


class LoadProgress:
    """The progress of a load, stored with each batch unless another worker has stored a batch meanwhile."""

    def __init__(self, row: CubeFile) -> None:
        self.done = row.done
        self._row = row
        self._scope = Scope(row.namespace_id, name_of(row), row.actor, str(row.id))
        self._options = LoadOptions(
            **{name: value for name, value in row.options.items() if name in LoadOptions.__slots__ and name != "ids"},
            ids=CubeIds(row.options["ids"]),
        )

    def load_all(self, path: Path, *, now: Clock, deadline: float) -> bool:
        """Load the rest; return False when the time is over before the end. Raises CubeFileStopped,
        UnreadableImport."""
        if memtensor.is_folder(path):
            return self._take_in_folder(path, now=now, deadline=deadline)
        reader = open_cube(path)
        check_sender(reader, self._options)
        reader.verify()
        steps = self._options.steps_of(reader)
        self._begin(reader, steps)
        ids = CubeIds(self._row.options[_RESOLVED])
        loader = CubeLoader(LoadContext(self._scope, reader, self._options, ids=ids, dry_run=self._row.dry_run))
        first = steps.index(self._row.part) if self._row.part in steps else 0
        for step in steps[first:]:
            after = self._row.line if step == self._row.part else 0
            for batch in in_batches(reader, step, after=after):
                self._load_batch(loader, step, batch, now=now())
                runner.report(self.done, self._row.total)
                if time.monotonic() > deadline:
                    return False
        return True

    def finish(self, *, now: datetime, problem: str = "") -> None:
        """Finish the load."""
        with transaction.atomic():
            stored = _lock(self._row)
            stored.problem = problem[:_MAX_PROBLEM_CHARS]
            end(stored, now=now)

    def _begin(self, reader: CubeReader, steps: list[str]) -> None:
        """Store the total, the steps and the choice of ids, for all runs of the load.

        A load that was begun with other steps, before an upgrade, begins again: its loaded data exist already.
        """
        if self._row.options.get(_STEPS) == steps:
            return
        ids = self._row.options.get(_RESOLVED) or choose_ids(self._scope, reader, self._options.ids).value
        with transaction.atomic():
            stored = self._lock_mine()
            stored.options = {**stored.options, _RESOLVED: ids, _STEPS: steps}
            stored.total = count_lines(reader, steps)
            stored.part, stored.line, stored.done = "", 0, 0
            stored.counts, stored.listed, stored.faults = {}, [], []
            stored.save()
        self._row, self.done = stored, stored.done

    def _load_batch(self, loader: CubeLoader, step: str, batch: Lines, *, now: datetime) -> None:
        def transact(work: Callable[[], BatchReport], lines: Lines) -> None:
            with transaction.atomic():
                stored = self._lock_mine()
                _add(stored, part_of(step), work())
                stored.part, stored.line = step, lines[-1][0]
                stored.done += len(lines)
                stored.save()
            self._row, self.done = stored, stored.done

        store_batch(loader, step, batch, now=now, transact=transact)

    def _take_in_folder(self, path: Path, *, now: Clock, deadline: float) -> bool:
        part = "memories"
        if self._row.part != part:
            self._begin_folder(part, memtensor.survey(path))
        turns = memtensor.read_turns(path)
        for batch in in_batches_of_turns(turn for number, turn in enumerate(turns, 1) if number > self._row.line):

            def note(counts: Counter[str]) -> None:
                stored = self._lock_mine()
                _add(stored, part, BatchReport(counts=counts))
                stored.part, stored.line = part, stored.line + counts.total()
                stored.done += counts.total()
                stored.save()
                self._row, self.done = stored, stored.done

            if self._row.dry_run:
                with transaction.atomic():
                    note(memtensor.preview(self._scope, batch))
            else:
                take_in(self._scope, batch, now=now(), record=lambda counts: note(memtensor.count(counts)))
            runner.report(self.done, max(self.done, self._row.total))
            if time.monotonic() > deadline:
                return False
        return True

    def _begin_folder(self, part: str, found: memtensor.FolderSurvey) -> None:
        """Store the total, and the entries of the folder that are not loaded."""
        with transaction.atomic():
            stored = self._lock_mine()
            _add(stored, part, found.kept_out)
            stored.part, stored.total = part, found.turns
            stored.save()
        self._row = stored

    def _lock_mine(self) -> CubeFile:
        stored = _lock(self._row)
        if (stored.part, stored.line) != (self._row.part, self._row.line):
            raise CubeFileStopped
        return stored


def _dump_once(scope: Scope, row: CubeFile, *, now: Clock) -> int | None:
    """Write and store the file; return None when data that it may contain were erased meanwhile."""
    began = now()
    with open_folder() as folder:
        path = folder / "cube"
        options = DumpOptions(**row.options)
        manifest = write_cube(scope, path, options=options, cube=describe_cube(scope), now=began, report=runner.report)
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        with transaction.atomic():
            erasures = Erasure.objects.in_scope(scope)
            # An erasure that is under way ends after this, and deletes the file then.
            list(erasures.filter(finished_at=None).order_by("id").select_for_update())
            stored = _lock(row)
            store_pieces(stored, path)
            # Check after the file is stored: a later erasure finds the file and deletes it.
            if erasures.filter(Q(created_at__gte=began) | Q(finished_at__gte=began)).exists():
                transaction.set_rollback(True)
                return None
            stored.size, stored.digest = path.stat().st_size, digest
            stored.manifest, stored.signature = asdict(manifest), CubeSignature.OWN.value
            stored.done = stored.total = manifest.parts["memories"].lines
            end(stored, now=now())
        return stored.size


def _add(stored: CubeFile, part: str, report: BatchReport) -> None:
    for place, own in ((part, report.counts), (HOLDS, report.holds)):
        counts = Counter(stored.counts.get(place, {}))
        counts.update(own)
        if place == part or counts.total():
            stored.counts = {
                **stored.counts,
                place: {name: count for name, count in sorted(counts.items()) if count > 0},
            }
    stored.listed = [*stored.listed, *report.listed[: LISTED - len(stored.listed)]]
    told = [{**fault, "place": f"{part}, {fault['place']}"} for fault in report.faults]
    stored.faults = [*stored.faults, *told[: SHOWN_FAULTS - len(stored.faults)]]


def _lock(row: CubeFile) -> CubeFile:
    own = CubeFile.objects.filter(namespace_id=row.namespace_id, id=row.id)
    stored = own.select_for_update().first()
    if stored is None or stored.finished_at is not None:
        raise CubeFileStopped
    return stored


@contextmanager
def _file_of(row: CubeFile) -> Iterator[Path]:
    """Write the file to disk while it is loaded; yield its path. Raises UnreadableImport when it was erased."""
    pieces = CubeFilePart.objects.filter(namespace_id=row.namespace_id, file_id=row.id).order_by("number")
    sent = pieces.values_list("data", flat=True).iterator(chunk_size=8)
    with open_folder() as folder:
        path = folder / "cube"
        write_file(path, chain(sent, read_used(row.namespace_id, by=row.id)), size=row.size)
        if path.stat().st_size != row.size:
            raise UnreadableImport(_FILE_GONE)
        with path.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != row.digest:
                raise UnreadableImport("The file was changed after the load of it was asked for: send it again.")
        yield path
