from __future__ import annotations

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.enums import JobState
from memory.errors import MemosError
from memory.management import arguments
from memory.services.jobs import manage
from memory.types import system_access

ACCESS = system_access("command:jobs")


class Command(BaseCommand):
    help = "Lists background jobs; replays or discards those that failed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        show = verbs.add_parser("list", help="the newest jobs, a line each")
        show.add_argument("--namespace", type=arguments.name)
        show.add_argument("--kind", help="for example condense_session")
        show.add_argument("--state", choices=JobState.values)
        show.add_argument("--limit", type=arguments.whole_number(1, 1_000), default=50, help="default: 50")
        replay = verbs.add_parser("replay", help="queue failed or discarded jobs again, with their input")
        replay.add_argument("ids", nargs="+", type=uuid.UUID, metavar="ID")
        discard = verbs.add_parser("discard", help="take failed or queued jobs out of the way")
        discard.add_argument("ids", nargs="+", type=uuid.UUID, metavar="ID")
        discard.add_argument("--reason", required=True, help="why nobody needs them any more")

    def handle(self, *, verb: str, **options: Any) -> None:
        try:
            if verb == "list":
                self._list(**options)
            for job_id in options.get("ids", ()):
                now = timezone.now()
                if verb == "replay":
                    manage.replay(ACCESS, job_id=job_id, now=now)
                else:
                    manage.discard(ACCESS, job_id=job_id, reason=options["reason"], now=now)
                self.stdout.write(f"{job_id} {'queued' if verb == 'replay' else 'discarded'}")
        except MemosError as error:
            raise CommandError(error.message) from error

    def _list(self, *, namespace: str | None, kind: str | None, state: str | None, limit: int, **_: Any) -> None:
        wanted = manage.JobFilter(namespace=namespace, kind=kind, state=JobState(state) if state else None, limit=limit)
        rows, cursor = manage.list_jobs(ACCESS, wanted=wanted)
        for row in rows:
            progress = f"  {row['progress']['done']}/{row['progress']['total']}" if row["progress"] else ""
            what = " ".join([row["kind"], row["namespace"] or "(system)", *row["subject"]])
            moment = row["finished_at"] or row["started_at"] or row["queued_at"]
            self.stdout.write(f"{row['id']}  {row['state']:<9}  {moment[:19]}  {row['attempts']}×  {what}{progress}")
            if row["error"]:
                self.stdout.write(f"      {row['error']['type']}: {row['error']['message']}")
        if not rows:
            self.stdout.write("There is no such job.")
        if cursor:
            self.stdout.write(f"… and older ones: --limit {limit} shows the newest only.")
