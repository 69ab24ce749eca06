"""Shows errors of services next to the form fields that they concern."""

from __future__ import annotations

from memory.errors import MemosError

FormProblems = dict[str, str]


def place_problem(error: MemosError, **fields: str) -> FormProblems:
    """Return the error by the form's field, or under "" if it concerns none of them.

    `fields` maps the service's field names to those of the form.
    """
    detail = error.detail if isinstance(error.detail, dict) else {}
    return {fields.get(str(detail.get("field", "")), ""): error.message}
