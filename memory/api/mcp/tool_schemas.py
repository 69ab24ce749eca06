"""Declares the arguments of the tools as JSON schemas: the fields of the routes that are useful to a model."""

from __future__ import annotations

from typing import Any

from memory.api.message_fields import MAX_TEXT_CHARS, ROLE_NAMES
from memory.api.serializers.answer import LEAST_ANSWER_TOKENS, MOST_ANSWER_TOKENS
from memory.api.serializers.query import MAX_CUBES, MAX_PACK_TOKENS
from memory.enums import MemoryKind, MemoryState, Role
from memory.services.memories.change import MAX_REASON_CHARS

Schema = dict[str, Any]


def an_object(properties: dict[str, Schema], *required: str, closed: bool = False) -> Schema:
    """Returns the schema of an object; a `closed` one allows no other properties."""
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    if closed:
        schema["additionalProperties"] = False
    return schema


def _text(says: str = "", **limits: Any) -> Schema:
    return {"type": "string", **({"description": says} if says else {}), **limits}


def _list_of(items: Schema, says: str = "") -> Schema:
    return {"type": "array", "items": items, **({"description": says} if says else {})}


def _number(least: int, most: int, says: str) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most, "description": says}


_ID = _text("The memory's id, a UUID")
_MOMENT = "(ISO 8601)"
_NAMESPACE = _text(
    "Whose memory it is; leave it out where the key reaches just one namespace", minLength=1, maxLength=128
)
_SESSION = _text("The conversation; left out: that of the day, named by its date", minLength=1, maxLength=128)
_ZONE = _text("In which the user's days begin: an IANA name such as Europe/Vienna", maxLength=100)
_REASON = _text("Why, for the audit log", minLength=1, maxLength=MAX_REASON_CHARS)
_REVISION = {
    "type": "integer",
    "minimum": 1,
    "maximum": 999_999_999,
    "description": "The `revision` that was read: changed since, nothing is done",
}
_REPEAT_KEY = _text(
    "Your own name for this call: sent again with the same arguments, nothing is done twice", minLength=1, maxLength=200
)
_ROLES = {"type": "string", "enum": [name for name, _ in ROLE_NAMES]}
_WHEN = {
    "as_of": _text(f"Answer with what was recorded and believed by then {_MOMENT}"),
    "valid_at": _text(f"What holds at that time; left out: what holds now {_MOMENT}"),
}
_FILTER = {
    "type": "object",
    "description": 'What the memories must meet: {"speaker": "Ann", "occurred_at": {"gte": "2026-05-01T00:00:00Z"}}',
}
_QUESTION = {
    "query": _text("What to look for, in plain words", minLength=1, maxLength=2000),
    "namespace": _NAMESPACE,
    "top_k": _number(1, 50, "Memories to bring back"),
    "filter": _FILTER,
    **_WHEN,
    "timezone": _ZONE,
}
_MESSAGE = an_object(
    {"role": _ROLES, "content": _text(maxLength=MAX_TEXT_CHARS), "name": _text("Who says it", maxLength=128)},
    "role",
    "content",
)
_CONTENTS = {
    "speaker": _text("Who said it", maxLength=128),
    "occurred_at": _text(f"When it was said {_MOMENT}"),
    "metadata": {"type": "object", "description": "Anything of your own, returned with the memory"},
}

ADD_INPUT = an_object(
    {
        "text": _text("What to remember: one statement, complete in itself", minLength=1, maxLength=MAX_TEXT_CHARS),
        "messages": {**_list_of(_MESSAGE, "Instead of `text`: messages of a conversation"), "maxItems": 1000},
        "namespace": _NAMESPACE,
        "session_id": _SESSION,
        "role": {**_ROLES, "description": "Which side said `text`; left out: user"},
        "timezone": _ZONE,
        **_CONTENTS,
        "idempotency_key": _REPEAT_KEY,
    },
    closed=True,
)
SEARCH_MEMORIES_INPUT = an_object(
    {
        **_QUESTION,
        "cubes": {
            **_list_of(_text(), "Cubes to search as well, or instead where `namespace` is left out: their ids, UUIDs"),
            "maxItems": MAX_CUBES,
        },
        "min_relevance": {"type": "number", "minimum": 0, "maximum": 1, "description": "Leave out what is below"},
    },
    "query",
    closed=True,
)
_OFFSET = {"type": "integer", "minimum": 0, "description": "`next_offset` of the part of the text before"}
GET_INPUT = an_object({"memory_id": _ID, "offset": _OFFSET}, "memory_id", closed=True)
LIST_INPUT = an_object(
    {
        "namespace": _NAMESPACE,
        "session_id": _text("Of this conversation only", maxLength=128),
        "speaker": _text("Said by", maxLength=128),
        "role": {"type": "string", "enum": list(Role.values)},
        "kind": {"type": "string", "enum": list(MemoryKind.values)},
        "state": {"type": "string", "enum": [*MemoryState.values, "any"], "description": "Left out: active"},
        "since": _text(f"It happened then or later {_MOMENT}"),
        "until": _text(f"It happened before {_MOMENT}"),
        "text": _text("All of these words, in any of their forms", maxLength=500),
        "pinned": {"type": "boolean"},
        "current": {"type": "boolean", "description": "true: what still holds; false: what holds no longer"},
        "limit": _number(1, 200, "Memories of the page; left out: 50"),
        "cursor": _text("`next_cursor` of the page before"),
    },
    closed=True,
)
UPDATE_INPUT = an_object(
    {
        "memory_id": _ID,
        "text": _text("What it is to say instead", minLength=1, maxLength=MAX_TEXT_CHARS),
        **_CONTENTS,
        "metadata": {"type": "object", "description": "Takes the place of all that is there"},
        "importance": {"type": "number", "minimum": 0, "maximum": 1},
        "reason": _REASON,
        "revision": _REVISION,
        "idempotency_key": _REPEAT_KEY,
    },
    "memory_id",
    closed=True,
)
DELETE_INPUT = an_object(
    {"memory_id": _ID, "reason": _REASON, "revision": _REVISION, "idempotency_key": _REPEAT_KEY},
    "memory_id",
    closed=True,
)
CONTEXT_INPUT = an_object(
    {
        **_QUESTION,
        "session_id": _SESSION,
        "max_tokens": _number(1, MAX_PACK_TOKENS, "Tokens that the text may have"),
        "min_relevance": {"type": "number", "minimum": 0, "maximum": 1, "description": "Leave out what is below"},
    },
    "query",
    closed=True,
)
ANSWER_INPUT = an_object(
    {
        **_QUESTION,
        "session_id": _SESSION,
        "max_tokens": _number(LEAST_ANSWER_TOKENS, MOST_ANSWER_TOKENS, "Tokens that the answer may have"),
    },
    "query",
    closed=True,
)
SEARCH_INPUT = an_object({"query": _QUESTION["query"], "namespace": _NAMESPACE}, "query", closed=True)
FETCH_INPUT = an_object({"id": _text("The `id` of a result of `search`"), "offset": _OFFSET}, "id", closed=True)
