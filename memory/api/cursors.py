"""Writes and reads the cursors of lists. A cursor names its list, so that a cursor of another list is refused."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers


def write_cursor(listed: str, place: uuid.UUID | str | None) -> str | None:
    """Return the `next_cursor` of a page of the list `listed`, or None after the last page."""
    return f"{listed}.{place}" if place else None


@extend_schema_field({"type": "string"})
class PageCursorField(serializers.Field):
    """Reads the `next_cursor` of a page of the list `listed`."""

    default_error_messages = {"invalid": "must be the `next_cursor` of a page of this list."}

    def __init__(self, listed: str, **options: Any) -> None:
        self._listed = listed
        super().__init__(
            **{"required": False, "default": None, "help_text": "`next_cursor` of the page before", **options}
        )

    def to_internal_value(self, data: Any) -> uuid.UUID:
        listed, _, place = str(data).rpartition(".")
        try:
            if listed != self._listed:
                raise ValueError
            return uuid.UUID(place)
        except ValueError:
            self.fail("invalid")

    def to_representation(self, value: Any) -> Any:
        return value
