"""Reads transcripts of conversations into turns to remember, from JSON lines and from published LoCoMo files.

Nothing is guessed silently: what can't be read is reported with its place in the file and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from memory.enums import Role
from memory.text.clock_times import read_clock
from memory.text.json_values import fault_of
from memory.text.pieces import MAX_TEXT_CHARS, METADATA_KEY, cut
from memory.types import NewMemory

FORMATS = ("jsonl", "locomo")
JSONL, LOCOMO = FORMATS

# The limits of POST /v1/ingest: a file must not bring in more than a request could.
MAX_NAME_CHARS = 128
MAX_METADATA_BYTES = 65_536
MAX_METADATA_DEPTH = 16

# Other tools' names for our roles.
_ROLE_NAMES = {"assistant": Role.AGENT, "ai": Role.AGENT, "human": Role.USER}
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_LOCOMO_MOMENT = re.compile(r"(\d{1,2}):(\d{2}) ?([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)
_LOCOMO_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True, slots=True)
class TranscriptFault:
    """A part of a file that can't be read: its `place` (`line 7`), the reason, and how many turns are lost."""

    place: str
    reason: str
    turns: int = 1

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(slots=True)
class Transcript:
    """Turns by conversation, each in file order, and the faults of what couldn't be read.

    A conversation is named by LoCoMo's `sample_id` or by the `namespace` of a JSON line ("" if the line has none).
    """

    format: str
    conversations: dict[str, list[NewMemory]] = field(default_factory=dict)
    faults: list[TranscriptFault] = field(default_factory=list)


class UnreadableTurn(Exception):
    """Raised for a turn that can't be read; the message is the reason."""


def parse_transcript(data: bytes, *, format: str = "auto", session: str) -> Transcript:
    """Read a whole file. `format` is auto, jsonl or locomo; `session` is the default for JSON lines without one."""
    if format == "auto":
        format = detect_format(data)
    return parse_locomo(data) if format == LOCOMO else parse_jsonl(data, session=session)


def detect_format(data: bytes) -> str:
    """Return `locomo` for a JSON list and for a JSON object with a `conversation`, and `jsonl` for everything else."""
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"["):
        return LOCOMO
    if start.startswith(b"{"):
        try:
            whole = orjson.loads(start)
        except orjson.JSONDecodeError:
            return JSONL
        if isinstance(whole, dict) and "conversation" in whole:
            return LOCOMO
    return JSONL


def parse_jsonl(data: bytes, *, session: str) -> Transcript:
    """Read one JSON object per line, skipping empty lines.

    `text` (or `content`) is required. Optional fields are `role` (user; assistant and ai mean agent, human means user),
    `speaker`, `session_id` or `session`, `occurred_at` or `time` (ISO 8601, UTC without an offset, or seconds or
    milliseconds since 1970), `namespace` and `metadata`. A text that is too long for a memory becomes several turns.
    """
    transcript = Transcript(JSONL)
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = orjson.loads(line)
            if not isinstance(entry, dict):
                raise UnreadableTurn("is not a JSON object")
            conversation = _name(entry, "namespace", default="")
            memory = _turn(entry, session=session)
        except orjson.JSONDecodeError as error:
            transcript.faults.append(
                TranscriptFault(f"line {number}", f"is not valid JSON ({error.msg}, column {error.colno})")
            )
        except UnreadableTurn as fault:
            transcript.faults.append(TranscriptFault(f"line {number}", str(fault)))
        else:
            transcript.conversations.setdefault(conversation, []).extend(_cut_turn(memory))
    return transcript


