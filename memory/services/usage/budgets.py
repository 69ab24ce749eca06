"""Keeps the budgets of namespaces and keys: their use, and a reservation for each call that counts against one.

A call reserves the most that it may use before it is made, under a lock that all processes share, and is settled by its
actual use. So two concurrent calls cannot both take a remainder that suffices for one. All of it is in PostgreSQL, so
it works while Redis is away.
"""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, QuerySet, Subquery, Sum

from memory import audit
from memory.caches import Cache, for_seconds
from memory.enums import AuditEvent, Degradation
from memory.errors import BudgetExceeded
from memory.governance.budget import Amount, Budget, Limit, list_reached, refusing
from memory.models import ApiKey, AuditLog, Namespace, NamespacePolicy, UsageDay, UsageReservation
from memory.models.locks import Lock, lock_in_transaction
from memory.services.tenancy.policy import governing, propose
from memory.types import Access, Scope

log = logging.getLogger("memos.usage")

# The code in `degraded` of an answer whose models have reached a soft budget.
SOFT_BUDGET = Degradation.BUDGET_SOFT_LIMIT.value
# The time for which a process uses the budgets that it knows.
KNOWN_SECONDS = 2.0
# No call takes longer: an older reservation belongs to a process that was killed.
OPEN_AT_MOST = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Payer:
    """The namespace and key to which a call is attributed; 0 for none."""

    namespace_id: int = 0
    key_id: int = 0
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class HeldBudget:
    """A budget and its owner: the key if `of_key`, otherwise the namespace."""

    budget: Budget
    of_key: bool
    id: int

    @property
    def holder(self) -> str:
        return "key" if self.of_key else "namespace"


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """The use of a budget in the period that ends at `resets`; `reserved` is what open calls may still use."""

    held: HeldBudget
    used: Amount
    reserved: Amount
    resets: datetime

    @property
    def share(self) -> float:
        """Return the used share of the limit that is nearest; 1 when it is reached."""
        return max((float(self.used.of(one.unit) / one.most) for one in self.held.budget.limits()), default=0.0)


_held: Cache[tuple[int, int], tuple[HeldBudget, ...]] = for_seconds(KNOWN_SECONDS)


def find_known_budgets(payer: Payer) -> tuple[HeldBudget, ...] | None:
    """Return the budgets for the payer's calls, from the cache of this process; None when they must be read."""
    return _held.get((payer.namespace_id, payer.key_id))


def budgets_of(payer: Payer) -> tuple[HeldBudget, ...]:
    """Read the payer's budgets: the namespace's first, then the key's."""
    found = []
    if payer.namespace_id:
        found.append(HeldBudget(governing(payer.namespace_id).effective.policy.budget, False, payer.namespace_id))
    key = ApiKey.objects.filter(pk=payer.key_id).first() if payer.key_id else None
    if key is not None:
        found.append(HeldBudget(Budget(**key.budget), True, key.pk))
    return _held.put((payer.namespace_id, payer.key_id), tuple(held for held in found if held.budget))


def reserve(call_id: uuid.UUID, payer: Payer, asked: Amount, *, now: datetime) -> bool:
    """Reserve the most that a call may use; return whether a soft limit is reached by then.

    Raises BudgetExceeded, and reserves nothing then.
    """
    held = budgets_of(payer)
    if not held:
        return False
    try:
        warned = _reserve(call_id, payer, held, asked, now=now)
    except BudgetExceeded as refusal:
        _record_refusal(payer, held, refusal, now=now)
        raise
    return warned


def _reserve(call_id: uuid.UUID, payer: Payer, held: Sequence[HeldBudget], asked: Amount, *, now: datetime) -> bool:
    with transaction.atomic():
        for one in held:
            _lock(one)
        warned = [_admit(one, asked, payer, now=now) for one in held]
        UsageReservation.objects.create(
            id=call_id,
            namespace_id=payer.namespace_id,
            key_id=payer.key_id,
            tokens=asked.tokens,
            cost=asked.usd,
            expires_at=now + OPEN_AT_MOST,
        )
    return any(warned)


