"""Takes messages from django-q's queue and runs their jobs as its worker does, inside the test's process."""

from __future__ import annotations

import pydoc

from django.utils import timezone
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from memory.services.jobs.broker import FairBroker
from memory.services.jobs.lanes import CLUSTERS


class _PatientBroker(FairBroker):
    """Takes what was queued, and queues nothing itself."""

    def follow_turns(self) -> None:
        pass


def work_off() -> int:
    """Runs what is due, of each priority in turn, until nothing is; returns how many messages that were."""
    brokers = [_PatientBroker(cluster) for cluster in CLUSTERS.values()]
    count = 0
    while due := [broker for broker in brokers if broker.queue_size()]:
        for broker in due:
            for message_id, payload in broker.dequeue() or []:
                task = SignedPackage.loads(payload)
                pydoc.locate(task["func"])(*task["args"], **task["kwargs"])
                broker.acknowledge(message_id)
                count += 1
    return count


def make_due() -> None:
    """Lets the time pass after which messages are given to a worker (again)."""
    OrmQ.objects.update(lock=timezone.now())
