"""A pack's text as it is handed over, and what is known of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from memory.enums import PackSection

_PREFIX = (PackSection.PROCEDURAL, PackSection.DURABLE)


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Where a section of the text ends: after so many characters (code points), and after so many tokens."""

    section: PackSection
    characters: int
    tokens: int


@dataclass(frozen=True, slots=True)
class RenderedPack:
    """`text` is what is handed over, `tokens` its cost; `knowledge` is the text without instructions and tools.

    `procedural_tokens`: what all instructions and tools cost, kept or not. `breakpoints`: the ends of the sections that
    the text has. `manifest` is JSON-able, see `render_pack`.
    """

    text: str
    tokens: int
    knowledge: str
    procedural_tokens: int
    breakpoints: tuple[Breakpoint, ...]
    manifest: dict[str, Any]

    @property
    def prefix(self) -> str:
        """The beginning of the text that is the same for every question."""
        return self.text[: max((end.characters for end in self._prefix_ends), default=0)]

    @property
    def prefix_tokens(self) -> int:
        """Returns the tokens of the prefix."""
        return max((end.tokens for end in self._prefix_ends), default=0)

    @property
    def prefix_sha256(self) -> str:
        """The prefix in a short form, to compare with that of another question; in hexadecimal digits."""
        return hashlib.sha256(self.prefix.encode()).hexdigest()

    def describe_prefix(self) -> dict[str, Any]:
        """What answers say of it: `prefix_sha256`, `prefix_tokens` and `breakpoints`."""
        ends = [{"section": e.section, "characters": e.characters, "tokens": e.tokens} for e in self.breakpoints]
        return {"prefix_sha256": self.prefix_sha256, "prefix_tokens": self.prefix_tokens, "breakpoints": ends}

    @property
    def _prefix_ends(self) -> list[Breakpoint]:
        return [end for end in self.breakpoints if end.section in _PREFIX]
