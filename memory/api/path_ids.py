"""Refuses ids in paths that are no UUID; with Django's own converter such a route would not be found."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.urls import register_converter
from rest_framework.exceptions import ValidationError


class NoId(str):
    """Marks a part of a path that should be an id and is not."""

    __slots__ = ()


class IdConverter:
    """Reads `<id:name>` as a UUID, and passes anything else on as NoId, which the view refuses."""

    regex = "[^/]+"

    def to_python(self, value: str) -> uuid.UUID | NoId:
        """Returns the UUID, or NoId."""
        try:
            return uuid.UUID(value)
        except ValueError:
            return NoId(value)

    def to_url(self, value: object) -> str:
        """Returns the id as paths have it."""
        return str(value)


register_converter(IdConverter, "id")


def refuse_wrong_ids(parts: Mapping[str, Any]) -> None:
    """Raises ValidationError for parts of a path that are no ids."""
    wrong = {name: "must be a UUID, as answers have it." for name, value in parts.items() if isinstance(value, NoId)}
    if wrong:
        raise ValidationError(wrong)
