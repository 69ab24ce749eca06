from __future__ import annotations

import hashlib
import shlex
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from memory.errors import MemosError
from memory.management import arguments
from memory.services.ingestion.transcripts import Imported, import_turns
from memory.services.tenancy.namespaces import scope_for
from memory.text.transcripts import FORMATS, LOCOMO, Transcript, namespaces_of, parse_transcript
from memory.types import NewMemory, system_access

SHOWN_FAULTS = 20


class Command(BaseCommand):
    help = (
        "Remembers the turns of a file: JSON lines, or LoCoMo as published. An import that was interrupted goes on "
        "where it ended when it is run again; a file that is there already adds nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--namespace",
            type=arguments.name,
            help="where it goes; several conversations go to NAMESPACE-<name> (default: locomo-<sample_id>, or what "
            "the JSON lines name, or the file's name)",
        )
        parser.add_argument("--format", choices=["auto", *FORMATS], default="auto")
        parser.add_argument(
            "--session", type=arguments.name, help="where JSON lines go that name no session (default: the file's name)"
        )
        parser.add_argument("--skip-bad", action="store_true", help="leave out what cannot be read, and say how much")

    def handle(
        self, *, file: Path, namespace: str | None, format: str, session: str | None, skip_bad: bool, **_: Any
    ) -> None:
        try:
            data = file.read_bytes()
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error
        own_name = file.stem[: arguments.MAX_NAME_CHARS] or "transcript"
        transcript = parse_transcript(data, format=format, session=session or own_name)
        if session and transcript.format == LOCOMO:
            raise CommandError("--session is for JSON lines: a LoCoMo file names its own sessions.")
        self._report_faults(file, transcript, skip_bad=skip_bad)
        if not transcript.conversations:
            raise CommandError(f"{file} holds no turns.")
        targets = namespaces_of(transcript, wanted=namespace or "", fallback=own_name)
        for target in targets.values():
            if len(target) > arguments.MAX_NAME_CHARS:
                raise CommandError(f"The namespace {target!r} has more than {arguments.MAX_NAME_CHARS} characters.")
        source = hashlib.sha256(data).hexdigest()
        total = sum(len(turns) for turns in transcript.conversations.values())
        # disable=None: a bar is drawn on a terminal only.
        with tqdm(total=total, unit="turn", desc=file.name, disable=None) as bar:
            for name, turns in transcript.conversations.items():
                self._import(targets[name], turns, source=source, bar=bar)

    def _import(self, namespace: str, turns: list[NewMemory], *, source: str, bar: tqdm) -> None:
        started = time.perf_counter()
        try:
            done = import_turns(
                scope_for(system_access("command:import_transcript"), name=namespace),
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
        self.stdout.write(
            f"{namespace}: {_pluralise(len(turns), 'turn')} in {_pluralise(sessions, 'session')} "
            f"({done.new} new, {done.present} there already), "
            f"{seconds:.1f} s, {done.new / max(seconds, 1e-3):.0f} new turns/s"
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
        self.stdout.write(f'  try:  manage.py ask {shlex.quote(namespace)} "…"')

    def _report_faults(self, file: Path, transcript: Transcript, *, skip_bad: bool) -> None:
        if not transcript.faults:
            return
        listed = "\n".join(f"  {file}: {fault}" for fault in transcript.faults[:SHOWN_FAULTS])
        if len(transcript.faults) > SHOWN_FAULTS:
            listed += f"\n  … and {len(transcript.faults) - SHOWN_FAULTS} more"
        unread = _pluralise(sum(fault.turns for fault in transcript.faults), "turn")
        if not skip_bad:
            raise CommandError(f"Nothing was imported, {unread} cannot be read (--skip-bad leaves them out):\n{listed}")
        self.stderr.write(f"Left out, {unread} that cannot be read:\n{listed}")


def _pluralise(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _advance(bar: tqdm, turns: int) -> None:
    bar.update(turns)
