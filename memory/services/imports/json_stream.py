"""Reads a JSON file of any size one value at a time, and refuses files that would exhaust the machine's memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import ijson
from ijson.common import JSONError

from memory.services.imports.container import MAX_ITEM_BYTES, Part
from memory.services.imports.source import UnreadableImport

# The deepest nesting that is read.
MAX_LEVELS = 100
_STARTS = frozenset({"start_map", "start_array"})
_ENDS = frozenset({"end_map", "end_array"})


def read_items(part: Part, prefix: str, *, lines: bool = False) -> Iterator[Any]:
    """Yield the values at `prefix` in the syntax of ijson: `item` for those of a list, `results.item` for those of a
    member.

    `lines`: one value after the other, as in JSON lines. Raises UnreadableImport.
    """
    with part.open() as stream, _saying_why():
        source = _BoundedStream(stream)
        events = _guard(ijson.basic_parse(source, use_float=True, multiple_values=lines))
        for item in ijson.items(ijson.parse(events), prefix):
            source.start_item()
            yield item


def read_names(part: Part, *, most: int) -> Iterator[tuple[str, Any]]:
    """Yield the first names of the object that the file is, each with its value if that is plain. Raises
    UnreadableImport."""
    with part.open() as stream, _saying_why():
        source = _BoundedStream(stream)
        name, level, found = "", 0, 0
        for event, value in _guard(ijson.basic_parse(source, use_float=True, multiple_values=True)):
            level += (event in _STARTS) - (event in _ENDS)
            if event == "map_key" and level == 1:
                name, found = value, found + 1
            elif level == 1 and event not in _ENDS and event != "start_map":
                yield name, value
            elif level == 2 and event in _STARTS:
                yield name, None
            if level == 0 or found > most:
                return
            source.start_item()


@contextmanager
def _saying_why() -> Iterator[None]:
    try:
        yield
    except (JSONError, UnicodeDecodeError) as error:
        raise UnreadableImport(_describe(error)) from None


def _guard(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    level = 0
    for event in events:
        if event[0] in _STARTS:
            level += 1
            if level > MAX_LEVELS:
                raise UnreadableImport(f"The JSON is nested more than {MAX_LEVELS} levels deep: no export is.")
        elif event[0] in _ENDS:
            level -= 1
        yield event


def _describe(error: Exception) -> str:
    """Describe the error without the parser's quotation, which may contain anything."""
    first = error.args[0] if error.args else ""
    says = first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)
    if isinstance(error, UnicodeDecodeError) or "UTF8" in says:
        return "The file is not UTF-8. Save it as UTF-8, or give the export as it was downloaded."
    if "EOF" in says:
        return "The JSON ends too early: the file is cut off. Download or copy it again."
    return f"The file is not valid JSON ({says.splitlines()[0].strip()})."


class _BoundedStream:
    """A stream that raises when one value takes more than MAX_ITEM_BYTES."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._read = 0

    def start_item(self) -> None:
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        if self._read > MAX_ITEM_BYTES:
            raise UnreadableImport(
                f"One value of the file is larger than {MAX_ITEM_BYTES // 1024**2} MB: no conversation is."
            )
        data = self._stream.read(size)
        self._read += len(data)
        return data
