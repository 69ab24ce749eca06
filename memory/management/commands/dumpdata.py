"""Django's dumpdata for all rows. The default managers refuse queries that name no namespace."""

from __future__ import annotations

from typing import Any

from django.core.management.commands.dumpdata import Command as DumpData


class Command(DumpData):
    def handle(self, *app_labels: str, **options: Any) -> str | None:
        return super().handle(*app_labels, **{**options, "use_base_manager": True})
