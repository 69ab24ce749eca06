from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from memos_site.bootstrap import bootstrap


class Command(BaseCommand):
    help = "Makes the server ready: migrations, embedding model, schedules; on the first start a login and an API key."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--demo", action="store_true", help="fill the demo namespace if the server is empty")

    def handle(self, *args: Any, **options: Any) -> None:
        made = bootstrap(demo=options["demo"])
        if made.admin_user:
            password = made.admin_password or "the one in MEMOS_ADMIN_PASSWORD"
            self.stdout.write(f"Staff login (shown once): {made.admin_user} / {password}")
        if made.api_key:
            self.stdout.write(f"API key (shown once): {made.api_key}")
        if made.demo_memories:
            self.stdout.write(f"Demo namespace: {made.demo_memories} memories")
        self.stdout.write("MemOS is ready.")
