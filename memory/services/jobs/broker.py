"""Implements the queue in PostgreSQL: a cluster takes messages of its priority, from each namespace in turn."""

from __future__ import annotations

import time
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import Q
from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import OrmQ

from memory.enums import JobPriority
from memory.services.jobs.lanes import LANES_OF_PRIORITY, Lane, Rotation, priority_of_cluster
from memory.services.jobs.new_turns import NewTurns

# Takes the first due message of each lane, from the key after the last served one and then from the beginning.
_NEXT = """
SELECT lane.name, found.id, found.key, found.lock, found.payload
FROM unnest(%(lanes)s::text[], %(firsts)s::text[], %(serveds)s::text[], %(lasts)s::text[])
    WITH ORDINALITY AS lane (name, first, served, last, place)
CROSS JOIN LATERAL (
    SELECT * FROM (
        (SELECT 1 AS round, id, key, lock, payload FROM django_q_ormq
         WHERE key > lane.served AND key <= lane.last AND lock < %(now)s ORDER BY key, lock, id LIMIT 1)
        UNION ALL
        (SELECT 2, id, key, lock, payload FROM django_q_ormq
         WHERE key >= lane.first AND key <= lane.served AND lock < %(now)s ORDER BY key, lock, id LIMIT 1)
    ) AS either ORDER BY round LIMIT 1
) AS found
ORDER BY lane.place LIMIT 1
"""


class _Message(NamedTuple):
    lane: Lane
    id: int
    key: str
    lock: datetime
    payload: str


class FairBroker(ORM):
    """Gives the cluster `list_key` the next message of its priority; a message that is not acknowledged comes again
    after MEMOS_JOB_RETRY_SECONDS.
    """

    def __init__(self, list_key: str | None = None) -> None:
        super().__init__(list_key)
        self._begin()

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self._begin()

    def _begin(self) -> None:
        self.priority = priority_of_cluster(self.list_key)
        self._rotation = Rotation(LANES_OF_PRIORITY[self.priority])
        self._new_turns = NewTurns()
        self._pause = settings.Q_CLUSTER["ALT_CLUSTERS"].get(self.list_key, {}).get("poll", Conf.POLL)

    def dequeue(self) -> list[tuple[int, str]] | None:
        """Returns the next message as (id, payload); [] when another cluster was faster, None after a pause
        without any.
        """
        self.get_connection()
        started = time.monotonic()
        if self.priority is JobPriority.NORMAL:
            self.follow_turns()
        message = self._look()
        if message is None:
            # Scanning messages that wait for a later attempt takes only a small part of the time, however many there
            # are.
            time.sleep(max(self._pause, 10 * (time.monotonic() - started)))
            return None
        self._rotation.advance(message.lane, message.key)
        due_again = self.timeout(message)
        if not OrmQ.objects.filter(pk=message.id, lock=message.lock).update(lock=due_again):
            return []
        return [(message.id, message.payload)]

    def follow_turns(self) -> None:
        """Queues the jobs that follow new turns, when it is time to look for new turns."""
        self._new_turns.look(now=timezone.now())

    def queue_size(self) -> int:
        """Counts the due messages of this cluster."""
        return self._messages().filter(lock__lte=timezone.now()).count()

    def lock_size(self) -> int:
        """Counts the messages that a worker has, or that wait for another attempt."""
        return self._messages().filter(lock__gt=timezone.now()).count()

    def _messages(self) -> Any:
        own = [Q(key__gte=lane.first_key, key__lte=lane.last_key) for lane in self._rotation.lanes]
        return self.get_connection().filter(reduce(or_, own))

    def _look(self) -> _Message | None:
        lanes = self._rotation.order()
        served = self._rotation.served
        with connection.cursor() as cursor:
            cursor.execute(
                _NEXT,
                {
                    "lanes": [lane.value for lane in lanes],
                    "firsts": [lane.first_key for lane in lanes],
                    "serveds": [served[lane] for lane in lanes],
                    "lasts": [lane.last_key for lane in lanes],
                    "now": timezone.now(),
                },
            )
            row = cursor.fetchone()
        return _Message(Lane(row[0]), *row[1:]) if row else None
