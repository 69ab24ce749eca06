from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.errors import NotFound
from memory.management.arguments import name
from memory.services.entities import extract
from memory.services.tenancy.namespaces import scope_of_existing


class Command(BaseCommand):
    help = (
        "Reads names and relations in the memories that came or changed, as the worker does every minute. Interrupted, "
        "it goes on where it ended when it is run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--rebuild",
            metavar="NAMESPACE",
            type=name,
            help="read all memories of the namespace again, after rules have changed; merges and splits stay",
        )

    def handle(self, *, rebuild: str | None, **_: Any) -> None:
        if rebuild is not None:
            try:
                scope = scope_of_existing(rebuild, actor="command:index_entities")
            except NotFound as error:
                raise CommandError(error.message) from error
            extract.rebuild(scope, now=timezone.now())
        read = extract.index_pending(now=timezone.now())
        self.stdout.write(f"{read} memories were read.")
