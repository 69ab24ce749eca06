from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand

from memory.services.audit.verify import SealFault, holds_at, verify


def note(value: str) -> tuple[int, str]:
    """Read NUMBER:HASH as this command prints it."""
    match = re.fullmatch(r"([1-9]\d{0,17}):([0-9a-fA-F]{64})", value)
    if match is None:
        raise ArgumentTypeError(f"{value!r} is not NUMBER:HASH as this command prints it")
    return int(match[1]), match[2]


class Command(BaseCommand):
    help = "Verifies the chain of audit events. Exits with 1 when an event is missing, changed or slipped in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--expect",
            type=note,
            metavar="NUMBER:HASH",
            help="what an earlier run printed: shows that the chain's end was not cut off and made anew since",
        )

    def handle(self, *, expect: tuple[int, str] | None, **_: Any) -> None:
        proof = verify()
        for fault in proof.faults:
            self._show(fault)
        cut = expect is not None and not holds_at(*expect)
        if expect is not None and cut:
            self.stdout.write(f"seal {expect[0]}: is not the one that was noted: the chain was cut off and made anew")
        self.stdout.write(f"{proof.events} events in {proof.seals} seals looked at, {proof.waiting} not sealed yet")
        if proof.faults or cut:
            self.stdout.write("The audit log does NOT hold.")
            sys.exit(1)
        end = f"; keep this elsewhere: {proof.head[0]}:{proof.head[1]}" if proof.head else ""
        self.stdout.write(f"The audit log holds{end}")

    def _show(self, fault: SealFault) -> None:
        self.stdout.write(f"seal {fault.number}: {fault.what}")
        for word, ids in (("missing", fault.missing), ("changed", fault.changed), ("slipped in", fault.added)):
            for identity in ids:
                self.stdout.write(f"  {word}: {identity}")
