"""Which slot of a llama.cpp server a call goes to, prepared before it, and told how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol


class SlotPlan(Protocol):
    """`tokens`: how many of the prompt's beginning the slot has when it is prepared. Neither method raises."""

    @property
    def tokens(self) -> int: ...

    def prepare(self) -> int | None:
        """The slot's number; None where the server chooses."""
        ...

    def end(self, cached: int | None) -> None:
        """`cached`: the tokens of the prompt that the server did not compute; None where it did not say."""
        ...


@dataclass(slots=True)
class PreparedSlot:
    """What a request says of the slot (`fields`), and how many tokens it has: None where the server chooses.

    `cached` is what the server said, once it did."""

    fields: dict[str, Any]
    tokens: int | None = None
    cached: int | None = None


@contextmanager
def prepare_slot(plan: SlotPlan | None) -> Iterator[PreparedSlot]:
    """Prepares the slot of a plan, if there is one, for the call that is made inside."""
    number = plan.prepare() if plan else None
    if plan is None or number is None:
        yield PreparedSlot({})
        return
    prepared = PreparedSlot({"id_slot": number, "cache_prompt": True}, plan.tokens)
    try:
        yield prepared
    finally:
        plan.end(prepared.cached)
