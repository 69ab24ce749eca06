from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.core.management.color import no_style
from django.utils import timezone

from memory.schedules import SCHEDULES
from memory.services.diagnosis import FAIL, OK, WARN, diagnose
from memory.services.index import marks
from memory.services.index.recount import recount


class Command(BaseCommand):
    help = "Looks at everything MemOS needs and names the fix of what is wrong. Exits with 1 when a check fails."
    # Faults that the system checks find belong in the report, so they must not prevent the command from running.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--recount", action="store_true", help="first set right what is counted and marked; writers wait meanwhile"
        )

    def handle(self, *, recount: bool, **_: Any) -> None:
        if recount:
            self._recount()
        style = self.style if self.stdout.isatty() else no_style()
        colours = {OK: style.SUCCESS, WARN: style.WARNING, FAIL: style.ERROR}
        counts = dict.fromkeys(colours, 0)
        for finding in diagnose(schedules=[entry.name for entry in SCHEDULES], now=timezone.now()):
            counts[finding.status] += 1
            self.stdout.write(f"{colours[finding.status](f'{finding.status:<4}')}  {finding.name} — {finding.what}")
            if finding.fix:
                self.stdout.write(f"      fix: {finding.fix}")
            self.stdout.flush()
        self.stdout.write(f"{counts[OK]} ok, {counts[WARN]} warnings, {counts[FAIL]} failures")
        if counts[FAIL]:
            sys.exit(1)

    def _recount(self) -> None:
        for wrong in recount():
            self.stdout.write(
                f"{wrong.namespace}: {wrong.counters[0]} memories became {wrong.rows[0]}, "
                f"{wrong.counters[1]} terms became {wrong.rows[1]}"
            )
        if marked := marks.correct_marks():
            self.stdout.write(f"{marked} memories were wrongly said to have a vector, or to have none")
