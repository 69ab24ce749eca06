"""Reads memories that were copied out of an assistant: one a line, `[date saved, if known] - memory`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from memory.enums import Role
from memory.services.imports.container import Part
from memory.services.imports.single import LeftOut, read_singles
from memory.services.imports.source import (
    SourceConversation,
    SourceTurn,
    make_turns,
    name_session,
    to_utc,
)
from memory.text.transcripts import UnreadableTurn
from memory.types import NewMemory, session_of_day

ORIGIN = "pasted"
_MARK = r"(?:[-*•·–]\s+|\d{1,4}[.)、]\s*)?"
_DAY = r"\d{4}[-/.年]\d{1,2}(?:[-/.月]\d{1,2}日?)?(?:[T ]\d{1,2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?"
_DATE = rf"(?:[\[(（【](?P<said>[^\])）】]{{0,60}})[\])）】]|(?P<bare>{_DAY}))"
_LINE = re.compile(rf"{_MARK}{_DATE}\s*[-–—:：]\s*(?P<text>.+)")
_BULLET = re.compile(_MARK)
# Headings, rules and fences that an assistant puts around its answer.
_FRAME = re.compile(r"#{1,6} .*|[-=*_]{3,}|(?:```|~~~)\w*")
_UNKNOWN = frozenset(
    {"", "unknown", "no date", "n/a", "none", "undated", "date unknown", "未知", "无日期", "日期未知", "不详"}
)
_FORMATS = (
    "%Y-%m-%d", "%Y-%m", "%Y/%m/%d", "%Y/%m", "%Y.%m.%d", "%Y年%m月%d日", "%Y年%m月", "%B %d, %Y", "%b %d, %Y",
    "%d %B %Y", "%d %b %Y", "%B %Y", "%b %Y", "%Y",
)  # fmt: skip


def read(part: Part) -> Iterator[SourceConversation]:
    """Yield each line as something that the person said on its date, if it has one. Raises UnreadableImport."""
    text = part.read_text("Give it in several files.")
    yield from read_singles(text.splitlines(), _read_line, noun="line")


def is_line(head: bytes) -> bool:
    """Return whether a file that begins with a bracket begins with a line of `[date] - memory`."""
    return _LINE.match(head.decode("utf-8", "replace").split("\n", 1)[0].strip()) is not None


def _read_line(line: str) -> Iterator[SourceTurn]:
    stripped = line.strip()
    if not stripped:
        return
    if _FRAME.fullmatch(stripped):
        raise LeftOut("heading")
    said_at, text = None, _BULLET.sub("", stripped, count=1)
    if match := _LINE.fullmatch(stripped):
        date = match["said"] if match["said"] is not None else match["bare"]
        said_at = _read_date(date)
        if said_at is not None or date.strip().lower() in _UNKNOWN:
            text = match["text"]
        elif any(character.isdigit() for character in date):
            raise UnreadableTurn("the date in front is none that is known: write it as 2026-05-08, or as `unknown`")
    session = name_session(ORIGIN, session_of_day(said_at) if said_at else "undated")
    memory = NewMemory(session, Role.USER.value, text, occurred_at=said_at)
    yield from make_turns(f"{ORIGIN}:{said_at}:{text}", memory, {"from": ORIGIN})


def _read_date(text: str) -> datetime | None:
    """Return the moment (UTC) that a date names; a month is its first day. None for anything else."""
    plain = re.sub(r"\s+", " ", text.strip().strip("*`"))
    try:
        return to_utc(datetime.fromisoformat(plain))
    except ValueError:
        pass
    for form in _FORMATS:
        try:
            return datetime.strptime(plain, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
