"""The turns that came while a policy had settling turned off: they wait, and are compared once it is on again."""

from __future__ import annotations

from django.db import connection
from django.db.models.functions import Coalesce

from memory.models import Session
from memory.services.tenancy.policy import in_force
from memory.types import Scope

# Rows that others hold wait for the next look.
_TAKE_UP = """
WITH waiting AS MATERIALIZED (
    SELECT namespace_id, name FROM memory_session
    WHERE namespace_id = %(namespace_id)s AND skipped_turn IS NOT NULL
    ORDER BY name COLLATE "default" FOR UPDATE SKIP LOCKED
)
UPDATE memory_session s SET settled_turn = least(s.settled_turn, s.skipped_turn), skipped_turn = NULL
FROM waiting w WHERE s.namespace_id = w.namespace_id AND s.name = w.name
"""


def note(scope: Scope, session: str, *, after: int) -> None:
    """Notes that the session's turns after this one are passed over; the first such note stays."""
    rows = Session.objects.in_scope(scope).filter(name=session)
    rows.update(skipped_turn=Coalesce("skipped_turn", after))


def take_up(only: int | None = None) -> int:
    """Sets sessions back to where settling was turned off, in the namespaces (or the `only` one) in which it is on
    again; returns how many."""
    sessions = Session.objects.across_namespaces() if only is None else Session.objects.filter(namespace_id=only)
    waiting = sessions.filter(skipped_turn__isnull=False).order_by().values_list("namespace_id", flat=True)
    taken = 0
    for namespace_id in sorted(waiting.distinct()):
        if in_force(namespace_id).policy.settle_conflicts:
            with connection.cursor() as cursor:
                cursor.execute(_TAKE_UP, {"namespace_id": namespace_id})
                taken += cursor.rowcount
    return taken
