"""Takes messages from django-q's queue and runs their jobs as its worker does, inside the test's process."""

from __future__ import annotations

import pydoc

from django.utils import timezone
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from memory.services.jobs.broker import FairBroker


class _PatientBroker(FairBroker):
    """Takes what was queued, and queues nothing itself."""

    def follow_turns(self) -> None:
        pass


def work_off() -> int:
    """Runs what is due, until nothing is; returns how many messages that were."""
    broker = _PatientBroker()
    count = 0
    while OrmQ.objects.filter(lock__lt=timezone.now()).exists():
        for message_id, payload in broker.dequeue() or []:
            task = SignedPackage.loads(payload)
            pydoc.locate(task["func"])(*task["args"], **task["kwargs"])
            broker.acknowledge(message_id)
            count += 1
    return count


def make_due() -> None:
    """Lets the time pass after which messages are given to a worker (again)."""
    OrmQ.objects.update(lock=timezone.now())
