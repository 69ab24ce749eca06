from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from memory.api.fields import StrictCharField
from memory.api.serializers.answer import AnswerFields
from memory.api.serializers.ingest import MessageSerializer
from memory.enums import Role
from memory.types import NewMemory

MAX_MESSAGE_CHARS = 8_000
MAX_MESSAGES = 50
# The search reads at most this many characters of a message.
MAX_QUESTION_CHARS = 2_000


class ChatSerializer(AnswerFields):
    """A message in a session, given as `message` or `messages`, to be answered from memory and remembered."""

    # A chat sends its question as `message` or `messages`.
    query = None  # type: ignore[assignment]
    message = StrictCharField(
        required=False, min_length=1, max_length=MAX_MESSAGE_CHARS, help_text="What the user says"
    )
    messages: serializers.ListSerializer = serializers.ListSerializer(
        child=MessageSerializer(),
        required=False,
        min_length=1,
        max_length=MAX_MESSAGES,
        error_messages={
            "not_a_list": "must be a list.",
            "max_length": "has more than {max_length} items.",
            "min_length": "must not be empty.",
        },
        help_text="Instead of `message`: what is new in the session, the user's question last. All of it is remembered",
    )

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        problems = _shape_problems(data) if isinstance(data, Mapping) else {}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**error.detail, **problems}) from error  # type: ignore[dict-item]
        if problems:
            raise serializers.ValidationError(problems)
        if problem := _problem_of_last(values):
            raise serializers.ValidationError({"messages": problem})
        return values

    @staticmethod
    def to_turns(values: Mapping[str, Any], *, session: str) -> list[NewMemory]:
        """Return the validated messages that hold text, the question last."""
        if "messages" not in values:
            return [NewMemory(session=session, role=Role.USER, text=values["message"])]
        return [
            NewMemory(session=session, role=one["role"], text=one["content"].text, speaker=one["name"] or "")
            for one in values["messages"]
            if one["content"] and one["content"].text
        ]


def _shape_problems(data: Mapping[str, Any]) -> dict[str, list[str]]:
    if "message" in data and "messages" in data:
        return {"message": ["must not come with `messages`: the question is the last of them."]}
    if "message" not in data and "messages" not in data:
        return {"message": ["is missing; a list of what is new goes into `messages`."]}
    return {}


def _problem_of_last(values: Mapping[str, Any]) -> str:
    if "messages" not in values:
        return ""
    last = values["messages"][-1]
    text = last["content"].text if last["content"] else ""
    if last["role"] != Role.USER or not text:
        return "must end with a message of the user that holds text: the question."
    too_long = len(text) > MAX_MESSAGE_CHARS
    return f"must end with a question of at most {MAX_MESSAGE_CHARS} characters." if too_long else ""
