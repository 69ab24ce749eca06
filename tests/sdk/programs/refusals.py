"""Catches the error of a call, for programs without pytest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

E = TypeVar("E", bound=Exception)


def refused(kind: type[E], call: Callable[..., Any], *given: Any, **named: Any) -> E:
    """Return the error of the call, which must be of this kind."""
    try:
        call(*given, **named)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")
