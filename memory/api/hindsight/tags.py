"""How a memory keeps what only hindsight's clients give it, and finds it again by their tags."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.db.models import TextChoices

# The key of a memory's metadata that holds what these routes were given besides the client's own metadata.
KEY = "hindsight"
_TAGS, _SCOPE = f"metadata.{KEY}.tags", f"metadata.{KEY}.scope"


class TagMatch(TextChoices):
    """How tags that are asked for go with those of a memory; those that are not strict let untagged memories in."""

    ANY = "any"
    ALL = "all"
    ANY_STRICT = "any_strict"
    ALL_STRICT = "all_strict"
    EXACT = "exact"


def name_scope(tags: Sequence[str]) -> str:
    """One string for a set of tags."""
    return json.dumps(sorted(set(tags)), ensure_ascii=False)


def filter_by(tags: Sequence[str] | None, match: str) -> dict[str, Any] | None:
    """The filter (docs/reference/filters.md) that memories with these tags meet; None when nothing is asked."""
    if match == TagMatch.EXACT:
        return {_SCOPE: name_scope(tags)} if tags else {_SCOPE: {"exists": False}}
    if not tags:
        return None
    held = [{_TAGS: {"contains": tag}} for tag in dict.fromkeys(tags)]
    wanted = {"or": held} if match in (TagMatch.ANY, TagMatch.ANY_STRICT) else {"and": held}
    if match in (TagMatch.ANY_STRICT, TagMatch.ALL_STRICT):
        return wanted
    return {"or": [{_SCOPE: {"exists": False}}, wanted]}
