"""Reads a language model's answer about a preference, which a statement or repeated choices may show.

Its fields and the owners of its turns are checked here; the callers check what the turns show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.enums import FactRefusal
from memory.text.statements import Turn


@dataclass(frozen=True, slots=True)
class ModelEvidence:
    """The object of a preference, whether it is wanted, and the places in order of the turns that should show it."""

    about: str
    wanted: bool
    places: tuple[int, ...]


def read_evidence(
    raw: Mapping[str, Any], turns: Sequence[Turn], *, first_new: int, most_turns: int, all_new: bool
) -> ModelEvidence | FactRefusal:
    """Return what `raw` says (holder, object, wanted, turns numbered from 1), or the reason to refuse it.

    It must name 1 to `most_turns` existing turns, all by its holder. The last of them must be new, that is at
    `first_new` or later; with `all_new`, each of them.
    """
    about, wanted, named = raw.get("object"), raw.get("wanted"), raw.get("turns")
    if not isinstance(about, str) or not about.split() or not isinstance(wanted, bool):
        return FactRefusal.MALFORMED
    if not isinstance(named, list) or not 1 <= len(named) <= most_turns:
        return FactRefusal.MALFORMED
    if not all(type(number) is int and 1 <= number <= len(turns) for number in named):
        return FactRefusal.NO_NEW_SOURCE
    places = tuple(sorted({number - 1 for number in named}))
    if places[0 if all_new else -1] < first_new:
        return FactRefusal.NO_NEW_SOURCE
    if any(raw.get("holder") != (turns[place].speaker or turns[place].role) for place in places):
        return FactRefusal.HOLDER
    return ModelEvidence(about, wanted, places)
