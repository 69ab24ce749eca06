"""Reads the key of a preference from its metadata, after checking that it is genuine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.enums import PreferenceSource
from memory.text import choices, preferences


def find_key(said: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the key of a record, or None if it isn't the key of the record's object.

    Records also arrive in cube files, which anyone may have written, and each term of a key costs a look-up.
    """
    named, about = said.get("key"), said.get("object")
    if not isinstance(named, list) or not isinstance(about, str) or len(about) > preferences.MAX_OBJECT_CHARS:
        return None
    if said.get("shown_by") == PreferenceSource.CHOICES:
        right = choices.key_of(about)
    else:
        right = preferences.key_of(about, wanted=bool(said.get("wanted")))
    return right if right and sorted(map(str, named)) == sorted(right) else None
