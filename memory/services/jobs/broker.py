"""Extends django-q2's broker: a cluster gets a message whenever a job of its priority is due.

The worker claims the job when it takes the message (`runner.work`). A message that nobody needs any more does nothing,
and one that is lost is made again by the next look: the job's row is the queue.
"""

from __future__ import annotations

import uuid

from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.signing import SignedPackage

from memory.enums import JobPriority
from memory.models import Job
from memory.postgresql import reach

# django-q2's names of the clusters. Its default cluster runs the schedules.
CLUSTERS = {priority: priority.label for priority in JobPriority} | {JobPriority.NORMAL: "memos"}
_PRIORITIES = {cluster: priority for priority, cluster in CLUSTERS.items()}


class WorkBroker(ORM):
    """Hands out the work that `find_work` names, and what is in django-q2's table: the runs of schedules."""

    def find_work(self) -> tuple[str, tuple[int, ...]] | None:
        """Returns the function that a worker is to call, and its arguments; None when there is nothing to do."""
        raise NotImplementedError

    def dequeue(self) -> list[tuple[int | None, str]] | None:
        """Returns messages as (id, payload); None after a pause without any."""
        # Closes a connection that has been lost.
        self.get_connection()
        with reach.across_namespaces():
            work = self.find_work()
        messages: list[tuple[int | None, str]] = [(None, self._write_message(*work))] if work else []
        # django-q2 pauses where its table has no message.
        if not messages or self.queue_size():
            messages += super().dequeue() or []
        return messages or None

    def _write_message(self, func: str, arguments: tuple[int, ...]) -> str:
        message = {"id": uuid.uuid4().hex, "name": self.list_key, "func": func, "args": arguments, "kwargs": {}}
        payload: str = SignedPackage.dumps({**message, "started": timezone.now()})
        return payload


class JobBroker(WorkBroker):
    """Has the workers of a priority carry out its next due job."""

    def find_work(self) -> tuple[str, tuple[int, ...]] | None:
        priority = _PRIORITIES[self.list_key]
        is_due = Job.objects.due(priority, now=timezone.now()).exists()
        return ("memory.services.jobs.runner.work", (priority.value,)) if is_due else None
