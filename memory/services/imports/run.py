"""Imports a file, batch by batch. Each batch and the progress are stored in one transaction: an interrupted run
continues where it ended."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, islice
from pathlib import Path

from django.db import transaction

from memory.enums import ImportFormat
from memory.models import ImportPart, MemoryImport
from memory.services.imports.detect import Recognised, recognise
from memory.services.imports.disk import write_file
from memory.services.imports.requests import JOB_SECONDS, end, name_of
from memory.services.imports.source import UnreadableImport
from memory.services.imports.survey import list_turns, look_over
from memory.services.imports.take_in import ImportCounts, in_batches, take_in
from memory.services.imports.uploads import read_used
from memory.services.jobs import queue, runner
from memory.spool import open_folder
from memory.types import Scope

SLICE_SECONDS = 30.0

_COUNTS = ("new", "present", "gone", "redacted", "quarantined", "rejected")
_MAX_PROBLEM_CHARS = 500
_FILE_GONE = "The file is there no longer: an erasure has taken it away. Send it again."


class ImportStopped(Exception):
    """The import was cancelled, or another worker continues it: the present batch must not be stored."""


def carry_out(
    *, namespace_id: int, import_id: uuid.UUID, now: Callable[[], datetime], seconds: float = JOB_SECONDS / 2
) -> int:
    """Import the rest of the file; return how many turns were processed. After `seconds` the rest is queued.

    A finished import stays as it is.
    """
    deadline = time.monotonic() + seconds
    row = MemoryImport.objects.filter(namespace_id=namespace_id, id=import_id).first()
    if row is None or row.finished_at is not None:
        return 0
    progress = _Progress(row, row.dealt_with)
    try:
        with _file_of(row) as path:
            recognised = recognise(path, format=ImportFormat(row.format))
            if row.dealt_with == 0:
                _survey(row, recognised)
            if not progress.take_all_in(recognised, now=now, deadline=deadline):
                queue.enqueue(queue.IMPORT, namespace_id, str(import_id), seconds=JOB_SECONDS)
                return progress.dealt_with - row.dealt_with
        progress.finish(now=now())
    except UnreadableImport as refusal:
        progress.finish(now=now(), problem=refusal.message)
    except ImportStopped:
        pass
    return progress.dealt_with - row.dealt_with


def _survey(row: MemoryImport, recognised: Recognised) -> None:
    """Count the content of the file, so that the progress has an end."""
    values = look_over(recognised).to_dict()
    row.turns = values["turns"]
    MemoryImport.objects.filter(namespace_id=row.namespace_id, id=row.id).update(**values)


class _Progress:
    """The progress of an import, stored with each batch unless another worker has stored a batch meanwhile."""

    def __init__(self, row: MemoryImport, dealt_with: int) -> None:
        self.dealt_with = dealt_with
        self._row = row
        self._degraded = set(row.degraded)
        # The possible stored values: this one, or the one after the last batch, if that was committed.
        self._known = {dealt_with}

    def take_all_in(self, recognised: Recognised, *, now: Callable[[], datetime], deadline: float) -> bool:
        """Import the rest; return False when the time is over before the end. Raises ImportStopped."""
        row, started = self._row, time.monotonic()
        scope = Scope(row.namespace_id, name_of(row), row.actor, str(row.id))
        for batch in in_batches(islice(list_turns(recognised, speaker=row.speaker), self.dealt_with, None)):
            counts = take_in(scope, batch, now=now(), record=self._write_down)
            self._degraded |= counts.degraded
            self.dealt_with += len(batch)
            runner.report(self.dealt_with, max(self.dealt_with, row.turns))
            # Share the worker rarely, because finding the position again takes seconds in a large file.
            is_time_to_share = time.monotonic() - started > SLICE_SECONDS and runner.do_others_wait()
            if is_time_to_share or time.monotonic() > deadline:
                return False
        return True

    def finish(self, *, now: datetime, problem: str = "") -> None:
        """Finish the import."""
        with transaction.atomic():
            stored = self._lock()
            stored.problem, stored.degraded = problem[:_MAX_PROBLEM_CHARS], sorted(self._degraded)
            end(stored, actor=stored.actor, now=now)

    def _write_down(self, counts: ImportCounts) -> None:
        stored = self._lock()
        self._known = {stored.dealt_with, stored.dealt_with + counts.turns}
        stored.dealt_with += counts.turns
        for name in _COUNTS:
            setattr(stored, name, getattr(stored, name) + getattr(counts, name))
        stored.degraded = sorted(self._degraded)
        stored.save()

    def _lock(self) -> MemoryImport:
        own = MemoryImport.objects.filter(namespace_id=self._row.namespace_id, id=self._row.id)
        stored = own.select_for_update().first()
        if stored is None or stored.finished_at is not None or stored.dealt_with not in self._known:
            raise ImportStopped
        return stored


@contextmanager
def _file_of(row: MemoryImport) -> Iterator[Path]:
    """Write the file to disk while it is imported; yield its path. Raises UnreadableImport when it was erased."""
    parts = ImportPart.objects.filter(namespace_id=row.namespace_id, import_id=row.id).order_by("number")
    sent = parts.values_list("data", flat=True).iterator(chunk_size=8)
    with open_folder() as folder:
        path = folder / "file"
        write_file(path, chain(sent, read_used(row.namespace_id, by=row.id)), size=row.size)
        if path.stat().st_size != row.size:
            raise UnreadableImport(_FILE_GONE)
        yield path
