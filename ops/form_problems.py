"""Refusals of services beside the fields of the form that they are about."""

from __future__ import annotations

from memory.errors import MemosError

FormProblems = dict[str, str]


def place_problem(error: MemosError, **fields: str) -> FormProblems:
    """What was refused, by the form's field; "" where it is about none of them.

    `fields` are the form's names of the fields that the service names.
    """
    detail = error.detail if isinstance(error.detail, dict) else {}
    return {fields.get(str(detail.get("field", "")), ""): error.message}
