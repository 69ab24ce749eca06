"""Fills sessions and namespaces with the demo conversations."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from memory.demo.conversations import Conversation, conversation, conversations
from memory.demo.procedures import demo_procedures
from memory.models import Memory
from memory.services.retention.exemptions import exempt
from memory.services.sessions.seed import ensure_procedures, fill_session
from memory.services.tenancy.empty_namespace import fill_namespace
from memory.types import Access, Scope

# The conversation that a single session is filled with; its pitfalls answer 我踩过哪些坑？
DEFAULT = "payments-weekly"


def seed_session(scope: Scope, *, session: str, reset: bool, now: datetime) -> list[uuid.UUID]:
    """Fill one session with a demo conversation, and return its memories' ids in order.

    Repeating it adds nothing and returns the ids of the first time. After a reset (`reset=True`, or an earlier
    `reset_session`) it fills the session again. Raise WindowUnavailable if a reset is requested while Redis is away.
    """
    turns = conversation(DEFAULT).memories(session=session, now=now)
    return fill_session(scope, session=session, turns=turns, reset=reset, now=now).memory_ids


def seed_demo_namespace(access: Access, *, namespace: str, now: datetime, reset: bool = False) -> int:
    """Fill `namespace` with all demo conversations, one session each; return the number of new memories.

    Repeating it adds nothing; `reset` empties those sessions first. The prompt and tools are created once. Raise
    NotFound if the caller doesn't reach the namespace, WindowUnavailable like `seed_session`.
    """
    new = 0
    with fill_namespace(access, name=namespace) as scope:
        for entry in conversations():
            turns = entry.memories(session=entry.session, now=now)
            filled = fill_session(scope, session=entry.session, turns=turns, reset=reset, now=now)
            if not filled.replayed:
                new += len(filled.memory_ids)
                _let_expire(scope, entry, now=now)
        ensure_procedures(demo_procedures(scope.namespace_id))
    return new


def _let_expire(scope: Scope, entry: Conversation, *, now: datetime) -> None:
    rows = Memory.objects.in_scope(scope).in_session(entry.session)
    for words, days in entry.expires_in_days:
        found = list(rows.filter(text__contains=words).values_list("pk", flat=True))
        exempt(scope, memory_ids=found, reason="The demo", expires_at=now + timedelta(days=days), now=now)
