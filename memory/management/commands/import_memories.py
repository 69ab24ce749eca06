from __future__ import annotations

import shlex
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from memory.enums import GateDecision, ImportFormat
from memory.errors import MemosError
from memory.management import arguments
from memory.services.imports.detect import Recognised, recognise
from memory.services.imports.survey import ImportSurvey, list_turns, look_over, preview
from memory.services.imports.take_in import ImportCounts, in_batches, take_in
from memory.services.tenancy.empty_namespace import fill_namespace
from memory.services.tenancy.namespaces import existing_scope
from memory.types import Scope, system_access

AUTO = "auto"
_PREVIEW_SECONDS = 600.0


class Command(BaseCommand):
    help = (
        "Remembers the conversations or memories that another program exported: ChatGPT, Claude, Gemini (the zip or "
        "the file in it), mem0, hindsight, PAM 1.0, or lines of `date - memory`. What was imported before, from "
        "whichever file, is not imported again; an import that was interrupted goes on when it is run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--from",
            dest="origin",
            choices=[AUTO, *ImportFormat.values],
            default=AUTO,
            help="where it comes from (default: told by its content)",
        )
        parser.add_argument("--namespace", type=arguments.name, help="where it goes (default: named after --from)")
        parser.add_argument("--speaker", type=arguments.name, help="who said what the user said")
        parser.add_argument("--preview", action="store_true", help="only say what would be imported")
        parser.add_argument("--skip-bad", action="store_true", help="leave out what cannot be read, and say how much")

    def handle(
        self,
        *,
        file: Path,
        origin: str,
        namespace: str | None,
        speaker: str | None,
        preview: bool,
        skip_bad: bool,
        **_: Any,
    ) -> None:
        try:
            recognised = recognise(file, format=None if origin == AUTO else ImportFormat(origin))
            name = namespace or recognised.format.value
            if preview:
                self._preview(file, recognised, name=name, speaker=speaker or "")
            else:
                self._import(file, recognised, name=name, speaker=speaker or "", skip_bad=skip_bad)
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error
        except KeyboardInterrupt:
            raise CommandError(
                "Interrupted. What is imported so far is kept: the same command goes on.", returncode=130
            ) from None
        except MemosError as error:
            raise CommandError(f"{file}: {error.message}") from error

    def _preview(self, file: Path, recognised: Recognised, *, name: str, speaker: str) -> None:
        access = system_access("command:import_memories")
        # A namespace that does not exist yet has the default policy.
        scope = existing_scope(access, name=name) or Scope(0, name, access.actor)
        survey = preview(scope, recognised, speaker=speaker, seconds=_PREVIEW_SECONDS)
        self._describe(file, survey)
        stopped = survey.gate[GateDecision.QUARANTINE] + survey.gate[GateDecision.REJECT]
        first = "" if survey.judged == survey.turns else f" the first {survey.judged}"
        self.stdout.write(
            f"  of{first or ' these'}, {survey.present} came before into {name}; the gate would keep {stopped} out "
            f"and take marks for secrets into {survey.gate[GateDecision.ACCEPT_REDACTED]}"
        )
        self.stdout.write("  nothing was imported: leave out --preview to do it")

    def _import(self, file: Path, recognised: Recognised, *, name: str, speaker: str, skip_bad: bool) -> None:
        survey = look_over(recognised)
        self._check(file, survey, skip_bad=skip_bad)
        counts, started = ImportCounts(), time.perf_counter()
        # disable=None draws the bar only on a terminal.
        with (
            fill_namespace(system_access("command:import_memories"), name=name) as scope,
            tqdm(total=survey.turns, unit="turn", desc=file.name, disable=None) as bar,
        ):
            for batch in in_batches(list_turns(recognised, speaker=speaker)):
                counts.add(take_in(scope, batch, now=timezone.now()))
                bar.update(len(batch))
        seconds = time.perf_counter() - started
        self._describe(file, survey)
        self._summarise(name, counts, seconds)

    def _check(self, file: Path, survey: ImportSurvey, *, skip_bad: bool) -> None:
        if survey.unreadable:
            listed = "\n".join(f"  {file}: {fault['place']}: {fault['reason']}" for fault in survey.faults)
            if (more := survey.unreadable - len(survey.faults)) > 0:
                listed += f"\n  … and {more} more"
            if not skip_bad:
                raise CommandError(
                    f"Nothing was imported, {survey.unreadable} cannot be read (--skip-bad leaves them out):\n{listed}"
                )
            self.stderr.write(f"Left out, {survey.unreadable} that cannot be read:\n{listed}")
        if not survey.turns:
            raise CommandError(f"{file} holds nothing to import.")

    def _describe(self, file: Path, survey: ImportSurvey) -> None:
        dates = f", {survey.first_at:%Y-%m-%d} to {survey.last_at:%Y-%m-%d}" if survey.first_at else ""
        self.stdout.write(
            f"{file.name}: {survey.format.label}, {_pluralise(survey.turns, 'turn')} in "
            f"{_pluralise(survey.conversations, 'conversation')}{dates}"
        )
        for note in survey.notes:
            self.stdout.write(f"  {note}")
        if survey.left_out:
            reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(survey.left_out.items()))
            self.stdout.write(f"  left out: {reasons} (of {_pluralise(survey.messages, 'message')})")
        if survey.parts_left_out:
            parts = ", ".join(f"{count} {kind}" for kind, count in sorted(survey.parts_left_out.items()))
            self.stdout.write(f"  parts left out: {parts}")
        if not survey.complete:
            self.stdout.write("  the time for a preview was over before the end of the file")

    def _summarise(self, name: str, counts: ImportCounts, seconds: float) -> None:
        self.stdout.write(
            f"{name}: {counts.new} new, {counts.present} there already, {seconds:.1f} s, "
            f"{counts.new / max(seconds, 1e-3):.0f} new turns/s"
        )
        if counts.gone:
            self.stdout.write(f"  {counts.gone} of an earlier import were deleted since, and stay so")
        if kept_out := counts.quarantined + counts.rejected:
            self.stdout.write(f"  {kept_out} were kept out by the gate: GET /v1/quarantine shows them and why")
        if counts.degraded:
            codes = ", ".join(sorted(counts.degraded))
            self.stdout.write(f"  not complete yet: {codes} (manage.py doctor names the fix)")
        if counts.new or counts.present:
            self.stdout.write(f'  try:  manage.py ask {shlex.quote(name)} "…"')


def _pluralise(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
