"""What the page of a cube's files shows: its dumps and loads, how far each is and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy

from memory.enums import CubeFileKind, CubeFileState
from ops.access import MASK
from ops.words import Words

KINDS: Mapping[str, Words] = {CubeFileKind.DUMP: gettext_lazy("Dump"), CubeFileKind.LOAD: gettext_lazy("Load")}
_DRY_RUN = gettext_lazy("Dry run")
STATES: Mapping[str, tuple[str, Words]] = {
    CubeFileState.QUEUED: ("off", gettext_lazy("Queued")),
    CubeFileState.RUNNING: ("off", gettext_lazy("Running")),
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


@dataclass(frozen=True, slots=True)
class CubeFileShown:
    """A dump or load; `outcomes` are the words and numbers of what became of the file's memories."""

    id: str
    name: str
    kind: Words
    tone: str
    word: Words
    size: int
    done: int
    total: int
    outcomes: list[tuple[Words, int]]
    problem: str
    downloadable: bool
    is_open: bool
    created_at: datetime


def show_file(row: Mapping[str, Any], *, may_read_text: bool) -> CubeFileShown:
    """A dump or load as the page shows it; the name of a file is masked for who may not read texts."""
    tone, word = STATES[row["state"]]
    counts = Counter(row["counts"].get("memories", {}))
    return CubeFileShown(
        id=row["id"],
        name=row["name"] if may_read_text or row["kind"] == CubeFileKind.DUMP else MASK,
        kind=_DRY_RUN if row["dry_run"] else KINDS[row["kind"]],
        tone=tone,
        word=word,
        size=row["bytes"],
        done=row["done"],
        total=row["total"],
        outcomes=[(title, counts[name]) for name, title in _OUTCOMES.items() if counts[name]],
        problem=row["problem"] or "",
        downloadable=row["downloadable"],
        is_open=row["finished_at"] is None,
        created_at=datetime.fromisoformat(row["created_at"]),
    )
