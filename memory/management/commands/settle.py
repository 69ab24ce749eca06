from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from memory.errors import MemosError
from memory.management import arguments
from memory.services.memories import settle_preview
from memory.services.memories.retire import ACTOR
from memory.services.memories.settle import settle_now
from memory.services.memories.settle_preview import Would
from memory.services.tenancy.namespaces import scope_of_existing
from memory.types import system_access

COMMAND = "command:settle"
WORDS = {
    "retire": "would leave search",
    "supersede": "would be superseded",
    "link": "would stay, linked",
    "review": "would wait for a person",
}


class Command(BaseCommand):
    help = (
        "Compares a namespace's memories with what was said before them, as the worker does every minute: now, only to "
        "list what that would do (--dry-run), or takes back what it did (--undo)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("namespace", nargs="?", type=arguments.name)
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--dry-run", action="store_true", help="only list pairs, words, reasons; change nothing")
        what.add_argument(
            "--undo", type=_moment, metavar="SINCE", help="take back, for good, what was done since then (ISO 8601)"
        )
        parser.add_argument("--everything", action="store_true", help="also turns that were compared before")
        parser.add_argument("--reason", default="", help="with --undo: kept in the audit log of every memory")
        parser.add_argument("--json", action="store_true", help="print everything as one JSON object")

    def handle(
        self,
        *,
        namespace: str | None,
        dry_run: bool,
        undo: datetime | None,
        everything: bool,
        reason: str,
        **options: Any,
    ) -> None:
        if namespace is None and undo is None:
            raise CommandError("Name the namespace: manage.py settle NAMESPACE. Only --undo SINCE goes through all.")
        if undo is not None and everything:
            raise CommandError("--undo takes back what was done SINCE: name an earlier moment instead of --everything.")
        try:
            if undo is not None:
                self._undo(namespace, since=undo, reason=reason, as_json=options["json"])
            elif dry_run:
                self._list(namespace or "", everything=everything, as_json=options["json"])
            else:
                scope = scope_of_existing(namespace or "", actor=ACTOR)
                turns = settle_now(scope, everything=everything, now=timezone.now())
                shown = json.dumps({"turns": turns}) if options["json"] else f"{turns} turns were compared."
                self.stdout.write(shown)
        except MemosError as error:
            raise CommandError(error.message) from error

    def _list(self, namespace: str, *, everything: bool, as_json: bool) -> None:
        scope = scope_of_existing(namespace, actor=COMMAND)
        found: list[Would] = []
        for one in settle_preview.would_do(scope, everything=everything, now=timezone.now()):
            found.append(one)
            if not as_json:
                self._show(one)
        if as_json:
            self.stdout.write(json.dumps({"would": [one.to_dict() for one in found]}, ensure_ascii=False))
            return
        counts = Counter(one.what for one in found)
        said = ", ".join(f"{counts[what]} {words}" for what, words in WORDS.items() if counts[what])
        self.stdout.write(f"{said or 'Nothing would change'}. Nothing was changed.")

    def _show(self, one: Would) -> None:
        self.stdout.write(f"{one.memory_id}  {WORDS[one.what]}  ({one.confidence:.2f} sure)  {one.reason}")
        self.stdout.write(f"    old: {_line(one.old_words)}")
        self.stdout.write(f"    new: {_line(one.new_words)}  ({one.newer_id})")

    def _undo(self, namespace: str | None, *, since: datetime, reason: str, as_json: bool) -> None:
        if namespace is not None:
            scope_of_existing(namespace, actor=COMMAND)
        undone = settle_preview.undo_since(
            system_access(COMMAND),
            namespace=namespace,
            since=since,
            reason=reason or f"settle --undo {since.isoformat()}",
            now=timezone.now(),
        )
        if as_json:
            self.stdout.write(json.dumps(undone.to_dict()))
            return
        self.stdout.write(
            f"{undone.memories} memories hold again: {undone.statements} parts that were retired, {undone.superseded} "
            f"memories that were superseded. {undone.links} links were removed."
        )


def _line(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= 200 else f"{shown[:199]}…"


def _moment(value: str) -> datetime:
    try:
        found = parse_datetime(value)
        if found is None and (day := parse_date(value)) is not None:
            found = datetime(day.year, day.month, day.day)
    except ValueError:
        found = None
    if found is None:
        raise ArgumentTypeError(f"{value!r} is no moment: write it as 2026-05-08 or 2026-05-08T14:30+02:00")
    return found if found.tzinfo else found.replace(tzinfo=UTC)