def parse_locomo(data: bytes) -> Transcript:
    """Read LoCoMo: one conversation or a list of them. `speaker_a` becomes user, `speaker_b` agent.

    A turn's time is that of its session plus one second for every turn before it. Its `dia_id` is stored in the
    metadata, and the caption of an image is appended to the text. Questions (`qa`) and summaries are skipped.
    """
    transcript = Transcript(LOCOMO)
    try:
        whole = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        transcript.faults.append(TranscriptFault(f"line {error.lineno}", f"is not valid JSON ({error.msg})"))
        return transcript
    entries = whole if isinstance(whole, list) else [whole]
    for number, entry in enumerate(entries, start=1):
        conversation = entry.get("conversation") if isinstance(entry, dict) else None
        if not isinstance(conversation, dict):
            transcript.faults.append(
                TranscriptFault(
                    f"conversation {number}", "has no `conversation`: this is not LoCoMo (use --format jsonl?)"
                )
            )
            continue
        name = str(entry.get("sample_id") or number)
        turns = transcript.conversations.setdefault(name, [])
        for part in _locomo_turns(conversation, place=name):
            if isinstance(part, TranscriptFault):
                transcript.faults.append(part)
            else:
                turns += _cut_turn(part)
    transcript.conversations = {name: turns for name, turns in transcript.conversations.items() if turns}
    return transcript


def locomo_moment(text: str) -> datetime | None:
    """Return the UTC time of a LoCoMo date such as `1:56 pm on 8 May, 2023`, or None if it isn't one."""
    match = _LOCOMO_MOMENT.fullmatch(text.strip())
    if match is None:
        return None
    hour, minute, half, day, month, year = match.groups()
    try:
        return datetime(
            int(year),
            _MONTHS.index(month.lower()) + 1,
            int(day),
            int(hour) % 12 + (12 if half.lower() == "p" else 0),
            int(minute),
            tzinfo=UTC,
        )
    except ValueError:
        return None


def namespaces_of(transcript: Transcript, *, wanted: str, fallback: str) -> dict[str, str]:
    """Return the namespace of each conversation.

    With `wanted`, a single conversation goes there and several go to `<wanted>-<name>`. Otherwise LoCoMo goes to
    `locomo-<sample_id>`, and JSON lines to the namespace that they name, or else to `fallback`.
    """
    names = list(transcript.conversations)
    if wanted:
        return {name: wanted if len(names) == 1 or not name else f"{wanted}-{name}" for name in names}
    if transcript.format == LOCOMO:
        return {name: f"locomo-{name}" for name in names}
    return {name: name or fallback for name in names}


def _locomo_turns(conversation: Mapping[str, Any], *, place: str) -> Iterator[NewMemory | TranscriptFault]:
    roles = {str(conversation.get("speaker_a")): Role.USER, str(conversation.get("speaker_b")): Role.AGENT}
    numbers = sorted(int(match[1]) for key in conversation if (match := _LOCOMO_SESSION.fullmatch(key)))
    for number in numbers:
        session = f"session_{number}"
        entries = conversation[session]
        if not isinstance(entries, list):
            yield TranscriptFault(f"{place} {session}", "is not a list of turns")
            continue
        if not entries:
            continue
        start = locomo_moment(str(conversation.get(f"{session}_date_time", "")))
        if start is None:
            yield TranscriptFault(
                f"{place} {session}",
                f"{session}_date_time is not a date such as `1:56 pm on 8 May, 2023`",
                turns=len(entries),
            )
            continue
        start = min(start, datetime.max.replace(tzinfo=UTC) - timedelta(seconds=len(entries)))
        for order, entry in enumerate(entries):
            try:
                yield _locomo_turn(entry, roles, session=session, occurred_at=start + timedelta(seconds=order))
            except UnreadableTurn as fault:
                yield TranscriptFault(f"{place} {session} turn {order + 1}", str(fault))


def _locomo_turn(entry: Any, roles: Mapping[Any, Role], *, session: str, occurred_at: datetime) -> NewMemory:
    if not isinstance(entry, dict):
        raise UnreadableTurn("is not a JSON object")
    speaker = _name(entry, "speaker", default="")
    if speaker not in roles:
        raise UnreadableTurn(f"the speaker {speaker!r} is neither speaker_a nor speaker_b")
    text = entry.get("text") or ""
    caption = entry.get("blip_caption") or entry.get("query")
    if caption and isinstance(text, str):
        text = f"{text} [shares a photo: {caption}]".strip()
    return NewMemory(
        session=session,
        role=roles[speaker].value,
        text=check_text(text),
        speaker=speaker,
        metadata={"dia_id": str(entry["dia_id"])} if entry.get("dia_id") else {},
        occurred_at=occurred_at,
    )


