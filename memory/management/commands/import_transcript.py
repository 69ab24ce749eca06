from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from memory.management import arguments
from memory.management.importing import ImportCommand
from memory.text.transcripts import FORMATS, LOCOMO, namespaces_of, parse_transcript


class Command(ImportCommand):
    actor = "command:import_transcript"
    help = (
        "Remembers the turns of a file: JSON lines, or LoCoMo as published. An import that was interrupted goes on "
        "where it ended when it is run again; a file that is there already adds nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--namespace",
            type=arguments.name,
            help="where it goes; several conversations go to NAMESPACE-<name> (default: locomo-<sample_id>, or what "
            "the JSON lines name, or the file's name)",
        )
        parser.add_argument("--format", choices=["auto", *FORMATS], default="auto")
        parser.add_argument(
            "--session", type=arguments.name, help="where JSON lines go that name no session (default: the file's name)"
        )
        parser.add_argument("--skip-bad", action="store_true", help="leave out what cannot be read, and say how much")

    def handle(
        self, *, file: Path, namespace: str | None, format: str, session: str | None, skip_bad: bool, **_: Any
    ) -> None:
        data = self.read(file)
        own_name = file.stem[: arguments.MAX_NAME_CHARS] or "transcript"
        transcript = parse_transcript(data, format=format, session=session or own_name)
        if session and transcript.format == LOCOMO:
            raise CommandError("--session is for JSON lines: a LoCoMo file names its own sessions.")
        self.report_faults(file, transcript, skip_bad=skip_bad)
        if not transcript.conversations:
            raise CommandError(f"{file} holds no turns.")
        targets = namespaces_of(transcript, wanted=namespace or "", fallback=own_name)
        self.import_all(file, data, transcript, targets)
