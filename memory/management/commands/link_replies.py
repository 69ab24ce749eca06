from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.errors import MemosError
from memory.management import arguments
from memory.models import Namespace
from memory.services.erasure.repair import ERASED, LINKED, repair_replies
from memory.services.tenancy.namespaces import scope_of_existing

COMMAND = "command:link_replies"


class Command(BaseCommand):
    help = (
        "Links replies that an earlier version remembered to the memories that they quote, and erases those that quote "
        "what was erased or what another namespace holds. Run it once after an upgrade; it may be run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("namespace", nargs="?", type=arguments.name, help="all of them, when it is left out")
        parser.add_argument("--dry-run", action="store_true", help="only count; change nothing")

    def handle(self, *, namespace: str | None, dry_run: bool, **options: Any) -> None:
        names = [namespace] if namespace else list(Namespace.objects.order_by("name").values_list("name", flat=True))
        failed = False
        for name in names:
            try:
                done = repair_replies(scope_of_existing(name, actor=COMMAND), now=timezone.now(), dry_run=dry_run)
            except MemosError as error:
                failed = True
                self.stderr.write(f"{name}: {error.message}")
                continue
            if done.total():
                self.stdout.write(f"{name}: {done[LINKED]} replies linked, {done[ERASED]} to be erased")
        if failed:
            raise CommandError("Not all namespaces are done: see above, and run it again.")
