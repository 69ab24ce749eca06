"""Reads working memory: Redis names the memories, and the database decides which of them still count."""

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
    """Return the ids of all memories in working memory, newest first; none (logged) while Redis is away."""
    hours = in_force(scope.namespace_id).policy.working_memory_hours
    try:
        return working.newest(scope.namespace_id, limit=working.NEWEST, hours=hours, now=now)
    except RedisAway as error:
        log.warning("working memory skipped", extra={"reason": str(error)})
        return []


def why_asked(scope: Scope) -> dict[uuid.UUID, working.RepeatedAsking]:
    """Return the memories that a session keeps asking for, with the session and how often; none while Redis is away."""
    try:
        return working.askings(scope.namespace_id)
    except RedisAway as error:
        log.warning("reasons of working memory skipped", extra={"reason": str(error)})
        return {}


def texts_of(scope: Scope, memory_ids: Collection[uuid.UUID], *, now: datetime) -> dict[uuid.UUID, str]:
    """Return the texts of those of the memories that retrieval may return, by id."""
    holding = Q(valid_to=None) | Q(valid_to__gt=now)
    rows = Memory.objects.in_scope(scope).active().filter(holding, pk__in=memory_ids)
    return dict(rows.values_list("pk", "text"))


def tidy(scope: Scope, *, now: datetime) -> int:
    """Drop memories that no longer exist or are no longer active; return how many. Called after a reset or an
    erasure."""
    named: Sequence[uuid.UUID] = newest_ids(scope, now=now)
    there = texts_of(scope, named, now=now)
    try:
        return working.drop(scope.namespace_id, [identity for identity in named if identity not in there])
    except RedisAway as error:
        log.warning("working memory kept until it expires", extra={"reason": str(error)})
        return 0
