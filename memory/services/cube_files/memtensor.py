"""Reads the zipped folder of a cube of MemTensor's MemOS: only `textual_memory.json` and `config.json`.

Its caches and adapters are Python pickles, which execute code when they are opened: they are refused unopened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from memory.enums import GateDecision, Role
from memory.services.cube_files.load_context import BatchReport
from memory.services.cube_files.manifest import MEMBER
from memory.services.imports.container import Part, list_parts
from memory.services.imports.json_stream import read_items, read_names
from memory.services.imports.single import LeftOut, read_singles
from memory.services.imports.source import (
    SourceTurn,
    UnreadableImport,
    check_object,
    clean,
    make_turns,
    name_session,
    read_moment,
)
from memory.services.imports.take_in import ImportCounts, count_known
from memory.services.ingestion.admission import judge_turn
from memory.text.transcripts import MAX_NAME_CHARS, UnreadableTurn, check_metadata, check_text
from memory.types import NewMemory, Scope, session_of_day

ORIGIN = "memtensor"
MEMORIES, CONFIG = "textual_memory.json", "config.json"
_PICKLES = (".pickle", ".pkl", ".pt", ".pth", ".bin", ".joblib", ".adapter", ".ckpt")
_WHY_NOT_PICKLES = "a pickle runs whatever it holds when it is opened; it was not. Build caches and adapters anew here."
_WHY_NOT_OTHERS = f"only {MEMORIES} and {CONFIG} of such a folder are read"
# A folder may contain a store of vectors, of some hundred files.
_MAX_MEMBERS = 1_000
_ACTIVE = ("", "activated")
_MAX_REFUSED = 20
_MAX_CHARS = 200
_MAX_FAULTS = 20
# The metadata of a memory that are kept, without vectors and MemTensor's own records.
_KEPT = (
    "type",
    "memory_type",
    "key",
    "source",
    "tags",
    "entities",
    "confidence",
    "visibility",
    "background",
    "user_id",
)


@dataclass(slots=True)
class FolderSurvey:
    """The number of `turns` in a folder, and of entries that are not turns: memories that are not active, or cannot be
    read."""

    turns: int = 0
    kept_out: BatchReport = field(default_factory=BatchReport)


def is_folder(path: Path) -> bool:
    """Return whether the file is such a folder, or its `textual_memory.json` alone. Raises UnreadableImport.

    A file with the manifest of a cube's file is not: with a file added, it could pass as an unsigned folder.
    """
    parts = _list_parts(path)
    if any(part.name == MEMBER for part in parts):
        return False
    if any(part.base == MEMORIES for part in parts):
        return True
    return len(parts) == 1 and parts[0].name == path.name and parts[0].head().lstrip()[:1] in (b"[", b"{")


def describe(path: Path) -> dict[str, Any]:
    """Return the folder's own description, and its refused files with the reasons. Raises UnreadableImport."""
    parts = _list_parts(path)
    _find_memories(parts, path)
    configs = [part for part in parts if part.base == CONFIG]
    refused = [part for part in parts if part.base not in (MEMORIES, CONFIG) and len(parts) > 1]
    return {
        "schema": ORIGIN,
        "cube": _read_config(configs[0]) if configs else {},
        "refused": [
            {"name": clean(part.name)[:_MAX_CHARS], "reason": _why_not(part)} for part in refused[:_MAX_REFUSED]
        ],
    }


def survey(path: Path) -> FolderSurvey:
    """Count the contents of the whole folder. Raises UnreadableImport."""
    found = FolderSurvey()
    part = _find_memories(_list_parts(path), path)
    for conversation in read_singles(_list_entries(part), _read_memory):
        found.turns += len(conversation.turns)
        found.kept_out.counts += Counter(
            left_out=conversation.left_out.total(), unreadable=sum(fault.turns for fault in conversation.faults)
        )
        told = [{"place": fault.place, "reason": fault.reason[:_MAX_CHARS]} for fault in conversation.faults]
        found.kept_out.faults += told[: _MAX_FAULTS - len(found.kept_out.faults)]
    return found


def read_turns(path: Path) -> Iterator[SourceTurn]:
    """Yield every active memory of the folder, in the same order each time. Raises UnreadableImport."""
    part = _find_memories(_list_parts(path), path)
    for conversation in read_singles(_list_entries(part), _read_memory):
        yield from conversation.turns


