from __future__ import annotations

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from memory.services.activation.erased import forget_folder


class Command(BaseCommand):
    """Deletes the records of activation caches whose folder is lost for good."""

    help = (
        "Forgets the activation caches of a folder whose disk is lost, so that no erasure waits for its files any "
        "more. You answer for it that no copy of the folder is left."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=uuid.UUID, help="Its id, as the receipt of the erasure names it")

    def handle(self, *args: Any, folder: uuid.UUID, **options: Any) -> None:
        count = forget_folder(folder)
        self.stdout.write(f"Forgot {count} activation caches of the folder {folder}.")
