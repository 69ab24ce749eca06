from __future__ import annotations

import json
import uuid
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.enums import ErasureStatus
from memory.errors import MemosError
from memory.management import arguments
from memory.services.erasure import receipts, requests, run
from memory.services.erasure.requests import Target
from memory.services.tenancy.namespaces import scope_of_existing
from memory.types import system_access

ACTOR = "command:erase"


class Command(BaseCommand):
    help = "Forgets memories for good and prints the receipt, as JSON. Exits with 1 unless the erasure is finished."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("namespace")
        target = parser.add_mutually_exclusive_group(required=True)
        target.add_argument("--memory", dest="memories", nargs="+", type=_memory_id, default=[], help="ids of memories")
        target.add_argument("--memories-file", type=Path, help="a file with an id in each line")
        target.add_argument("--session", type=arguments.name, help="all of a session, with its documents")
        target.add_argument("--speaker", type=arguments.name, help="all turns under exactly this name")
        target.add_argument("--whole-namespace", action="store_true", help="all memories; needs --confirm NAMESPACE")
        parser.add_argument("--confirm", default="", help="the namespace's name once more")
        parser.add_argument("--reason", required=True, help="kept on the receipt")
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(
        self,
        *,
        namespace: str,
        memories: list[uuid.UUID],
        memories_file: Path | None,
        session: str | None,
        speaker: str | None,
        whole_namespace: bool,
        confirm: str,
        reason: str,
        dry_run: bool,
        **_: Any,
    ) -> None:
        if whole_namespace and not dry_run and confirm != namespace:
            raise CommandError(f"This erases all memories of {namespace!r}: repeat its name with --confirm.")
        named = tuple(_read_ids(memories_file) if memories_file else memories)
        target = Target(named, session or "", speaker or "", whole_namespace)
        try:
            scope = scope_of_existing(namespace, actor=ACTOR)
            now = timezone.now()
            if dry_run:
                receipt = requests.preview(scope, target=target, reason=reason, now=now)
                self._print(receipt)
                return
            asked = requests.request(scope, target=target, reason=reason, now=now, enqueue=False)
            run.carry_out(namespace_id=scope.namespace_id, erasure_id=asked.id, now=timezone.now, seconds=float("inf"))
            done = receipts.find(system_access(ACTOR), erasure_id=asked.id)
        except MemosError as error:
            raise CommandError(error.message) from error
        self._print(receipts.to_dict(done))
        if done.status != ErasureStatus.FINISHED:
            raise CommandError(
                f"The erasure is {done.status}: {done.error or done.waiting_for} A worker tries what waits again; "
                f"GET /v1/erasures/{done.id} shows the receipt."
            )

    def _print(self, receipt: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(receipt, indent=2, ensure_ascii=False))


def _memory_id(value: str) -> uuid.UUID:
    try:
        return uuid.UUID(value)
    except ValueError:
        raise ArgumentTypeError(f"{value!r} is not the id of a memory, which is a UUID") from None


def _read_ids(file: Path) -> list[uuid.UUID]:
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error
    ids = []
    for number, line in enumerate(lines, start=1):
        if line:
            try:
                ids.append(uuid.UUID(line))
            except ValueError:
                raise CommandError(f"{file}, line {number}: {line[:50]!r} is not a UUID.") from None
    if not ids:
        raise CommandError(f"{file} names no memory.")
    return ids
