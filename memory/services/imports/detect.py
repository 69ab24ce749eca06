"""Recognises the program that a file comes from, by its content, and chooses the reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from memory import deadline
from memory.enums import ImportFormat
from memory.owners import OWNERS
from memory.parsers.encoding import note_guess
from memory.services.imports import chatgpt, claude, gemini, hindsight, mem0, pam, pasted
from memory.services.imports.container import Part, is_archive, is_zip, list_parts, open_inner_zips
from memory.services.imports.json_stream import read_items, read_names
from memory.services.imports.source import SourceConversation, UnreadableImport
from memory.text.pam import CONVERSATION, STORE

Read = Callable[[Part], Iterator[SourceConversation]]
_Found = tuple[ImportFormat, Part, Read]

_READERS: dict[ImportFormat, Read] = {
    ImportFormat.CHATGPT: chatgpt.read,
    ImportFormat.CLAUDE: claude.read,
    ImportFormat.GEMINI: gemini.read,
    ImportFormat.MEM0: mem0.read,
    ImportFormat.HINDSIGHT: hindsight.read,
    ImportFormat.PAM: pam.read_store,
    ImportFormat.PASTED: pasted.read,
}
# The most names of an object that are read to recognise it.
_NAMES = 50
# The most JSON files and pages of a zip, each of which is opened to recognise it.
MAX_CANDIDATES = 20_000
_KNOWN = "the exports of ChatGPT, Claude and Gemini, dumps of mem0 and hindsight, PAM 1.0, and lines of `date - memory`"


@dataclass(frozen=True, slots=True)
class Recognised:
    """A file of a known format: the parts to read, each with its reader, and the number of other files in a zip."""

    format: ImportFormat
    parts: tuple[tuple[Part, Read], ...]
    files_left_out: int = 0

    @property
    def notes(self) -> list[str]:
        """Return the guesses about encodings, in sentences."""
        return list(dict.fromkeys(note_guess(part.encoding) for part, _ in self.parts if part.guessed))

    def conversations(self) -> Iterator[SourceConversation]:
        """Yield all conversations from the beginning, in the same order each time. Raises UnreadableImport."""
        for part, read in self.parts:
            yield from read(part)


def recognise(path: Path, *, format: ImportFormat | None = None) -> Recognised:
    """Recognise the file; `format` decides if its content does not. Raises UnreadableImport."""
    parts = list_parts(path)
    if not is_archive(path):
        known, part, read = _recognise_part(parts[0], format)
        return Recognised(known, ((part, read),))
    found = _find_in(parts)
    # Zips that were attached to a message are not opened.
    if not found and any(map(is_zip, parts)):
        parts = open_inner_zips(parts, packed=path.stat().st_size)
        found = _find_in(parts)
    return _choose(parts, found, format)


def _find_in(parts: Sequence[Part]) -> list[_Found]:
    """Return the members of a zip that have a known format."""
    found: list[_Found] = []
    candidates = sorted(filter(_may_hold, parts), key=lambda part: part.name)
    if len(candidates) > MAX_CANDIDATES:
        raise UnreadableImport(f"The zip has {len(candidates)} JSON files and pages; {MAX_CANDIDATES} are the limit.")
    for part in candidates:
        deadline.check()
        try:
            found.append(_recognise_part(part, None))
        except UnknownFormat:
            continue
    return found


def _choose(parts: Sequence[Part], found: Sequence[_Found], format: ImportFormat | None) -> Recognised:
    """Choose the parts of a zip that come from one program, and count its other files."""
    formats = {known for known, _, _ in found if known != ImportFormat.PASTED}
    if format is None and len(formats) > 1:
        names = ", ".join(sorted(formats))
        raise UnreadableImport(f"The zip holds exports of several programs ({names}): give each one alone.")
    wanted = format or next(iter(formats), None)
    chosen = tuple((part, read) for known, part, read in found if known == wanted)
    if wanted is None or not chosen:
        raise UnknownFormat(f"The zip holds nothing that can be imported. What can: {_KNOWN}.")
    return Recognised(wanted, chosen, len([part for part in parts if not _is_of_system(part)]) - len(chosen))


def _may_hold(part: Part) -> bool:
    return part.base.lower().endswith((".json", ".jsonl", ".html")) and not _is_of_system(part)


def _is_of_system(part: Part) -> bool:
    """Return whether macOS has added the member."""
    return "__MACOSX" in PurePosixPath(part.name).parts


def _recognise_part(part: Part, format: ImportFormat | None) -> _Found:
    part = part.with_encoding()
    head = part.head().lstrip()
    found = _of_content(part, head)
    if format is not None and (found is None or found[0] != format):
        return format, part, _READERS[format]
    if found is None:
        raise UnknownFormat(f"It cannot be told which program this file comes from. What can be imported: {_KNOWN}.")
    known, read = found
    return known, part, read


def _of_content(part: Part, head: bytes) -> tuple[ImportFormat, Read] | None:
    if head.startswith(b"<"):
        is_activity = b"Gemini" in head or part.base.startswith("MyActivity")
        return (ImportFormat.GEMINI, gemini.read_html) if is_activity else None
    if head.startswith(b"{"):
        return _of_object(part)
    # A date in brackets begins a line of text.
    if head.startswith(b"[") and not pasted.is_line(head):
        return _of_list(part)
    is_text = not part.base.lower().endswith((".json", ".jsonl"))
    return (ImportFormat.PASTED, pasted.read) if is_text else None


def _of_list(part: Part) -> tuple[ImportFormat, Read] | None:
    first = next(read_items(part, "item"), None)
    if not isinstance(first, dict):
        return None
    if "conversations_memory" in first:
        return ImportFormat.CLAUDE, claude.read_memories
    if {"docs", "prompt_template"} <= first.keys():
        return ImportFormat.CLAUDE, claude.read_projects
    known = _of_entry(first)
    return (known, _READERS[known]) if known else None


def _of_entry(entry: dict[str, Any]) -> ImportFormat | None:
    """Recognise the format by the first entry of a list."""
    names = entry.keys()
    if "mapping" in names:
        return ImportFormat.CHATGPT
    if "chat_messages" in names:
        return ImportFormat.CLAUDE
    if str(entry.get("header", "")).startswith("Gemini"):
        return ImportFormat.GEMINI
    return _of_memory(names)


def _of_memory(names: Iterable[str]) -> ImportFormat | None:
    """Recognise the format by the names in a memory, or in a page of them."""
    has = set(names)
    if {"text", "fact_type"} <= has or "items" in has:
        return ImportFormat.HINDSIGHT
    # Other files of exports name a user too.
    if "memory" in has or "results" in has or ("text" in has and has & set(OWNERS)):
        return ImportFormat.MEM0
    return None


def _of_object(part: Part) -> tuple[ImportFormat, Read] | None:
    """Recognise the format by the names of the object that the file is, or begins with."""
    names: list[str] = []
    for name, value in read_names(part, most=_NAMES):
        if name == "schema" and value == CONVERSATION:
            return ImportFormat.PAM, pam.read_one_conversation
        if name == "schema" and value == STORE:
            return ImportFormat.PAM, pam.read_store
        names.append(name)
    known = _of_memory(names)
    return (known, _READERS[known]) if known else None


class UnknownFormat(UnreadableImport):
    """The format of the file cannot be recognised."""
