"""Fields of a message as chat SDKs send it: roles under their usual names, and content as text or in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.enums import Role

MAX_TEXT_CHARS = 20_000
# Other names that chat SDKs use for the roles.
_ALIASES = {"assistant": Role.AGENT, "developer": Role.SYSTEM, "function": Role.TOOL}
ROLE_NAMES = [*Role.choices, *((name, f"the same as {role}") for name, role in _ALIASES.items())]
# Types of parts that hold text, in OpenAI's chat and Responses APIs.
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


class RoleField(serializers.ChoiceField):
    """A role, under its own name or one that chat SDKs use."""

    default_error_messages = {
        "invalid_choice": "must be one of user, agent (or assistant), system (or developer), tool (or function).",
        "required": "is missing.",
        "null": "must not be null.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(ROLE_NAMES, **options)

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        return str(_ALIASES.get(name, name))


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a message, and the kinds of its parts that are not text."""

    text: str = ""
    left_out: tuple[str, ...] = ()


@extend_schema_field(
    {
        "description": "What it says: a text of up to 20,000 characters, or parts, of which those of type text are "
        "joined. A message without text, as one that only calls tools, is skipped",
        "oneOf": [
            {"type": "string", "maxLength": MAX_TEXT_CHARS},
            {"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "object"}]}},
            {"type": "object", "description": "One part"},
        ],
        "nullable": True,
    }
)
class ContentField(serializers.Field):
    """A message's content, read as Content. It is None if the message has none."""

    default_error_messages = {
        "invalid": "must be a text, a part, a list of parts, or null.",
        "part": "must be a text or an object with `type`.",
        "part_text": "must have a text in `text`.",
        "too_long": f"has more than {MAX_TEXT_CHARS} characters: send it to /v1/documents.",
        "nul": "Null characters are not allowed.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)

    def to_internal_value(self, data: Any) -> Content:
        if isinstance(data, str):
            content = Content(data)
        elif isinstance(data, list):
            content = self._join_parts(data)
        elif isinstance(data, Mapping):
            content = self._join_parts([data])
        else:
            self.fail("invalid")
        if len(content.text) > MAX_TEXT_CHARS:
            self.fail("too_long")
        if "\0" in content.text:
            self.fail("nul")
        return content if content.text.strip() else Content(left_out=content.left_out)

    def _join_parts(self, parts: list[Any]) -> Content:
        texts: list[str] = []
        left_out: dict[str, None] = {}
        for place, part in enumerate(parts):
            kind = part.get("type") if isinstance(part, Mapping) else None
            if isinstance(part, str):
                texts.append(part)
            elif not isinstance(kind, str):
                self._refuse(place, "part")
            elif kind not in _TEXT_PARTS:
                left_out[kind[:40]] = None
            elif not isinstance(text := part.get("text"), str):
                self._refuse(place, "part_text")
            else:
                texts.append(text)
        return Content("\n".join(texts), tuple(left_out))

    def _refuse(self, place: int, problem: str) -> None:
        raise serializers.ValidationError({place: self.error_messages[problem]}, code=problem)  # type: ignore[dict-item]
