"""The base of commands that import files: it shows faults, resumes imports, and reports the result."""

from __future__ import annotations

import hashlib
import shlex
import time
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from memory.errors import MemosError
from memory.management import arguments
from memory.services.ingestion.transcripts import Imported, import_turns
from memory.services.tenancy.empty_namespace import fill_namespace
from memory.text.transcripts import Transcript
from memory.types import NewMemory, system_access

SHOWN_FAULTS = 20


class ImportCommand(BaseCommand):
    """Imports conversations, each into a namespace."""

    noun, nouns = "turn", "turns"
    actor = ""

    def read(self, file: Path) -> bytes:
        """Read the whole file. Raises CommandError."""
        try:
            return file.read_bytes()
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error

    def import_all(self, file: Path, data: bytes, transcript: Transcript, targets: dict[str, str]) -> None:
        """Import the conversations into the namespaces that `targets` maps them to. Raises CommandError."""
        for target in targets.values():
            if len(target) > arguments.MAX_NAME_CHARS:
                raise CommandError(f"The namespace {target!r} has more than {arguments.MAX_NAME_CHARS} characters.")
        source = hashlib.sha256(data).hexdigest()
        total = sum(len(turns) for turns in transcript.conversations.values())
        # disable=None draws the bar only on a terminal.
        with tqdm(total=total, unit=self.noun, desc=file.name, disable=None) as bar:
            for name, turns in transcript.conversations.items():
                self._import(targets[name], turns, source=source, bar=bar)

    def _import(self, namespace: str, turns: list[NewMemory], *, source: str, bar: tqdm) -> None:
        started = time.perf_counter()
        try:
            with fill_namespace(system_access(self.actor), name=namespace) as scope:
                done = import_turns(
                    scope,
                    turns=turns,
                    source=source,
                    clock=timezone.now,
                    progress=lambda imported: _advance(bar, imported),
                )
        except KeyboardInterrupt:
            raise CommandError(
                "Interrupted. What is imported so far is kept: the same command goes on.", returncode=130
            ) from None
        except MemosError as error:
            raise CommandError(error.message) from error
        seconds = time.perf_counter() - started
        with bar.external_write_mode():
            self._summarise(namespace, turns, done, seconds)

    def _summarise(self, namespace: str, turns: list[NewMemory], done: Imported, seconds: float) -> None:
        sessions = len({turn.session for turn in turns})
        read = _pluralise(len(turns), self.noun, self.nouns)
        self.stdout.write(
            f"{namespace}: {read} in {_pluralise(sessions, 'session', 'sessions')} "
            f"({done.new} new, {done.present} there already), "
            f"{seconds:.1f} s, {done.new / max(seconds, 1e-3):.0f} new {self.nouns}/s"
        )
        if done.gone:
            self.stdout.write(
                f"  {done.gone} of an earlier import were deleted since and stay so: import into another namespace to "
                "have them again."
            )
        if done.kept_out:
            self.stdout.write(f"  {done.kept_out} were kept out by the gate: GET /v1/quarantine shows them and why")
        if done.degraded:
            self.stdout.write(
                f"  not complete yet: {', '.join(sorted(done.degraded))} (manage.py doctor names the fix)"
            )
        if done.new or done.present:
            self.stdout.write(f'  try:  manage.py ask {shlex.quote(namespace)} "…"')

    def report_faults(self, file: Path, transcript: Transcript, *, skip_bad: bool) -> None:
        """List the turns that cannot be read. Raises CommandError unless `skip_bad` leaves them out."""
        if not transcript.faults:
            return
        listed = "\n".join(f"  {file}: {fault}" for fault in transcript.faults[:SHOWN_FAULTS])
        if len(transcript.faults) > SHOWN_FAULTS:
            listed += f"\n  … and {len(transcript.faults) - SHOWN_FAULTS} more"
        unread = _pluralise(sum(fault.turns for fault in transcript.faults), self.noun, self.nouns)
        if not skip_bad:
            raise CommandError(f"Nothing was imported, {unread} cannot be read (--skip-bad leaves them out):\n{listed}")
        self.stderr.write(f"Left out, {unread} that cannot be read:\n{listed}")


def _pluralise(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _advance(bar: tqdm, turns: int) -> None:
    bar.update(turns)
