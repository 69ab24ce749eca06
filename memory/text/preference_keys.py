"""What a preference's record in the metadata says that it is about, as far as it can be relied on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.enums import PreferenceSource
from memory.text import choices, preferences


def find_key(said: Mapping[str, Any]) -> frozenset[str] | None:
    """The key of a record; None unless it is the one that its object has, of a length that an object may have.

    Records come with cubes' files, too, whoever made these: a key of many terms costs a look-up for each.
    """
    named, about = said.get("key"), said.get("object")
    if not isinstance(named, list) or not isinstance(about, str) or len(about) > preferences.MAX_OBJECT_CHARS:
        return None
    if said.get("shown_by") == PreferenceSource.CHOICES:
        right = choices.key_of(about)
    else:
        right = preferences.key_of(about, wanted=bool(said.get("wanted")))
    return right if right and sorted(map(str, named)) == sorted(right) else None
