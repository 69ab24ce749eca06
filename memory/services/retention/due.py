"""Selects the memories that a policy would archive now: one condition for the sweep and for its preview."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from memory.enums import MemoryState, SweepRule
from memory.governance.policy import Policy
from memory.governance.strength import SINCE_SQL, STRENGTH_SQL, Strength, parameters, strength
from memory.kinds import KIND_SQL
from memory.text.translatable import Sentence
from memory.text.translatable import gettext_noop as _

# A restored memory is not archived for this long, however weak it is.
GRACE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Due:
    """A memory that is due, with the rule and its strength now."""

    memory_id: uuid.UUID
    rule: SweepRule
    kind: str
    strength: Strength

    def explain(self, policy: Policy) -> dict[str, Any]:
        """Return the rule, the reason in a sentence, and the parts of the strength."""
        parts = {name: round(value, 6) for name, value in asdict(self.strength).items()}
        if self.rule == SweepRule.DECAYED:
            below = _("Its strength %(strength)s is below the floor %(floor)s.")
            reason = Sentence(below, strength=f"{self.strength.value:.4f}", floor=f"{policy.floor:g}")
        else:
            reason = Sentence(_("Its time to live is over."))
        return {"rule": self.rule.value, "reason": reason, "kind": self.kind, "strength": parts}


@dataclass(frozen=True, slots=True)
class DueCounts:
    """The number of active memories, and how many of them would be archived by each rule."""

    active: int
    decayed: int
    expired: int


_FROM = """
FROM memory_memory m LEFT JOIN memory_memoryupkeep u ON u.namespace_id = m.namespace_id AND u.memory_id = m.id
WHERE m.namespace_id = %(namespace_id)s AND m.state = %(active)s
"""
_EXEMPT = """(%(held)s OR m.pinned OR coalesce(u.legal_hold, false) OR coalesce(u.restored_at > %(grace)s, false))"""
_EXPIRED = """coalesce(%(now)s >= coalesce(u.expires_at, CASE WHEN %(ttl_days)s > 0
    THEN greatest(m.created_at, u.restored_at) + make_interval(days => %(ttl_days)s) END), false)"""
_DECAYED = f"(%(decay)s AND {STRENGTH_SQL} < %(floor)s)"

# The condition that a memory `m` with its upkeep `u` is due, with the parameters of `bind_parameters`.
DUE_SQL = f"(NOT {_EXEMPT} AND ({_EXPIRED} OR {_DECAYED}))"

_DUE = f"""
SELECT m.id, {_EXPIRED}, {KIND_SQL}, m.importance, coalesce(u.uses, 0), {SINCE_SQL}
{_FROM} AND {DUE_SQL} {{which}}
ORDER BY m.id LIMIT %(limit)s {{lock}}
"""
_PAGE = _DUE.format(which="AND m.id > %(after)s", lock="")
_LOCKED_PAGE = _DUE.format(which="AND m.id > %(after)s", lock="FOR UPDATE OF m SKIP LOCKED")
_STILL = _DUE.format(which="AND m.id = ANY(%(ids)s::uuid[])", lock="")

_COUNTS = f"""
SELECT count(*), count(*) FILTER (WHERE NOT {_EXEMPT} AND NOT {_EXPIRED} AND {_DECAYED}),
       count(*) FILTER (WHERE NOT {_EXEMPT} AND {_EXPIRED})
{_FROM}
"""
FIRST = uuid.UUID(int=0)


def page(namespace_id: int, policy: Policy, *, after: uuid.UUID = FIRST, limit: int, now: datetime) -> list[Due]:
    """Return the due memories with an id above `after`, in the order of their ids."""
    return _due(_PAGE, namespace_id, policy, now=now, after=after, limit=limit)


def lock_page(
    namespace_id: int, policy: Policy, *, after: uuid.UUID, limit: int, now: datetime
) -> tuple[list[Due], uuid.UUID | None]:
    """Return a page with the rows locked, without rows that another transaction has locked, and where the next page
    starts.

    The rows are read again once they are locked: a memory that was put under a hold or restored meanwhile is not due.
    """
    taken = _due(_LOCKED_PAGE, namespace_id, policy, now=now, after=after, limit=limit)
    if not taken:
        return [], None
    ids = [due.memory_id for due in taken]
    still = _due(_STILL, namespace_id, policy, now=now, ids=ids, limit=limit)
    return still, ids[-1] if len(ids) == limit else None


def counts(namespace_id: int, policy: Policy, *, now: datetime) -> DueCounts:
    """Count the due memories."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, bind_parameters(namespace_id, policy, now=now))
        return DueCounts(*cursor.fetchone())


def _due(statement: str, namespace_id: int, policy: Policy, *, now: datetime, **which: Any) -> list[Due]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {**bind_parameters(namespace_id, policy, now=now), **which})
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
    return [
        Due(
            memory_id,
            SweepRule.EXPIRED if expired else SweepRule.DECAYED,
            kind,
            strength(
                importance=importance,
                half_life_days=policy.half_life_days[kind],
                uses=uses,
                since=since,
                now=now,
            ),
        )
        for memory_id, expired, kind, importance, uses, since in rows
    ]


def bind_parameters(namespace_id: int, policy: Policy, *, now: datetime) -> dict[str, Any]:
    """Return the parameters of the conditions and expressions of this module."""
    return {
        **parameters(policy.half_life_days, now=now),
        "namespace_id": namespace_id,
        "active": MemoryState.ACTIVE.value,
        "held": policy.legal_hold,
        "grace": now - GRACE,
        "ttl_days": policy.ttl_days,
        "decay": policy.decay,
        "floor": policy.floor,
    }
