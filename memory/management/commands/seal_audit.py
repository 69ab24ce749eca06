from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from memory.services.audit.chain import newest_seal, seal


class Command(BaseCommand):
    help = "Seals the audit events that are not sealed yet, as the worker does every minute."

    def handle(self, **_: Any) -> None:
        sealed = total = seal(now=timezone.now())
        while sealed:
            total += (sealed := seal(now=timezone.now()))
        head = newest_seal()
        end = f"the chain ends at {head.number}:{bytes(head.hash).hex()}" if head else "there is no seal yet"
        self.stdout.write(f"{total} events sealed; {end}")
