from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from memory.errors import MemosError
from memory.management import arguments
from memory.services.cube_files.dump import DumpOptions
from memory.services.cube_files.local import dump_to_file
from memory.services.cube_files.manifest import public_key
from memory.services.tenancy.namespaces import scope_of_existing


class Command(BaseCommand):
    help = (
        "Writes all of a namespace into one signed file: memories with their history, links and validity, sessions, "
        "summaries, documents, entities and policies. `load_cube` reads it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("namespace", type=arguments.name, nargs="?")
        parser.add_argument("file", type=Path, nargs="?", help="where it is written; it must not be there yet")
        parser.add_argument("--vectors", action="store_true", help="so that the receiver need not make them anew")
        parser.add_argument("--quarantine", action="store_true", help="with what the gate keeps apart")
        parser.add_argument("--audit", action="store_true", help="with audit events")
        parser.add_argument(
            "--show-key", action="store_true", help="only print the public key that this server signs files with"
        )

    def handle(self, *, namespace: str | None, file: Path | None, show_key: bool, **options: Any) -> None:
        if show_key:
            self.stdout.write(public_key() or "Files are signed by HMAC: set MEMOS_CUBE_SIGNING_KEY for a public key.")
            return
        if namespace is None or file is None:
            raise CommandError("Name a namespace and a file: manage.py dump_cube NAMESPACE FILE.memcube")
        wanted = DumpOptions(**{name: options[name] for name in ("vectors", "quarantine", "audit")})
        started = time.perf_counter()
        try:
            scope = scope_of_existing(namespace, actor="command:dump_cube")
            # disable=None draws the bar only on a terminal.
            with tqdm(unit="memory", desc=file.name, disable=None) as bar:

                def report(done: int, total: int) -> None:
                    bar.total = total
                    bar.update(done - bar.n)

                manifest = dump_to_file(scope, file, options=wanted, now=timezone.now(), report=report)
        except FileExistsError as error:
            raise CommandError(f"{file} is there already: name another file, or move it away.") from error
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}") from error
        except MemosError as error:
            raise CommandError(error.message) from error
        parts = ", ".join(f"{part.lines} {name}" for name, part in manifest.parts.items() if part.lines)
        seconds = time.perf_counter() - started
        self.stdout.write(f"{file}: {parts}; {file.stat().st_size / 1e6:.1f} MB in {seconds:.1f} s")
        self.stdout.write(f"  check it:  manage.py load_cube {file} --dry-run")
