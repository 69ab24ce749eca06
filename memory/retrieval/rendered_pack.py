"""Holds the rendered text of a pack, its token counts, and its prefix."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from memory.enums import PackSection

_PREFIX = (PackSection.PROCEDURAL, PackSection.DURABLE)


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Holds the end of a section, in `characters` (code points) and in `tokens` from the beginning of the text."""

    section: PackSection
    characters: int
    tokens: int


@dataclass(frozen=True, slots=True)
class RenderedPack:
    """Holds the `text` of a pack and its cost in `tokens`.

    `knowledge`: the text without instructions and tools. `procedural_tokens`: the cost of all instructions and tools,
    kept or cut. `breakpoints`: the ends of the sections that the text has. `manifest`: see
    `render_pack`; it can be encoded as JSON.
    """

    text: str
    tokens: int
    knowledge: str
    procedural_tokens: int
    breakpoints: tuple[Breakpoint, ...]
    manifest: dict[str, Any]

    @property
    def prefix(self) -> str:
        """Returns the beginning of the text that is the same for every question."""
        return self.text[: max((end.characters for end in self._prefix_ends), default=0)]

    @property
    def prefix_tokens(self) -> int:
        """Returns the tokens of the prefix."""
        return max((end.tokens for end in self._prefix_ends), default=0)

    @property
    def prefix_sha256(self) -> str:
        """Returns the SHA-256 of the prefix in hexadecimal digits, by which two prefixes can be compared."""
        return hashlib.sha256(self.prefix.encode()).hexdigest()

    def describe_prefix(self) -> dict[str, Any]:
        """Returns the fields that answers have about the prefix: `prefix_sha256`, `prefix_tokens` and `breakpoints`."""
        ends = [{"section": e.section, "characters": e.characters, "tokens": e.tokens} for e in self.breakpoints]
        return {"prefix_sha256": self.prefix_sha256, "prefix_tokens": self.prefix_tokens, "breakpoints": ends}

    @property
    def _prefix_ends(self) -> list[Breakpoint]:
        return [end for end in self.breakpoints if end.section in _PREFIX]
