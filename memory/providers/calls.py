"""What a call of a model over the network is made of; two signals let others refuse it beforehand and account for it.

Receivers of `call_planned` raise to refuse the call. Receivers of `call_ended` hear of every call that was made, of one
that failed too; they do not raise.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.dispatch import Signal

from memory.enums import ModelCallStatus, ModelKind, ModelPurpose


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """`prompt_tokens` is an estimate; `max_tokens` the most that may be answered, 0 where nothing is generated."""

    kind: ModelKind
    purpose: ModelPurpose
    provider: str
    model: str
    prompt_tokens: int
    max_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one call as the provider counted them; None where it did not say. `cached` are some of `prompt`."""

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class EndedCall:
    """Times in milliseconds; `ttft_ms`, the time to the first token, is None where the answer was no stream."""

    planned: PlannedCall
    status: ModelCallStatus
    usage: TokenUsage
    duration_ms: int
    ttft_ms: int | None = None


# Both are sent with `call`.
call_planned = Signal()
call_ended = Signal()
