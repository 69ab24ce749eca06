from __future__ import annotations

import time
from argparse import ArgumentParser
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from memory.enums import CubeIds
from memory.errors import MemosError
from memory.management import arguments
from memory.services.cube_files.load_options import LoadOptions
from memory.services.cube_files.local import load_from_file, name_in_file
from memory.services.tenancy.empty_namespace import fill_namespace
from memory.services.tenancy.namespaces import existing_scope
from memory.types import Access, Scope, system_access

_ACTOR = "command:load_cube"


class Command(BaseCommand):
    help = (
        "Loads a cube's file (dump_cube, POST /v1/cubes/ID/dump), or the zipped folder of a cube of MemTensor's MemOS. "
        "What is there already does not come again; a load that was interrupted goes on when it is run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--namespace", type=arguments.name, help="where it goes (default: as the file says)")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
        parser.add_argument(
            "--ids", choices=CubeIds.values, default=CubeIds.AUTO, help="keep those of the file, or new"
        )
        parser.add_argument("--policy", action="store_true", help="also the policy in force")
        parser.add_argument("--procedures", action="store_true", help="also prompts and tools")
        parser.add_argument("--quarantine", action="store_true", help="also what waits in the quarantine")
        parser.add_argument("--audit", action="store_true", help="also audit events, as events that tell of them")
        parser.add_argument("--unknown-sender", action="store_true", help="although its signature is not known here")

    def handle(
        self, *, file: Path, namespace: str | None, dry_run: bool, ids: str, unknown_sender: bool, **options: Any
    ) -> None:
        wanted = LoadOptions(
            ids=CubeIds(ids),
            unknown_sender=unknown_sender,
            holds=True,
            **{name: options[name] for name in ("policy", "procedures", "quarantine", "audit")},
        )
        access, started = system_access(_ACTOR), time.perf_counter()
        try:
            # Read the file's own name first, so that a bad file makes no namespace.
            own = name_in_file(file, options=wanted)
            name = namespace or own
            place = _find_scope(access, name) if dry_run else fill_namespace(access, name=name)
            with place as scope, tqdm(unit="line", desc=file.name, disable=None) as bar:

                def report(done: int, total: int) -> None:
                    bar.total = total
                    bar.update(done - bar.n)

                outcome = load_from_file(
                    scope, file, options=wanted, dry_run=dry_run, clock=timezone.now, report=report
                )
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error
        except KeyboardInterrupt:
            raise CommandError(
                "Interrupted. What is loaded so far is kept: the same command goes on.", returncode=130
            ) from None
        except MemosError as error:
            raise CommandError(f"{file}: {error.message}") from error
        for part, counts in outcome.counts.items():
            told = ", ".join(f"{count} {outcome_name}" for outcome_name, count in sorted(counts.items()) if count)
            self.stdout.write(f"{part}: {told}")
        for fault in outcome.faults:
            self.stderr.write(f"  {fault['place']}: {fault['reason']}")
        for refused in outcome.refused:
            self.stderr.write(f"  not read: {refused['name']}: {refused['reason']}")
        verb = "would go into" if dry_run else "went into"
        self.stdout.write(f"{file.name} {verb} {name}, {time.perf_counter() - started:.1f} s")
        if dry_run:
            self.stdout.write("  nothing was loaded: leave out --dry-run to do it")


def _find_scope(access: Access, name: str) -> AbstractContextManager[Scope]:
    """Return the scope of the namespace. One that does not exist yet has the default policy."""
    return nullcontext(existing_scope(access, name=name) or Scope(0, name, access.actor))
