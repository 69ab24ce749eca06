"""Builds Imports: imported files with their progress, and the preview of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import GateDecision, ImportFormat, ImportState
from ops.access import MASK
from ops.pages.reading_notes import translate_note
from ops.words import Words

FORMATS: tuple[tuple[str, Words], ...] = (
    ("", gettext_lazy("Recognize it by its content")),
    *((one.value, one.label) for one in ImportFormat if one != ImportFormat.PASTED),
    (ImportFormat.PASTED.value, gettext_lazy("Lines of “date - memory”")),
)
_BADGES: Mapping[str, tuple[str, Words]] = {
    ImportState.QUEUED: ("info", gettext_lazy("Queued")),
    ImportState.RUNNING: ("busy", gettext_lazy("Running")),
    ImportState.DONE: ("good", gettext_lazy("Done")),
    ImportState.CANCELLED: ("off", gettext_lazy("Cancelled")),
    ImportState.FAILED: ("bad", gettext_lazy("Failed")),
    ImportState.DISCARDED: ("off", gettext_lazy("Discarded")),
    ImportState.PREVIEW: ("info", gettext_lazy("Preview")),
}
_OPEN = (ImportState.QUEUED, ImportState.RUNNING, ImportState.FAILED, ImportState.DISCARDED)
_PARTS: Mapping[str, Words] = {
    "citation": gettext_lazy("quotes of web pages and files"),
    "file": gettext_lazy("other files of the zip"),
    "media": gettext_lazy("pictures, sounds and files without a text"),
    "other": gettext_lazy("parts of a kind that is not known"),
    "summary": gettext_lazy("summaries of conversations"),
    "thought": gettext_lazy("thoughts of a model"),
    "tool": gettext_lazy("what tools were told and said"),
}
_REASONS: Mapping[str, Words] = {
    "branch": gettext_lazy("answers that were regenerated or edited away"),
    "tool": gettext_lazy("what tools were told and said"),
    "system": gettext_lazy("instructions of the program"),
    "thought": gettext_lazy("thoughts of a model"),
    "hidden": gettext_lazy("messages that the program did not show"),
    "instructions": gettext_lazy("instructions and notes that the program keeps"),
    "other_role": gettext_lazy("messages of neither a person nor a model"),
    "no_text": gettext_lazy("pictures and files without a text"),
    "heading": gettext_lazy("headings and rules"),
    "invalidated": gettext_lazy("facts that are no longer valid"),
    "superseded": gettext_lazy("memories that were superseded"),
    "deprecated": gettext_lazy("memories that are deprecated"),
    "retracted": gettext_lazy("memories that were retracted"),
    "archived": gettext_lazy("memories that were archived"),
}


# Name of pasted lines, which come without a file.
PASTED_NAME = "text"


@dataclass(frozen=True, slots=True)
class ImportShown:
    """An import or a preview. `percent` of its turns are processed; `rows` are the outcomes by name."""

    id: str
    namespace: str
    name: str
    format: Words
    speaker: str
    tone: str
    word: Words
    is_open: bool
    is_over: bool
    percent: int
    conversations: int
    messages: int
    turns: int
    dealt_with: int
    new: int
    quarantined: int
    first_at: datetime | None
    last_at: datetime | None
    created_at: datetime | None
    problem: str
    rows: Sequence[tuple[Words, int]]
    left_out: Sequence[tuple[Words, int]]
    parts_left_out: Sequence[tuple[Words, int]]
    unreadable: int
    faults: Sequence[Mapping[str, str]]
    notes: Sequence[str]
    judged: int
    complete: bool


def import_shown(values: Mapping[str, Any], *, may_read_text: bool) -> ImportShown:
    """Return an import from the service's description. Names are masked for users who may not read texts."""
    tone, word = _BADGES[values["state"]]
    turns, dealt_with = values["turns"], values["dealt_with"]
    return ImportShown(
        id=values["id"] or "",
        namespace=values["namespace"],
        name=_name(values) if may_read_text else MASK,
        format=dict(FORMATS)[values["format"]],
        speaker=values["speaker"] if may_read_text or not values["speaker"] else MASK,
        tone=tone,
        word=word,
        is_open=values["finished_at"] is None and values["state"] in _OPEN,
        is_over=values["finished_at"] is not None,
        percent=100 * dealt_with // turns if turns else 0,
        conversations=values["conversations"],
        messages=values["messages"],
        turns=turns,
        dealt_with=dealt_with,
        new=values["new"],
        quarantined=values["quarantined"] or 0,
        first_at=_moment(values["first_at"]),
        last_at=_moment(values["last_at"]),
        created_at=_moment(values["created_at"]),
        problem=values["problem"] or "",
        rows=_preview_rows(values) if values["state"] == ImportState.PREVIEW else _rows(values),
        left_out=[(_REASONS.get(reason, reason), count) for reason, count in sorted(values["left_out"].items())],
        parts_left_out=[(_PARTS.get(kind, kind), count) for kind, count in sorted(values["parts_left_out"].items())],
        unreadable=values["unreadable"],
        faults=values["faults"],
        notes=[translate_note(note) for note in values["notes"]],
        judged=values["judged"] or 0,
        complete=values["complete"] is not False,
    )


def _name(values: Mapping[str, Any]) -> str:
    return _("Pasted lines") if values["name"] == PASTED_NAME else str(values["name"])


def _rows(values: Mapping[str, Any]) -> list[tuple[Words, int]]:
    return [
        (_("New memories"), values["new"]),
        (_("Stored already"), values["present"]),
        (_("Deleted earlier, so left out"), values["gone"]),
        (_("Held in quarantine"), values["quarantined"]),
        (_("Refused by the gate"), values["rejected"]),
    ]


def _preview_rows(values: Mapping[str, Any]) -> list[tuple[Words, int]]:
    gate = values["gate"]
    return [
        (_("Stored already"), values["present"]),
        (_("The gate would let in"), gate[GateDecision.ACCEPT]),
        (_("The gate would let in, secrets replaced"), gate[GateDecision.ACCEPT_REDACTED]),
        (_("The gate would quarantine"), gate[GateDecision.QUARANTINE]),
        (_("The gate would refuse"), gate[GateDecision.REJECT]),
    ]


def _moment(value: datetime | str | None) -> datetime | None:
    return parse_datetime(value) if isinstance(value, str) else value
