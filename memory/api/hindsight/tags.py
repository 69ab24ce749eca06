"""Stores the fields that only hindsight's clients send in a memory's metadata, and filters memories by their tags."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.db.models import TextChoices

# Metadata key for the fields of these routes that are not the client's own metadata.
KEY = "hindsight"
_TAGS, _SCOPE = f"metadata.{KEY}.tags", f"metadata.{KEY}.scope"


class TagMatch(TextChoices):
    """The ways to match the tags of a query. Modes that are not strict also match memories without tags."""

    ANY = "any"
    ALL = "all"
    ANY_STRICT = "any_strict"
    ALL_STRICT = "all_strict"
    EXACT = "exact"


def name_scope(tags: Sequence[str]) -> str:
    """Return a string that identifies a set of tags."""
    return json.dumps(sorted(set(tags)), ensure_ascii=False)


def filter_by(tags: Sequence[str] | None, match: str) -> dict[str, Any] | None:
    """Return the filter (docs/reference/filters.md) for memories with these tags, or None if every memory matches."""
    if match == TagMatch.EXACT:
        return {_SCOPE: name_scope(tags)} if tags else {_SCOPE: {"exists": False}}
    if not tags:
        return None
    held = [{_TAGS: {"contains": tag}} for tag in dict.fromkeys(tags)]
    wanted = {"or": held} if match in (TagMatch.ANY, TagMatch.ANY_STRICT) else {"and": held}
    if match in (TagMatch.ANY_STRICT, TagMatch.ALL_STRICT):
        return wanted
    return {"or": [{_SCOPE: {"exists": False}}, wanted]}
