"""Argument types that several commands share."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from memory.types import compose_name

MAX_NAME_CHARS = 128


def name(value: str) -> str:
    """Read the name of a namespace or session, which has 1 to 128 characters."""
    if not value.strip() or len(value) > MAX_NAME_CHARS or "\0" in value:
        raise ArgumentTypeError(f"a name has 1 to {MAX_NAME_CHARS} characters")
    return compose_name(value)


def whole_number(minimum: int, maximum: int = 2**31 - 1) -> Callable[[str], int]:
    """Return a type for whole numbers within the limits, both included."""

    def read(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            raise ArgumentTypeError(f"{value!r} is not a whole number") from None
        if not minimum <= number <= maximum:
            raise ArgumentTypeError(f"{number} is outside {minimum}..{maximum}")
        return number

    return read


def amount(value: str) -> Decimal:
    """Read an amount of money: 0 or more, with at most four decimals."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ArgumentTypeError(f"{value!r} is not a number") from None
    if not number.is_finite() or not 0 <= number < 10**8 or number != round(number, 4):
        raise ArgumentTypeError(f"{value} is no amount from 0 to 99,999,999.9999")
    return number
