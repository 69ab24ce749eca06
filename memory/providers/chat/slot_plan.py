"""Chooses and prepares the slot of a llama.cpp server for a call, and reports how the call ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol


class SlotPlan(Protocol):
    """A plan for a slot that holds `tokens` of the prompt's beginning once it is prepared. No method raises."""

    @property
    def tokens(self) -> int: ...

    def prepare(self) -> int | None:
        """Prepare the slot and return its number, or None to let the server choose."""
        ...

    def end(self, cached: int | None) -> None:
        """Report the end of the call, and how many tokens of the prompt the server reused (None if unknown)."""
        ...


@dataclass(slots=True)
class PreparedSlot:
    """The request's `fields` for the slot, and the number of tokens in it, None if the server chooses.

    `cached` is the number of reused tokens once the server has reported it.
    """

    fields: dict[str, Any]
    tokens: int | None = None
    cached: int | None = None


@contextmanager
def prepare_slot(plan: SlotPlan | None) -> Iterator[PreparedSlot]:
    """Prepare the slot of a plan, if there is one, for the call in the block."""
    number = plan.prepare() if plan else None
    if plan is None or number is None:
        yield PreparedSlot({})
        return
    prepared = PreparedSlot({"id_slot": number, "cache_prompt": True}, plan.tokens)
    try:
        yield prepared
    finally:
        plan.end(prepared.cached)
