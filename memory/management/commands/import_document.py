"""`manage.py import_document` reads a file and stores it as a document."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memory.enums import FileRefusal
from memory.errors import MemosError
from memory.management import arguments
from memory.models import DocumentFile
from memory.services.ingestion import file_run, files
from memory.services.tenancy.empty_namespace import fill_namespace
from memory.types import system_access

_CHUNK_BYTES = 1024 * 1024


class Command(BaseCommand):
    help = (
        f"Reads a file ({files.ALLOWED}; images with OCR) and stores it as a document, in this process and not in the "
        "worker. The same file again is the same document, and changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--namespace", type=arguments.name, required=True, help="where it goes")
        parser.add_argument(
            "--id",
            dest="document_id",
            type=arguments.name,
            help="the document's name (default: its content)",
        )
        parser.add_argument("--title", default="", help="default: the one that the file has, or its name")
        parser.add_argument("--source", default="", help="where it is from; it is not fetched")
        parser.add_argument("--metadata", default="{}", help="a JSON object, returned with every chunk")
        parser.add_argument("--keep-original", action="store_true", help="so that it can be read anew")

    def handle(self, *, file: Path, namespace: str, metadata: str, **options: Any) -> None:
        upload = files.FileUpload(
            name=file.name,
            chunks=_read(file),
            document_id=options["document_id"] or "",
            title=options["title"],
            source=options["source"],
            metadata=_read_metadata(metadata),
            keep_original=options["keep_original"],
        )
        try:
            with fill_namespace(system_access("command:import_document"), name=namespace) as scope:
                row = files.start_file(scope, upload, now=timezone.now(), enqueue=False)
                file_run.carry_out(namespace_id=row.namespace_id, file_id=row.id, now=timezone.now)
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error
        except MemosError as error:
            raise CommandError(f"{file}: {error.message}") from error
        self._say(file, DocumentFile.objects.in_scope(scope).get(id=row.id))

    def _say(self, file: Path, row: DocumentFile) -> None:
        if row.refusal:
            raise CommandError(f"{file}: {FileRefusal(row.refusal).label}. {row.problem}")
        pages = f", {row.pages} pages" if row.pages else ""
        self.stdout.write(
            f"{file.name}: {row.document_id}, version {row.document_version}{pages}, {row.chunks} chunks, read by "
            f"{row.parser} in {row.seconds:.1f} s"
        )
        for note in row.notes:
            self.stdout.write(f"  {note}")


def _read(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            yield chunk


def _read_metadata(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise CommandError(f"--metadata is no JSON: {error}.") from None
    if not isinstance(found, dict):
        raise CommandError("--metadata must be a JSON object.")
    return found