def _turn(entry: Mapping[str, Any], *, session: str) -> NewMemory:
    key = "text" if "text" in entry else "content"
    if key not in entry:
        raise UnreadableTurn("has no `text`")
    role = entry.get("role") or Role.USER.value
    if not isinstance(role, str) or (role not in Role.values and role not in _ROLE_NAMES):
        raise UnreadableTurn(f"`role` is {role!r}: use {', '.join(Role.values)}")
    return NewMemory(
        session=_name(entry, "session_id", "session", default=session),
        role=Role(_ROLE_NAMES.get(role, role)).value,
        text=check_text(entry[key]),
        speaker=_name(entry, "speaker", default=""),
        metadata=check_metadata(entry.get("metadata")),
        occurred_at=_moment(entry),
    )


def _cut_turn(memory: NewMemory) -> Iterator[NewMemory]:
    """Yield the turn, or one for each piece of a long text with the number of the piece in its metadata."""
    if len(memory.text) <= MAX_TEXT_CHARS:
        yield memory
        return
    pieces = list(cut(memory.text.strip()))
    for number, piece in enumerate(pieces, start=1):
        place = {METADATA_KEY: {"part": f"{number}/{len(pieces)}"}}
        yield replace(memory, text=piece, metadata={**memory.metadata, **place})


def _name(entry: Mapping[str, Any], *keys: str, default: str) -> str:
    """Return the first of `keys` that has a value, as a name of at most `MAX_NAME_CHARS` characters."""
    for key in keys:
        value = entry.get(key)
        if value is None or value == "":
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise UnreadableTurn(f"`{key}` is not a string")
        if len(value) > MAX_NAME_CHARS:
            raise UnreadableTurn(f"`{key}` has more than {MAX_NAME_CHARS} characters")
        if "\0" in value:
            raise UnreadableTurn(f"`{key}` holds a NUL character")
        return value
    return default


def check_text(text: Any) -> str:
    """Return the text if it can be stored; it may still be too long for one memory. Raise `UnreadableTurn` if not."""
    if not isinstance(text, str):
        raise UnreadableTurn("the text is not a string")
    if not text.strip():
        raise UnreadableTurn("the text is empty")
    if "\0" in text:
        raise UnreadableTurn("the text holds a NUL character")
    return text


def check_metadata(value: Any) -> dict[str, Any]:
    """Return metadata that can be stored, {} for None. Raise `UnreadableTurn` if it can't be stored."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnreadableTurn("`metadata` is not an object")
    if fault := fault_of(value, most_levels=MAX_METADATA_DEPTH):
        place = f"metadata.{fault.place}" if fault.place else "metadata"
        raise UnreadableTurn(f"`{place}` {fault.problem.removesuffix('.')}")
    if len(orjson.dumps(value)) > MAX_METADATA_BYTES:
        raise UnreadableTurn(f"`metadata` has more than {MAX_METADATA_BYTES} bytes")
    return value


def _moment(entry: Mapping[str, Any]) -> datetime | None:
    return read_moment(entry, "occurred_at" if entry.get("occurred_at") is not None else "time")


def read_moment(entry: Mapping[str, Any], key: str) -> datetime | None:
    """Return the UTC time under `key`, None if there is none. Raise `UnreadableTurn` if it isn't a time."""
    value = entry.get(key)
    if value is None:
        return None
    try:
        if isinstance(value, int | float | str) and (clock := read_clock(value)):
            return clock
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise UnreadableTurn(
            f"`{key}` is {value!r}: use an ISO 8601 date and time such as 2026-05-08T13:56:00Z"
        ) from None
