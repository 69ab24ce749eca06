from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.errors import MemosError
from memory.services.backup.restore import RestoreTerms, restore

ACTOR = "command:restore"


class Command(BaseCommand):
    help = (
        "Puts the database of a backup in the place of the present one, without what was erased since it was made. "
        "Stop the web server and the worker first. Exit status: 1 it failed, 3 the file is damaged or another key's, "
        "4 refused, 5 it does not restore what was backed up; the present database is as it was in each case."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--trial", action="store_true", help="do all of it in a scratch database, and drop that")
        parser.add_argument("--replace", action="store_true", help="the present database may be lost")
        parser.add_argument("--keep-former", action="store_true", help="keep the replaced database, under another name")
        parser.add_argument(
            "--ledger", type=Path, metavar="FILE", help="the erasure ledger (default: MEMOS_ERASURE_LEDGER)"
        )
        parser.add_argument(
            "--without-ledger", action="store_true", help="nothing was erased since: restore without the ledger"
        )
        parser.add_argument(
            "--other-secret", action="store_true", help="MEMOS_SECRET_KEY is not the one the backup was made under"
        )

    def handle(
        self,
        *,
        file: Path,
        trial: bool,
        replace: bool,
        keep_former: bool,
        ledger: Path | None,
        without_ledger: bool,
        other_secret: bool,
        **_: Any,
    ) -> None:
        terms = RestoreTerms(replace, without_ledger, other_secret, trial, keep_former)
        try:
            done = restore(
                file, key=settings.MEMOS_BACKUP_KEY, ledger_path=ledger, terms=terms, actor=ACTOR, now=timezone.now
            )
        except KeyboardInterrupt:
            raise CommandError("Interrupted; the database is as it was.", returncode=130) from None
        except MemosError as error:
            raise CommandError(error.message, returncode=getattr(error, "returncode", 1)) from error
        write = self.stdout.write
        write(f"{'Would restore' if trial else 'Restored'} {file} of {done.created_at:%Y-%m-%d %H:%M:%S} UTC")
        write(f"{done.rows:,} rows; {done.events:,} audit events hold")
        write(
            f"erased since and erased again: {done.replayed.erasures} erasures, {done.replayed.memories:,} memories; "
            f"{done.replayed.revoked_keys} API keys revoked again"
        )
        if done.former:
            write(f"The replaced database is kept as {done.former}: erasures do not reach it. DROP DATABASE ends it.")
        if not trial:
            write("All staff must sign in again. Start MemOS: make run, or the web server and the worker.")
