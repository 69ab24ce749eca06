"""Finds the speakers that a question names, if the columns do not know them."""

from __future__ import annotations

from collections.abc import Collection

from memory.models.sql import fetch, uuid_array
from memory.retrieval.question import Question
from memory.text.names import speaker_key
from memory.types import Scope

# A turn that was stored a moment ago has no names in the index of entities yet: its speaker's name is one of its words.
_SPEAKERS = """
SELECT k.key, o.name FROM memory_entityalias k
JOIN memory_entityalias o ON o.namespace_id = k.namespace_id AND o.entity = k.entity
WHERE k.namespace_id = %(namespace_id)s AND k.key = ANY(%(keys)s) AND o.spoke
UNION
SELECT '', speaker FROM memory_memory
WHERE namespace_id = %(namespace_id)s AND id = ANY(%(ids)s::uuid[]) AND speaker <> ''
"""


def find_named(scope: Scope, question: Question, ids: Collection[str]) -> frozenset[str]:
    """Returns the name keys of the question that name a speaker, also by another name, and the keys of these
    speakers; `ids` are memories that hold its words."""
    if not question.name_keys:
        return frozenset()
    asked = set(question.name_keys)
    parameters = {"namespace_id": scope.namespace_id, "keys": list(asked), "ids": uuid_array(ids)}
    found: set[str] = set()
    for key, name in fetch(_SPEAKERS, parameters, prepared=False):
        speaker = speaker_key(name)
        if speaker and (key or speaker in asked):
            found.update((key or speaker, speaker))
    return frozenset(found)