def give_back(call_id: uuid.UUID, *, namespace_id: int) -> None:
    """End the reservation of a call, if it has one."""
    UsageReservation.objects.filter(namespace_id=namespace_id, pk=call_id).delete()


def use_of(held: HeldBudget, *, now: datetime) -> BudgetUse:
    """Return the present use of a budget."""
    used, reserved = _amounts(held, now)
    return BudgetUse(held, used, reserved, held.budget.resets(now))


_LIMITS = ("budget.soft_usd", "budget.hard_usd", "budget.soft_tokens", "budget.hard_tokens")


def list_uses(access: Access, *, most: int, now: datetime) -> list[tuple[str, BudgetUse]]:
    """Return the budgets that the caller reaches, each with the name of its namespace or key, fullest first.

    At most `most` namespaces and `most` keys are read. Keys are only listed for callers who reach all.
    """
    found = [(name, held) for pk, name in _list_limited(access)[:most] for held in budgets_of(Payer(pk))]
    if access.all_namespaces:
        unlimited = {name.replace("budget.", "budget_"): 0 for name in _LIMITS}
        for key in ApiKey.objects.filter(revoked_at=None).exclude(**unlimited).order_by("name")[:most]:
            found += [(str(key), held) for held in budgets_of(Payer(key_id=key.pk))]
    uses = [(name, use_of(held, now=now)) for name, held in found]
    return sorted(uses, key=lambda one: -one[1].share)


def _list_limited(access: Access) -> QuerySet[Namespace, tuple[int, str]]:
    """Select the namespaces whose newest policy sets a limit, or all if the server's policy sets one for all."""
    rows = Namespace.objects.order_by("name")
    if not access.all_namespaces:
        rows = rows.filter(pk__in=access.namespace_ids)
    if not propose({}).policy.budget:
        policies = NamespacePolicy.objects.filter(namespace_id=OuterRef("pk")).order_by("-version")
        newest = Subquery(policies.values("overrides")[:1])
        rows = rows.annotate(overrides=newest).filter(overrides__has_any_keys=_LIMITS)
    return rows.values_list("pk", "name")


def forget_expired(*, now: datetime) -> int:
    """Delete the reservations of processes that ended without settling them; return how many."""
    return UsageReservation.objects.across_namespaces().filter(expires_at__lte=now).delete()[0]


def _amounts(held: HeldBudget, now: datetime) -> tuple[Amount, Amount]:
    own = {"key_id": held.id} if held.of_key else {"namespace_id": held.id}
    days = UsageDay.objects.across_namespaces().filter(**own, day__gte=held.budget.begins(now).date())
    used = days.aggregate(
        usd=Sum("cost", default=Decimal(0)), tokens=Sum(F("prompt_tokens") + F("completion_tokens"), default=0)
    )
    calls = UsageReservation.objects.across_namespaces().filter(**own, expires_at__gt=now)
    reserved = calls.aggregate(usd=Sum("cost", default=Decimal(0)), tokens=Sum("tokens", default=0))
    return Amount(**used), Amount(**reserved)


def _lock(held: HeldBudget) -> None:
    lock_in_transaction(Lock.BUDGET_OF_KEY if held.of_key else Lock.BUDGET, held.id)


def _admit(held: HeldBudget, asked: Amount, payer: Payer, *, now: datetime) -> bool:
    """Return whether the call reaches a soft limit. Raises BudgetExceeded."""
    used, reserved = _amounts(held, now)
    limit = refusing(held.budget, used=used + reserved, asked=asked)
    if limit is not None:
        raise _refusal(held, limit, used=used, reserved=reserved, asked=asked, now=now)
    reached = list_reached(held.budget, used=used + reserved, asked=asked)
    for soft in reached:
        # A call may have used more than it asked for, so the limit may be reached before a call asks for more than it.
        if _record_reached(payer, held, soft, now=now):
            most = f"{soft.most:f} {soft.unit}"
            extra = {"of": f"{held.holder} {held.id}", "limit": most, "period": held.budget.period}
            log.warning("a soft budget of model calls is reached", extra=extra)
    return bool(reached)


