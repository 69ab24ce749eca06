"""Builds Documents: documents with their chunks, and the files that they are parsed from."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import FileState, FileType
from memory.models import Document
from memory.text.pages import name_pages
from ops.access import MASK
from ops.pages.reading_notes import translate_note
from ops.words import Words

_BADGES: Mapping[str, tuple[str, Words]] = {
    FileState.QUEUED: ("info", gettext_lazy("Queued")),
    FileState.RUNNING: ("busy", gettext_lazy("Running")),
    FileState.DONE: ("good", gettext_lazy("Done")),
    FileState.REFUSED: ("bad", gettext_lazy("Refused")),
    FileState.FAILED: ("bad", gettext_lazy("Failed")),
    FileState.DISCARDED: ("off", gettext_lazy("Discarded")),
}


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """A document in the list. `key` leads to its page."""

    key: uuid.UUID
    name: str
    namespace: str
    version: int
    characters: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class FileShown:
    """A file with its progress (`percent`) and outcome. `may_reparse`: its original still exists.

    `in_quarantine`: the gate has quarantined its text, and no decision was made yet.
    """

    id: str
    document_key: str
    namespace: str
    name: str
    type: Words
    tone: str
    word: Words
    is_open: bool
    percent: int
    problem: str
    notes: Sequence[str]
    in_quarantine: bool
    may_reparse: bool
    created_at: datetime | None
    rows: Sequence[tuple[Words, str]]


@dataclass(frozen=True, slots=True)
class ChunkShown:
    """A chunk: its location and its text, which the template masks."""

    index: int
    place: str
    columns: str
    text: str
    tokens: int
    is_active: bool


def document_line(row: Document, *, namespace: str, may_read_text: bool) -> DocumentLine:
    """Return a document of the list. Its name is masked for users who may not read texts."""
    name = (row.title or row.document_id) if may_read_text else MASK
    return DocumentLine(row.id, name, namespace, row.version, row.characters, row.updated_at)


def file_shown(
    values: Mapping[str, Any], *, document_key: str, may_read_text: bool, waiting: Collection[str]
) -> FileShown:
    """Return a file from the service's description. Its reasons may quote it, so they are masked like its name.

    `waiting` are the ids of undecided items in the quarantine.
    """
    in_quarantine = values["quarantine_id"] in waiting
    tone, word = _BADGES[values["state"]]
    return FileShown(
        id=values["id"],
        document_key=document_key,
        namespace=values["namespace"],
        name=(values["name"] or _("without a name")) if may_read_text else MASK,
        type=FileType(values["type"]).label,
        tone=tone,
        word=word,
        is_open=values["state"] in (FileState.QUEUED, FileState.RUNNING),
        percent=values["percent"],
        problem=_problem(values, in_quarantine=in_quarantine),
        notes=[translate_note(note) for note in values["notes"]],
        in_quarantine=in_quarantine,
        may_reparse=values["has_original"] and values["keep_original"] and values["finished_at"] is not None,
        created_at=parse_datetime(values["created_at"]),
        rows=_rows(values),
    )


def chunk_shown(values: Mapping[str, Any]) -> ChunkShown:
    """Return a chunk from the service's description of it."""
    place = ", ".join(filter(None, (name_pages(values["page"], values["last_page"]), values["heading"])))
    return ChunkShown(
        index=values["index"] + 1,
        place=place,
        columns=values["table"],
        text=values["text"],
        tokens=values["tokens"],
        is_active=values["state"] == "active",
    )


def _problem(values: Mapping[str, Any], *, in_quarantine: bool) -> str:
    """Return why the file did not become a document, for quarantined texts in words for this page; "" once released."""
    if values["quarantine_id"] is None or not values["refusal"]:
        return str(values["problem"])
    says = " ".join(str(reason["says"]) for reason in values["reasons"])
    if not in_quarantine:
        return _("Its text was put in the quarantine and is no longer there. %(reasons)s") % {"reasons": says}
    return _("Its text waits in the quarantine until someone decides. %(reasons)s") % {"reasons": says}


def _rows(values: Mapping[str, Any]) -> list[tuple[Words, str]]:
    peak = values["peak_bytes"]
    told = [
        (_("Kind"), str(FileType(values["type"]).label)),
        (_("Size"), filesizeformat(values["bytes"])),
        (_("Pages"), _count(values["pages"])),
        (_("Tables"), _count(values["tables"])),
        (_("Characters"), _count(values["characters"])),
        (_("Chunks"), _count(values["chunks"])),
        (_("Read by"), values["parser"]),
        (_("Time to read"), "" if values["seconds"] is None else f"{values['seconds']:.2f} s"),
        (_("Peak of memory"), filesizeformat(peak) if peak else ""),
        (_("Original"), _("kept") if values["keep_original"] and values["has_original"] else _("not kept")),
    ]
    return [(title, value) for title, value in told if value]


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
