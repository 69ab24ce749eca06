"""Adds a user's name to a question that has the display name, and the other way round."""

from __future__ import annotations

from dataclasses import replace

from memory.caches import Cache, for_seconds
from memory.models import User
from memory.retrieval.question import Question
from memory.text.names import speaker_key
from memory.types import Scope

# A changed display name takes effect after at most this many seconds.
KNOWN_SECONDS = 10.0

# The name keys (name, display name) of a namespace's users who have both, by namespace id.
_names: Cache[int, list[tuple[str, str]]] = for_seconds(KNOWN_SECONDS)


def add_names(scope: Scope, question: Question) -> Question:
    """Adds the other name of each user who is named in the question to its names.

    So memories that clients store under a user's name ("u-17") are found by a question that has the display name ("Mei
    Lin") or its first word.
    """
    asked = set(question.name_keys)
    if not asked:
        return question
    pairs = [
        pair
        for name, shown in _read(scope)
        for pair in ((name, shown), (shown, name), (shown.split(" ")[0], name), (shown.split(" ")[0], shown))
    ]
    added = [other for name, other in pairs if name in asked and other not in asked]
    return replace(question, name_keys=[*question.name_keys, *dict.fromkeys(added)]) if added else question


def _read(scope: Scope) -> list[tuple[str, str]]:
    known = _names.get(scope.namespace_id)
    if known is None:
        rows = User.objects.in_scope(scope).exclude(display_name="").values_list("name", "display_name")
        keys = [(speaker_key(name), speaker_key(shown)) for name, shown in rows]
        known = _names.put(scope.namespace_id, [pair for pair in keys if all(pair) and pair[0] != pair[1]])
    return known
