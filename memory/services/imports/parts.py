"""Collects the text of an exported message, and counts by kind the parts without text.

A part of an unknown kind contributes the text under the usual names; words under other names are counted as `other`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

CITATION, MEDIA, OTHER, THOUGHT, TOOL = "citation", "media", "other", "thought", "tool"

# The names under which parts hold text, in the order of reading.
_TEXT_NAMES = (
    "title", "text", "snippet", "result", "summary", "content", "parts", "output", "output_str", "transcript",
    "caption", "extracted_content",
)  # fmt: skip
# Claude's tools that write for the person, not for a program, and the names of the text in their input.
_WRITTEN = {"artifacts": ("title", "content", "new_str"), "create_file": ("path", "file_text")}
_MEDIA_WORDS = ("pointer", "image", "audio", "video", "file")


@dataclass(slots=True)
class Said:
    """The pieces of a message's text, and the numbers of its parts that are left out, by kind."""

    pieces: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """Return the pieces, each on a line."""
        return "\n".join(self.pieces)

    def add(self, part: Any) -> None:
        """Add a part: a text, a list of parts, or an object by its kind."""
        if isinstance(part, str):
            self._say(part)
        elif isinstance(part, list):
            for inner in part:
                self.add(inner)
        elif isinstance(part, dict):
            self._add_object(part)

    def add_file(self, file: Mapping[str, Any]) -> None:
        """Add the text that was extracted from a file, under the file's name; a file without one is counted."""
        content = Said()
        content.add({name: value for name, value in file.items() if name in _TEXT_NAMES})
        if content.pieces:
            self.add(file.get("file_name"))
            self.pieces += content.pieces
        else:
            self.left_out[MEDIA] += 1
        self.left_out += content.left_out

    def count(self, kind: str, values: Any) -> None:
        """Count the entries of a list that are left out; any other value, if present, counts as one."""
        self.left_out[kind] += len(values) if isinstance(values, list) else bool(values)
        self.left_out += Counter()

    def _say(self, text: str) -> None:
        if text.strip() and not any(text in piece for piece in self.pieces):
            self.pieces.append(text)

    def _add_object(self, part: dict[str, Any]) -> None:
        kind = str(part.get("content_type") or part.get("type") or "")
        if "thinking" in kind or kind in ("thoughts", "reasoning_recap"):
            self.left_out[THOUGHT] += 1
        elif kind.endswith("tool_use") and part.get("name") in _WRITTEN and isinstance(part.get("input"), dict):
            self._add_written(part["input"], _WRITTEN[part["name"]])
        elif "tool_use" in kind or "tool_result" in kind:
            self.left_out[TOOL] += 1
        else:
            self._add_named(part, kind)

    def _add_named(self, part: dict[str, Any], kind: str) -> None:
        before = len(self.pieces), self.left_out.total()
        for name in _TEXT_NAMES:
            self.add(part.get(name))
        self.count(CITATION, part.get("citations"))
        rest = (value for name, value in part.items() if name not in _TEXT_NAMES and name != "citations")
        if before == (len(self.pieces), self.left_out.total()) and any(word in kind for word in _MEDIA_WORDS):
            self.left_out[MEDIA] += 1
        elif _has_words(rest):
            self.left_out[OTHER] += 1

    def _add_written(self, values: dict[str, Any], names: Iterable[str]) -> None:
        for name in names:
            self.add(values.get(name))
        if _has_words(value for name, value in values.items() if name not in names):
            self.left_out[TOOL] += 1


def _has_words(values: Iterable[Any]) -> bool:
    """Return whether a text of several words is among the values, at any depth."""
    for value in values:
        if isinstance(value, str) and len(value.split()) > 1:
            return True
        if isinstance(value, dict) and _has_words(value.values()):
            return True
        if isinstance(value, list) and _has_words(value):
            return True
    return False
