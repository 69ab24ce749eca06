from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from memory.management import arguments
from memory.management.importing import ImportCommand
from memory.services.ingestion.mem0_memories import parse_mem0


class Command(ImportCommand):
    help = (
        "Remembers the memories that another memory server gave out. An import that was interrupted goes on where it "
        "ended when it is run again; a file that is there already adds nothing."
    )
    noun, nouns = "memory", "memories"
    actor = "command:import_memories"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--from", dest="origin", choices=["mem0"], required=True, help="whose memories they are")
        parser.add_argument("--namespace", type=arguments.name, default="mem0", help="where they go (default: mem0)")
        parser.add_argument("--skip-bad", action="store_true", help="leave out what cannot be read, and say how much")

    def handle(self, *, file: Path, namespace: str, skip_bad: bool, **_: Any) -> None:
        data = self.read(file)
        dump = parse_mem0(data)
        self.report_faults(file, dump, skip_bad=skip_bad)
        if not dump.conversations:
            raise CommandError(f"{file} holds no memories.")
        self.import_all(file, data, dump, dict.fromkeys(dump.conversations, namespace))
