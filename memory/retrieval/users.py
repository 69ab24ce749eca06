"""Finds a user's name when a question has the display name, and the other way round."""

from __future__ import annotations

from dataclasses import replace

from memory.caches import Cache, for_seconds
from memory.models import User
from memory.retrieval.question import Question
from memory.text.names import speaker_key
from memory.types import Scope

# A display name that was just changed counts after this many seconds at most.
KNOWN_SECONDS = 10.0

# Maps a namespace to the name keys (name, display name) of its users who have both.
_names: Cache[int, list[tuple[str, str]]] = for_seconds(KNOWN_SECONDS)


def add_names(scope: Scope, question: Question) -> Question:
    """Adds to the names in the question the other name of each user of the namespace who is named in it.

    A user is found under the name by which clients store memories ("u-17") when a question has the display name ("Mei
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
