"""Reads pairs of an older and a newer message, one a line: U (the newer replaces the older) or N (it only looks so)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

# The first two were written with the rules in view; the others by people who had not read them.
PAIRS = ("pairs", "pairs_same_form", "pairs_personal", "pairs_work", "pairs_zh", "pairs_plain", "pairs_plain_zh")
FRESH = PAIRS[2:]
# Pairs in other words, and pairs of facts about one person, which are only reported.
COUNTED = ("pairs_words", "pairs_words_zh", "pairs_facts")


@dataclass(frozen=True, slots=True)
class Line:
    """Holds a line of the file `name`."""

    name: str
    replaces: bool
    older: str
    newer: str

    @property
    def held_out(self) -> bool:
        """Tells whether the line only reports: all of COUNTED, three tenths of FRESH by a hash of the older message."""
        digest = hashlib.sha256(f"settling {self.older}".encode()).hexdigest()
        return self.name in COUNTED or (self.name in FRESH and int(digest, 16) % 10 < 3)


def lines_of(name: str) -> list[Line]:
    """Returns the lines of one of PAIRS or COUNTED. Raises ValueError unless a line is a label and two messages."""
    found = []
    text = (Path(__file__).parent / f"{name}.tsv").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        label, *messages = line.split("\t")
        if label not in ("U", "N") or len(messages) != 2 or not all(messages):
            raise ValueError(f"{name}.tsv, line {number}: write U or N, the older and the newer message, with tabs")
        found.append(Line(name, label == "U", *messages))
    return found
