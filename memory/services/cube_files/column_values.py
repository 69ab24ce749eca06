"""Checks values of a cube's file for the columns of the database, and maps their ids to those used here."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import models

from memory import audit
from memory.kinds import SESSION_PREFIX
from memory.text.json_values import fault_of
from memory.types import Scope

Row = TypeVar("Row", bound=models.Model)
Line = Mapping[str, Any]
# The deepest nesting, which is that of metadata within its column.
_MOST_LEVELS = 24
# The most versions, retired statements, mentions and so on of one memory.
_MOST_BELONGINGS = 2_000
# The largest number: counters that continue from it must not overflow their columns.
_LARGEST = 1_000_000_000


class UnreadableLine(Exception):
    """A line that is left out; the message gives the reason, and never the content."""


@dataclass(frozen=True, slots=True)
class IdMap:
    """Maps ids of the file to ids here: unchanged or, with `renew`, to new ids that are always the same for the same
    namespace.

    New ids sort as their originals do, and cannot be chosen without the server's secret.
    """

    scope: Scope
    renew: bool

    def find(self, origin: Any) -> uuid.UUID:
        """Return the id here for an id of the file. Raises UnreadableLine."""
        identity = to_uuid(origin)
        if not self.renew:
            return identity
        digest = bytes.fromhex(audit.hash_words(self.scope, "cube id", str(identity)))
        return uuid.UUID(bytes=identity.bytes[:12] + digest[:4])

    def find_session(self, name: str) -> str:
        """Return the name here of a session; that of a document's chunks contains its id."""
        own = name.removeprefix(SESSION_PREFIX)
        return name if own == name else f"{SESSION_PREFIX}{self.find(own)}"


def check_line(line: Line) -> None:
    """Raise UnreadableLine for values that PostgreSQL cannot store."""
    if fault := fault_of(dict(line), most_levels=_MOST_LEVELS):
        raise UnreadableLine(f"{fault.place or 'the line'} {fault.problem.removesuffix('.')}")


def read_row(model: type[Row], line: Line, columns: Sequence[str], ids: IdMap, *, changed: set[str]) -> Row:
    """Return a row of the namespace with its columns checked. Columns in `changed` are left out, but `id` is mapped.

    Raises UnreadableLine.
    """
    values = {name: clean_value(model, name, line.get(name)) for name in columns if name not in changed}
    if "id" in changed:
        values["id"] = ids.find(line.get("id"))
    return model(namespace_id=ids.scope.namespace_id, **values)


def read_row_of(
    model: type[Row],
    line: Any,
    columns: Sequence[str],
    ids: IdMap,
    own: Mapping[str, Any],
    *,
    changed: set[str] | None = None,
) -> Row:
    """Return a row that belongs to the memory whose id is in `own`. See `read_row`. Raises UnreadableLine."""
    if not isinstance(line, dict):
        raise UnreadableLine(f"its {model._meta.verbose_name_plural} are no objects")
    row = read_row(model, line, columns, ids, changed={"id"} if changed is None else changed)
    row.memory_id = own["memory_id"]  # type: ignore[attr-defined]
    return row


def clean_value(model: type[models.Model], name: str, value: Any) -> Any:
    """Return the value as the column may have it. Raises UnreadableLine, which names only the column."""
    column = model._meta.get_field(name)
    if value is None:
        if column.null:
            return None
        raise UnreadableLine(f"{name} is missing")
    expected = getattr(column, "default", None)
    if expected in (dict, list) and not isinstance(value, expected):
        raise UnreadableLine(f"{name} is no {'object' if expected is dict else 'list'}")
    try:
        cleaned = column.to_python(value)  # type: ignore[union-attr]
        if cleaned not in ("", [], {}):
            column.validate(cleaned, None)  # type: ignore[union-attr]
            column.run_validators(cleaned)  # type: ignore[union-attr]
    except (ValidationError, TypeError, ValueError, OverflowError):
        raise UnreadableLine(f"{name} is not what it should be") from None
    if isinstance(cleaned, datetime):
        return _to_utc(cleaned, name)
    if isinstance(cleaned, float) and not math.isfinite(cleaned):
        raise UnreadableLine(f"{name} is no number")
    if isinstance(cleaned, int) and not isinstance(cleaned, bool) and abs(cleaned) > _LARGEST:
        raise UnreadableLine(f"{name} is beyond what is counted")
    return cleaned


def check_spans(flat: Sequence[Any], text: str) -> None:
    """Raise UnreadableLine unless `flat` consists of positions in the text: start and end of each statement in turn."""
    pairs = list(zip(flat[::2], flat[1::2], strict=False))
    if len(flat) % 2 or any(not (isinstance(start, int) and 0 <= start < end <= len(text)) for start, end in pairs):
        raise UnreadableLine("a statement lies outside of its memory")


def list_values(line: Line, name: str) -> list[Any]:
    """Return a list of the line, empty if it has none. Raises UnreadableLine, also for one that is too long."""
    value = line.get(name) or []
    if not isinstance(value, list):
        raise UnreadableLine(f"{name} is no list")
    if len(value) > _MOST_BELONGINGS:
        raise UnreadableLine(f"{name} are more than {_MOST_BELONGINGS}")
    return value


def take_object(line: Line, name: str) -> dict[str, Any]:
    """Return an object of the line. Raises UnreadableLine."""
    value = line.get(name)
    if not isinstance(value, dict):
        raise UnreadableLine(f"{name} is no object")
    return value


def to_uuid(value: Any) -> uuid.UUID:
    """Return the id in a line. Raises UnreadableLine."""
    try:
        return uuid.UUID(value)
    except (TypeError, ValueError, AttributeError):
        raise UnreadableLine("an id is no UUID") from None


def _to_utc(moment: datetime, name: str) -> datetime:
    """Return the moment in UTC. One beyond the supported years could be stored, but never read again."""
    if moment.tzinfo is None:
        raise UnreadableLine(f"{name} has no offset from UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise UnreadableLine(f"{name} lies beyond the years that can be kept") from None
