"""Refuses path ids that are not UUIDs with a 400. With Django's own converter they would be a 404."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.urls import register_converter
from rest_framework.exceptions import ValidationError


class NoId(str):
    """A part of a path that should be a UUID and is not."""

    __slots__ = ()


class IdConverter:
    """Reads `<id:name>` as a UUID, and passes anything else on as NoId, which the view refuses."""

    regex = "[^/]+"

    def to_python(self, value: str) -> uuid.UUID | NoId:
        """Return the UUID, or NoId."""
        try:
            return uuid.UUID(value)
        except ValueError:
            return NoId(value)

    def to_url(self, value: object) -> str:
        """Return the id as it is written in paths."""
        return str(value)


register_converter(IdConverter, "id")


def refuse_wrong_ids(parts: Mapping[str, Any]) -> None:
    """Raise ValidationError for parts of a path that are not UUIDs."""
    wrong = {name: "must be a UUID, as answers have it." for name, value in parts.items() if isinstance(value, NoId)}
    if wrong:
        raise ValidationError(wrong)