def preview(scope: Scope, turns: Sequence[SourceTurn]) -> Counter[str]:
    """Count what would become of the turns. Stores nothing."""
    present = count_known(scope, turns)
    verdicts = Counter(judge_turn(scope, turn.memory).judgement.decision for turn in turns)
    kept_out = {"quarantined": verdicts[GateDecision.QUARANTINE], "rejected": verdicts[GateDecision.REJECT]}
    return Counter({"new": max(len(turns) - present - sum(kept_out.values()), 0), "present": present, **kept_out})


def count(counts: ImportCounts) -> Counter[str]:
    """Return the outcomes of turns as loads count them; turns deleted since an earlier load count as erased."""
    return Counter(
        {
            "new": counts.new,
            "present": counts.present,
            "erased": counts.gone,
            "quarantined": counts.quarantined,
            "rejected": counts.rejected,
        }
    )


def _list_parts(path: Path) -> list[Part]:
    return list_parts(path, most=_MAX_MEMBERS, kind="A cube, as a file or a folder,")


def _find_memories(parts: Sequence[Part], path: Path) -> Part:
    found = [part for part in parts if part.base == MEMORIES]
    if len(found) > 1:
        raise UnreadableImport(f"The zip has {len(found)} files {MEMORIES}: give the folder of one cube at a time.")
    if found:
        return found[0]
    return next(part for part in parts if part.name == path.name)


def _list_entries(part: Part) -> Iterator[Any]:
    if part.head().lstrip().startswith(b"["):
        yield from read_items(part, "item")
        return
    names = dict(read_names(part, most=20))
    if "nodes" not in names:
        raise UnreadableImport(
            f"{part.base if part.base == MEMORIES else 'The file'} is neither a cube's file nor a {MEMORIES} of "
            "MemTensor's MemOS (a list of memories, or an object with `nodes`). Other programs' exports go to "
            "POST /v1/imports."
        )
    yield from read_items(part, "nodes.item")


def _read_memory(value: Any) -> Iterator[SourceTurn]:
    entry = check_object(value)
    entry = entry["payload"] if isinstance(entry.get("payload"), dict) else entry
    told: dict[str, Any] = entry["metadata"] if isinstance(entry.get("metadata"), dict) else {}
    status = str(told.get("status") or "")
    if status not in _ACTIVE:
        raise LeftOut(status[:20])
    said_at = _find_moment(told)
    session = told.get("session_id")
    own = session if isinstance(session, str) and clean(session[:MAX_NAME_CHARS]) == session else ""
    memory = NewMemory(
        session=name_session(ORIGIN, own or (session_of_day(said_at) if said_at else "undated")),
        role=Role.USER,
        text=check_text(entry.get("memory")),
        metadata=check_metadata({name: told[name] for name in _KEPT if told.get(name)}),
        occurred_at=said_at,
    )
    identity = entry.get("id") if isinstance(entry.get("id"), str) else f"{said_at}:{memory.text}"
    yield from make_turns(f"{ORIGIN}:{identity}", memory, {"from": ORIGIN, "id": str(entry.get("id") or "")})


def _find_moment(told: Mapping[str, Any]) -> Any:
    """Return when it happened: the first valid one of its dates."""
    for name in ("memory_time", "created_at", "updated_at"):
        try:
            if (moment := read_moment(told.get(name), name)) is not None:
                return moment
        except UnreadableTurn:
            continue
    return None


def _read_config(part: Part) -> dict[str, str]:
    """Return the names of the cube, its user and its kind of text memory, without the keys of models that are there
    too."""
    try:
        config = orjson.loads(part.read_text(f"A {CONFIG} is small."))
    except ValueError:
        raise UnreadableImport(f"{CONFIG} is not valid JSON: leave it out, or mend it.") from None
    if not isinstance(config, dict):
        return {}
    text_memory: dict[str, Any] = config["text_mem"] if isinstance(config.get("text_mem"), dict) else {}
    found = {"id": config.get("cube_id"), "user": config.get("user_id"), "kind": text_memory.get("backend")}
    return {name: clean(value)[:_MAX_CHARS] for name, value in found.items() if isinstance(value, str)}


def _why_not(part: Part) -> str:
    return _WHY_NOT_PICKLES if PurePosixPath(part.base.lower()).suffix in _PICKLES else _WHY_NOT_OTHERS
