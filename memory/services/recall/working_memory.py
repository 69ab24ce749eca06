"""Working memory as it is now: what Redis names is read from the database, which has the last word."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Sequence
from datetime import datetime

from django.db.models import Q

from memory.errors import RedisAway
from memory.models import Memory
from memory.services.tenancy.policy import in_force
from memory.stores import working
from memory.types import Scope

log = logging.getLogger("memos.working")


def newest_ids(scope: Scope, *, now: datetime) -> list[uuid.UUID]:
    """All that working memory names, newest first; nothing (logged) while Redis is away."""
    hours = in_force(scope.namespace_id).policy.working_memory_hours
    try:
        return working.newest(scope.namespace_id, limit=working.NEWEST, hours=hours, now=now)
    except RedisAway as error:
        log.warning("working memory skipped", extra={"reason": str(error)})
        return []


def why_asked(scope: Scope) -> dict[uuid.UUID, working.RepeatedAsking]:
    """Of what working memory names because a session keeps asking for it: which one, how often; nothing while Redis is
    away."""
    try:
        return working.askings(scope.namespace_id)
    except RedisAway as error:
        log.warning("why memories are kept in mind is not known", extra={"reason": str(error)})
        return {}


def texts_of(scope: Scope, memory_ids: Collection[uuid.UUID], *, now: datetime) -> dict[uuid.UUID, str]:
    """The texts of those of the memories that retrieval may return."""
    holding = Q(valid_to=None) | Q(valid_to__gt=now)
    rows = Memory.objects.in_scope(scope).active().filter(holding, pk__in=memory_ids)
    return dict(rows.values_list("pk", "text"))


def tidy(scope: Scope, *, now: datetime) -> int:
    """Drops what is no longer there or no longer active; returns how many. For after a reset or an erasure."""
    named: Sequence[uuid.UUID] = newest_ids(scope, now=now)
    there = texts_of(scope, named, now=now)
    try:
        return working.drop(scope.namespace_id, [identity for identity in named if identity not in there])
    except RedisAway as error:
        log.warning("working memory kept until it expires", extra={"reason": str(error)})
        return 0
