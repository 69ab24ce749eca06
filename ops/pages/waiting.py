"""Builds the Pipeline's view of the queue: jobs by priority and namespace, and the turns that wait."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import JobPriority
from memory.services.jobs.waiting import OpenJobs, queue_status
from memory.types import Access
from ops.pages.links import page_link
from ops.words import Words

PRIORITIES: dict[JobPriority, tuple[Words, Words]] = {
    JobPriority.INTERACTIVE: (gettext_lazy("Interactive"), gettext_lazy("Erasures, in a worker of their own")),
    JobPriority.NORMAL: (gettext_lazy("Normal"), gettext_lazy("Short jobs: summaries, settling, vectors")),
    JobPriority.BULK: (gettext_lazy("Bulk"), gettext_lazy("Long jobs: imports, trainings, summaries by a model")),
}


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """Holds the jobs of a priority or a namespace. `note` says what they are; `link` leads to these jobs."""

    title: Words
    note: Words
    jobs: OpenJobs
    link: str = ""


@dataclass(frozen=True, slots=True)
class WaitingPart:
    priorities: list[WaitingRow]
    namespaces: list[WaitingRow]
    turns: int


def waiting(access: Access, *, ns: str) -> WaitingPart:
    """Build the part as it is now, over the namespaces that the caller reaches."""
    status = queue_status(access)
    return WaitingPart(
        [
            WaitingRow(*PRIORITIES[priority], jobs, page_link("ops:pipeline", ns=ns, priority=priority.label))
            for priority, jobs in status.by_priority.items()
        ],
        [
            WaitingRow(name or _("The whole system"), "", jobs, page_link("ops:pipeline", ns=name) if name else "")
            for name, jobs in status.by_namespace.items()
        ],
        status.turns,
    )