def _record_refusal(payer: Payer, held: Sequence[HeldBudget], refusal: BudgetExceeded, *, now: datetime) -> None:
    """Record the refusal in a separate transaction, because that of the call was rolled back."""
    spent = next(one for one in held if one.holder == refusal.detail["budget"])
    limit = next(one for one in spent.budget.limits() if one.hard and one.unit == refusal.detail["unit"])
    with transaction.atomic():
        _lock(spent)
        _record_reached(payer, spent, limit, now=now)


def _record_reached(payer: Payer, held: HeldBudget, limit: Limit, *, now: datetime) -> bool:
    """Record in the audit log of the payer's namespace that a limit is reached, under the budget's lock.

    Returns False if it was recorded already in this period.
    """
    kind = "hard" if limit.hard else "soft"
    begun = held.budget.begins(now).date()
    subject = f"budget:{held.holder}:{held.id}:{kind}_{limit.unit}:{begun}"
    events = AuditLog.objects.filter(namespace_id=payer.namespace_id, subject=subject)
    if events.filter(event_type=AuditEvent.BUDGET_REACH.value).exists():
        return False
    name = Namespace.objects.filter(pk=payer.namespace_id).values_list("name", flat=True).first()
    details = {
        "of": held.holder,
        "limit": kind,
        "unit": limit.unit,
        "most": _number(limit.most, limit),
        "period": held.budget.period.value,
        "resets_at": held.budget.resets(now).isoformat(),
    }
    actor = str(ApiKey.objects.filter(pk=payer.key_id).values_list("prefix", flat=True).first() or "")
    scope = Scope(payer.namespace_id, name or "", f"key:{actor}" if actor else "worker", payer.request_id[:64])
    audit.record(scope, AuditEvent.BUDGET_REACH, subject=subject, details=details, now=now)
    return True


def _refusal(
    held: HeldBudget, limit: Limit, *, used: Amount, reserved: Amount, asked: Amount, now: datetime
) -> BudgetExceeded:
    resets = held.budget.resets(now)
    unit = "US dollars" if limit.unit == "usd" else "tokens"
    mend = (
        "issue a key with a larger one"
        if held.of_key
        else f"raise budget.hard_{limit.unit} in the namespace's policy (PUT /v1/policy)"
    )
    taken = _format_amount(used, limit) + (
        f" and {_format_amount(reserved, limit)} reserved" if reserved.of(limit.unit) else ""
    )
    message = (
        f"The {held.holder}'s budget of model calls for this {held.budget.period.value} is spent: of "
        f"{limit.most.normalize():f} {unit} {taken} are used, and the call may take {_format_amount(asked, limit)}. "
        f"It begins anew at {resets:%Y-%m-%dT%H:%M:%SZ}; wait until then, or {mend}."
    )
    detail: dict[str, Any] = {
        "budget": held.holder,
        "unit": limit.unit,
        "period": held.budget.period.value,
        "limit": _number(limit.most, limit),
        "used": _number(used.of(limit.unit), limit),
        "reserved": _number(reserved.of(limit.unit), limit),
        "asked": _number(asked.of(limit.unit), limit),
        "reset_at": resets.isoformat().replace("+00:00", "Z"),
    }
    wait = max(1, math.ceil((resets - now).total_seconds()))
    return BudgetExceeded(message, detail=detail, retry_seconds=wait)


def _number(amount: Decimal, limit: Limit) -> float | int:
    return float(amount) if limit.unit == "usd" else int(amount)


def _format_amount(amount: Amount, limit: Limit) -> str:
    return f"{amount.usd:.4f}" if limit.unit == "usd" else f"{amount.tokens:,}"
