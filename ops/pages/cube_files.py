"""Builds the page of a cube's files: its dumps and loads, with their progress and outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy

from memory.enums import CubeFileKind, CubeFileState, CubeSignature
from ops.access import MASK
from ops.words import Words

KINDS: Mapping[str, Words] = {CubeFileKind.DUMP: gettext_lazy("Dump"), CubeFileKind.LOAD: gettext_lazy("Load")}
_DRY_RUN = gettext_lazy("Dry run")
STATES: Mapping[str, tuple[str, Words]] = {
    CubeFileState.QUEUED: ("info", gettext_lazy("Queued")),
    CubeFileState.RUNNING: ("busy", gettext_lazy("Running")),
    CubeFileState.DONE: ("good", gettext_lazy("Done")),
    CubeFileState.CANCELLED: ("off", gettext_lazy("Cancelled")),
    CubeFileState.FAILED: ("bad", gettext_lazy("Failed")),
    CubeFileState.DISCARDED: ("bad", gettext_lazy("Discarded")),
}
_OUTCOMES: Mapping[str, Words] = {
    "new": gettext_lazy("new"),
    "redacted": gettext_lazy("redacted"),
    "present": gettext_lazy("there already"),
    "quarantined": gettext_lazy("quarantined"),
    "rejected": gettext_lazy("rejected"),
    "erased": gettext_lazy("erased before"),
    "left_out": gettext_lazy("left out"),
    "unreadable": gettext_lazy("unreadable"),
}
_PARTS: Mapping[str, Words] = {
    "memories": gettext_lazy("Memories"),
    "sessions": gettext_lazy("Sessions"),
    "documents": gettext_lazy("Documents"),
    "summaries": gettext_lazy("Summaries"),
    "names": gettext_lazy("Names of entities"),
    "links": gettext_lazy("Links between memories"),
    "pairs": gettext_lazy("Pairs that were compared"),
    "quarantine": gettext_lazy("Quarantine"),
    "procedures": gettext_lazy("Prompts and tools"),
    "policies": gettext_lazy("Policy"),
    "audit": gettext_lazy("Audit log"),
}


_SENDERS: Mapping[str, Words] = {
    CubeSignature.TRUSTED: gettext_lazy("signed by another server that is known here"),
    CubeSignature.UNKNOWN: gettext_lazy("from an unknown sender"),
    CubeSignature.NONE: gettext_lazy("not signed"),
}


@dataclass(frozen=True, slots=True)
class PartShown:
    """A part of the file, with the outcomes of its lines."""

    title: Words
    outcomes: list[tuple[Words, int]]


@dataclass(frozen=True, slots=True)
class CubeFileShown:
    """A dump or load. `memories` is the outcome of the file's memories, `parts` that of everything in it.

    `faults` are the first lines that were rejected, `source` is the cube that a loaded file was written from, and
    `sender` is who signed it if it was not this server.
    """

    id: str
    name: str
    kind: Words
    is_load: bool
    is_dry_run: bool
    tone: str
    word: Words
    size: str
    done: int
    total: int
    memories: list[tuple[Words, int]]
    parts: list[PartShown]
    faults: Sequence[Mapping[str, str]]
    source: str
    sender: Words
    problem: str
    downloadable: bool
    is_open: bool
    actor: str
    created_at: datetime


def show_file(row: Mapping[str, Any], *, may_read_text: bool) -> CubeFileShown:
    """Return a dump or load for the page. Names and faults of files are masked for users who may not read texts."""
    tone, word = STATES[row["state"]]
    is_load = row["kind"] == CubeFileKind.LOAD
    manifest = row["manifest"] or {}
    cube = manifest.get("cube") or {}
    known = sorted(row["counts"].items(), key=lambda part: list(_PARTS).index(part[0]) if part[0] in _PARTS else 99)
    return CubeFileShown(
        id=row["id"],
        name=row["name"] if may_read_text or not is_load else MASK,
        kind=_DRY_RUN if row["dry_run"] else KINDS[row["kind"]],
        is_load=is_load,
        is_dry_run=row["dry_run"],
        tone=tone,
        word=word,
        size=filesizeformat(row["bytes"]) if row["bytes"] else "–",
        done=row["done"],
        total=row["total"],
        memories=_name_outcomes(row["counts"].get("memories", {})),
        parts=[PartShown(_PARTS.get(name, name), _name_outcomes(counts)) for name, counts in known],
        faults=row["faults"] if may_read_text else (),
        source=str(cube.get("name") or "") if is_load and may_read_text else "",
        sender=_SENDERS.get(row["signature"] or "", "") if is_load else "",
        problem=row["problem"] or "",
        downloadable=row["downloadable"],
        is_open=row["finished_at"] is None,
        actor=row["actor"],
        created_at=datetime.fromisoformat(row["created_at"]),
    )


def _name_outcomes(counts: Mapping[str, int]) -> list[tuple[Words, int]]:
    found = Counter(counts)
    return [(title, found[name]) for name, title in _OUTCOMES.items() if found[name]]
