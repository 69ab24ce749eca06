from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.demo.conversations import conversations
from memory.demo.seed import seed_demo_namespace
from memory.errors import MemosError
from memory.management import arguments
from memory.types import system_access


class Command(BaseCommand):
    help = "Fills a namespace with demo conversations (English and Chinese); again, it adds nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--namespace", type=arguments.name, default="demo", help="default: demo")
        parser.add_argument("--reset", action="store_true", help="empty the demo sessions first")

    def handle(self, *, namespace: str, reset: bool, **_: Any) -> None:
        try:
            new = seed_demo_namespace(
                system_access("command:seed_demo"), namespace=namespace, now=timezone.now(), reset=reset
            )
        except MemosError as error:
            raise CommandError(error.message) from error
        if new:
            self.stdout.write(f"{namespace}: {new} memories in {len(conversations())} sessions.")
        else:
            self.stdout.write(f"{namespace}: the demo is there already, nothing was added (--reset makes it anew).")
        self.stdout.write(f'Try:  .venv/bin/python manage.py ask {namespace} "When does my sister marry?"')
