"""Receives a signal for every call of a model: checks the budgets before it, and stores a row after it."""

from __future__ import annotations

import logging
import uuid
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memory import caller
from memory.enums import ModelCallStatus
from memory.governance.budget import Amount
from memory.models import ModelCall
from memory.models.keys import first_id_of
from memory.models.queries.usage import add_call
from memory.postgresql import reach
from memory.providers.calls import EndedCall, PlannedCall, TokenUsage, call_ended, call_planned
from memory.services.usage import budgets, prices
from memory.services.usage.bookkeeper import book
from memory.services.usage.budgets import SOFT_BUDGET, Payer

log = logging.getLogger("memos.usage")

# The most open calls of this process: one that never ends must not be kept for ever.
_MOST_OPEN = 10_000
_BATCH = 5_000

# The payers of the open calls: an answer that is streamed may end where the caller is no longer known.
_payers: OrderedDict[uuid.UUID, Payer] = OrderedDict()


def connect() -> None:
    """Have this process account for its calls of models from now on."""
    call_planned.connect(_plan, dispatch_uid="memory.services.usage.plan")
    call_ended.connect(_end, dispatch_uid="memory.services.usage.end")


def forget(*, now: datetime) -> int:
    """Delete calls older than MEMOS_MODEL_CALLS_DAYS, and expired reservations; return how many."""
    oldest = first_id_of(now - timedelta(days=settings.MEMOS_MODEL_CALLS_DAYS))
    old = ModelCall.objects.across_namespaces().filter(pk__lt=oldest).order_by("pk")
    deleted = budgets.forget_expired(now=now)
    while keys := list(old.values_list("pk", flat=True)[:_BATCH]):
        deleted += ModelCall.objects.across_namespaces().filter(pk__in=keys).delete()[0]
    return deleted


def _plan(*, call: PlannedCall, **_signal: Any) -> None:
    """Reserve what the call may use. Raises BudgetExceeded."""
    payer = _payer_now()
    _payers[call.id] = payer
    while len(_payers) > _MOST_OPEN:
        _payers.popitem(last=False)
    if not payer.namespace_id and not payer.key_id:
        return
    held = budgets.find_known_budgets(payer)
    if held is None:
        held = book(partial(budgets.budgets_of, payer))
    if not held:
        return
    cost = prices.cost_of(call.provider, call.model, prompt=call.prompt_tokens, cached=0, completion=call.max_tokens)
    asked = Amount(usd=cost.usd if cost else Amount().usd, tokens=call.prompt_tokens + call.max_tokens)
    try:
        warned = book(partial(budgets.reserve, call.id, payer, asked, now=timezone.now()))
    except Exception:
        _payers.pop(call.id, None)
        raise
    warnings = caller.current().warnings
    if warned and SOFT_BUDGET not in warnings:
        warnings.append(SOFT_BUDGET)


def _end(*, call: EndedCall, **_signal: Any) -> None:
    """Store the call. Errors are logged, so that the answer that was paid for is not lost."""
    payer = _payers.pop(call.planned.id, None) or _payer_now()
    try:
        row = _row(call, payer, now=timezone.now())
        book(partial(_keep, row))
    except Exception as error:
        # Log no traceback, which would include the provider's error that is being handled, with whatever it contains.
        model = f"{call.planned.provider}/{call.planned.model}"
        reason = f"{type(error).__name__}: {error}"
        extra = {"model": model, "call": str(call.planned.id), "reason": reason}
        log.error("a call of a model could not be kept", extra=extra)


def _payer_now() -> Payer:
    now = caller.current()
    return Payer(reach.only_namespace() or now.namespace_id, now.key_id or 0, now.request_id)


def _row(call: EndedCall, payer: Payer, *, now: datetime) -> ModelCall:
    usage = _count_tokens(call)
    planned = call.planned
    cost = None
    if usage.prompt is not None:
        cost = prices.cost_of(
            planned.provider,
            planned.model,
            prompt=usage.prompt,
            cached=usage.cached or 0,
            completion=usage.completion or 0,
        )
    return ModelCall(
        id=planned.id,
        namespace_id=payer.namespace_id,
        key_id=payer.key_id or None,
        at=now - timedelta(milliseconds=call.duration_ms),
        purpose=planned.purpose,
        kind=planned.kind,
        provider=planned.provider[:40],
        model=planned.model[:200],
        prompt_tokens=usage.prompt,
        cached_tokens=usage.cached,
        completion_tokens=usage.completion,
        activation_tokens=call.activation_tokens,
        estimated=usage.prompt is not None and call.usage.prompt is None,
        ttft_ms=call.ttft_ms,
        duration_ms=call.duration_ms,
        status=call.status,
        cost=cost.usd if cost else None,
        price_source=cost.source if cost else "",
        price_date=cost.date if cost else None,
        request_id=payer.request_id[:64],
    )


def _count_tokens(call: EndedCall) -> TokenUsage:
    """Return the tokens as the provider counted them, or an estimate if it did not report them but worked on an answer.

    A call that timed out may be charged, so it counts: otherwise slow calls would evade every budget.
    """
    has_begun = call.status != ModelCallStatus.FAILED or call.ttft_ms is not None or call.timed_out
    if call.usage.prompt is not None or not has_begun:
        return call.usage
    completion = call.completion_tokens if call.usage.completion is None else call.usage.completion
    return TokenUsage(call.planned.prompt_tokens, completion, call.usage.cached)


def _keep(row: ModelCall) -> None:
    """Store the row, its part in the sums of the day, and the end of its reservation, together."""
    has_failed = row.status == ModelCallStatus.FAILED
    with transaction.atomic():
        row.save(force_insert=True)
        add_call(row, day=row.at.astimezone(UTC).date(), failed=has_failed)
        budgets.give_back(row.pk, namespace_id=row.namespace_id)
