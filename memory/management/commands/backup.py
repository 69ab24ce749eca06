from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.errors import MemosError
from memory.management import arguments
from memory.services.backup.create import Made, make, prune

ACTOR = "command:backup"


class Command(BaseCommand):
    help = (
        "Writes one consistent file of the whole database, also while the server runs; encrypted when MEMOS_BACKUP_KEY "
        "(or MEMOS_BACKUP_KEY_FILE) is set. Exit status: 1 it failed and left no file, 5 what it restores is not what "
        "was backed up."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--to", type=Path, metavar="FOLDER", help="default: MEMOS_BACKUP_DIR")
        parser.add_argument(
            "--verify",
            action="store_true",
            help="restore it into a scratch database, compare the counts of every table and verify the audit chain",
        )
        parser.add_argument(
            "--keep", type=arguments.whole_number(1), metavar="N", help="delete all but the N newest in the folder"
        )
        parser.add_argument(
            "--keep-days", type=arguments.whole_number(1, 36_500), metavar="D", help="delete those older than D days"
        )
        parser.add_argument("--json", action="store_true", help="print the result as one JSON object")

    def handle(
        self, *, to: Path | None, verify: bool, keep: int | None, keep_days: int | None, json: bool, **_: Any
    ) -> None:
        folder = to or (Path(settings.MEMOS_BACKUP_DIR) if settings.MEMOS_BACKUP_DIR else None)
        if folder is None:
            raise CommandError("Name a folder (--to FOLDER), or set MEMOS_BACKUP_DIR.")
        now = timezone.now()
        try:
            made = make(folder, key=settings.MEMOS_BACKUP_KEY, verified=verify, actor=ACTOR, now=now)
            gone = prune(folder, keep=keep, keep_days=keep_days, now=now)
        except KeyboardInterrupt:
            raise CommandError("Interrupted; no file is left.", returncode=130) from None
        except MemosError as error:
            raise CommandError(error.message, returncode=getattr(error, "returncode", 1)) from error
        except OSError as error:
            raise CommandError(f"The backup is made; an old one could not be deleted: {error}") from error
        self._print(made, gone, as_json=json)

    def _print(self, made: Made, gone: list[Path], *, as_json: bool) -> None:
        if as_json:
            found = {
                "path": str(made.path),
                "bytes": made.size,
                "sha256": made.digest,
                "encrypted": made.encrypted,
                "rows": made.rows,
                "seconds": round(made.seconds, 2),
                "verified_events": made.events,
                "verify_seconds": round(made.verify_seconds, 2) if made.verify_seconds is not None else None,
                "deleted": [path.name for path in gone],
            }
            self.stdout.write(json.dumps(found))
            return
        write = self.stdout.write
        write(f"{made.path}: {made.size / 2**20:,.1f} MiB, {made.rows:,} rows, in {made.seconds:.1f} s")
        write(f"sha256 {made.digest}")
        if made.verify_seconds is not None:
            write(
                f"verified in {made.verify_seconds:.1f} s: every table has its rows, {made.events:,} audit events hold"
            )
        if gone:
            write(f"deleted {len(gone)} older: {', '.join(path.name for path in gone)}")
        write(
            "Keep beside it, elsewhere: MEMOS_SECRET_KEY (API keys, logins and the ledger's hashes need it), the "
            f"{'MEMOS_BACKUP_KEY and the ' if made.encrypted else ''}providers' keys. The erasure ledger is "
            f"{settings.MEMOS_ERASURE_LEDGER}."
        )
        if not made.encrypted:
            write("It is not encrypted: MEMOS_BACKUP_KEY is not set.")
