"""What a language model answers of a preference, whether a statement or choices show it: its fields, and whose turns
it names. What these turns bear is for those to judge who know what shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.enums import FactRefusal
from memory.text.statements import Turn


@dataclass(frozen=True, slots=True)
class ModelEvidence:
    """What a preference is about, whether that is wanted, and the places of the turns that are to show it, in order."""

    about: str
    wanted: bool
    places: tuple[int, ...]


def read_evidence(
    raw: Mapping[str, Any], turns: Sequence[Turn], *, first_new: int, most_turns: int, all_new: bool
) -> ModelEvidence | FactRefusal:
    """What `raw` spells (holder, object, wanted, turns: numbers from 1), or why that is none.

    All turns that it names have to be there, 1 to `most_turns`, and its holder's; the last one, or each of them
    (`all_new`), has to be new: from the place `first_new` on.
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
