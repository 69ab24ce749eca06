"""What a call of a model over the network is made of; two signals let others refuse it beforehand and account for it.

Receivers of `call_planned` raise to refuse the call. Receivers of `call_ended` hear of every call that was made, of one
that failed too; they do not raise.
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
    """`prompt_tokens` is an estimate; `max_tokens` the most that may be answered, 0 where nothing is generated.

    `id` names the call from its plan to its end.
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
    """Tokens of one call as the provider counted them; None where it did not say. `cached` are some of `prompt`."""

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Of both calls; None where one of them did not say."""
        return TokenUsage(
            _add(self.prompt, other.prompt), _add(self.completion, other.completion), _add(self.cached, other.cached)
        )


def _add(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


@dataclass(frozen=True, slots=True)
class EndedCall:
    """Times in milliseconds; `ttft_ms`, the time to the first token, is None where the answer was no stream.

    `completion_tokens`: an estimate of what was answered, where the provider did not count it and it is known.
    `timed_out`: it failed because no answer came in time. `activation_tokens`: how many tokens of the prompt's
    beginning the model was given as keys and values before the call; None: it was given none.
    """

    planned: PlannedCall
    status: ModelCallStatus
    usage: TokenUsage
    duration_ms: int
    ttft_ms: int | None = None
    completion_tokens: int | None = None
    timed_out: bool = False
    activation_tokens: int | None = None


# Both are sent with `call`.
call_planned = Signal()
call_ended = Signal()


@dataclass(slots=True)
class AnsweredCall:
    """What `announce` is told about the call while it is made."""

    usage: TokenUsage = field(default_factory=TokenUsage)


@contextmanager
def announce(planned: PlannedCall) -> Iterator[AnsweredCall]:
    """Sends both signals around a call whose answer comes at once; one that raises has failed.

    Raises what a receiver of `call_planned` refuses the call with.
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
