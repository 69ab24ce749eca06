from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.services.retention import sweep
from memory.services.retention.sweep import SweepTally, Swept


class Command(BaseCommand):
    help = (
        "Archives what has faded or expired and deletes old packs, evaluations and quarantined texts, as the policies "
        "say. The worker does it every hour; interrupted, the next sweep goes on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count, write nothing")
        parser.add_argument(
            "--accept-clock", action="store_true", help="the clock is right: sweep although it has jumped"
        )

    def handle(self, *, dry_run: bool, accept_clock: bool, **_: Any) -> None:
        if dry_run:
            self._show(sweep.dry_run(now=timezone.now()), "would be")
            return
        swept = sweep.sweep(actor="command:sweep", now=timezone.now(), accept_clock=accept_clock)
        if swept.paused:
            raise CommandError(
                f"Nothing was swept: {swept.paused}. If the clock is right now, run: manage.py sweep --accept-clock"
                if "clock" in swept.paused
                else f"Nothing was swept: {swept.paused}."
            )
        self._show(swept, "were")

    def _show(self, swept: Swept, verb: str) -> None:
        for name, tally in swept.namespaces.items():
            self.stdout.write(f"{name}: {_sentence(tally, verb)}")
        for name, problem in swept.skipped.items():
            self.stdout.write(f"{name}: left out, its policy contradicts itself: {problem}")
        self.stdout.write(f"together: {_sentence(swept.total, verb)}")


def _sentence(tally: SweepTally, verb: str) -> str:
    rated = f", {tally.rated} rated anew" if tally.rated else ""
    return (
        f"{tally.decayed} decayed and {tally.expired} expired memories {verb} archived, "
        f"{tally.packs} packs, {tally.evaluations} evaluations and {tally.quarantined} quarantined texts deleted{rated}"
    )
