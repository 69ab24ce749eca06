"""Describes calls of models over the network, with two signals to refuse a call beforehand and to account for it.

Receivers of `call_planned` may raise to refuse the call. Receivers of `call_ended` get every call that was made,
including failed ones, and must not raise.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.dispatch import Signal
from uuid_utils.compat import uuid7

from memory.enums import ModelCallStatus, ModelKind, ModelPurpose


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A planned call. `prompt_tokens` is an estimate, `max_tokens` the limit of the answer, 0 if there is none.

    `id` identifies the call from its plan to its end.
    """

    kind: ModelKind
    purpose: ModelPurpose
    provider: str
    model: str
    prompt_tokens: int
    max_tokens: int = 0
    id: uuid.UUID = field(default_factory=uuid7)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one call as counted by the provider, None if it didn't say. `cached` tokens are part of `prompt`."""

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Add the tokens of two calls; a sum is None if one of them is."""
        return TokenUsage(
            _add(self.prompt, other.prompt), _add(self.completion, other.completion), _add(self.cached, other.cached)
        )


def _add(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


@dataclass(frozen=True, slots=True)
class EndedCall:
    """A call that has ended, with times in milliseconds; `ttft_ms` (time to first token) is None without a stream.

    `completion_tokens` is an estimate if the provider didn't count the answer. `timed_out` means that no answer came in
    time. `activation_tokens` is the number of tokens at the start of the prompt whose keys and values were given to the
    model, None if none were.
    """

    planned: PlannedCall
    status: ModelCallStatus
    usage: TokenUsage
    duration_ms: int
    ttft_ms: int | None = None
    completion_tokens: int | None = None
    timed_out: bool = False
    activation_tokens: int | None = None


# Both signals have the argument `call`.
call_planned = Signal()
call_ended = Signal()


@dataclass(slots=True)
class AnsweredCall:
    """Collects the token usage of a call while it is made, for `announce`."""

    usage: TokenUsage = field(default_factory=TokenUsage)


@contextmanager
def announce(planned: PlannedCall) -> Iterator[AnsweredCall]:
    """Send both signals around a call whose answer comes at once; the call failed if the block raises.

    Raise what a receiver of `call_planned` refuses the call with.
    """
    call_planned.send(sender=PlannedCall, call=planned)
    answered = AnsweredCall()
    status = ModelCallStatus.FAILED
    started = time.monotonic()
    try:
        yield answered
        status = ModelCallStatus.OK
    finally:
        duration = round((time.monotonic() - started) * 1000)
        call_ended.send(sender=PlannedCall, call=EndedCall(planned, status, answered.usage, duration))
