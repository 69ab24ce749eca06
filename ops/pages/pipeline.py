"""Builds the Pipeline: the stages of a turn, the jobs behind them, and the details of a job."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.enums import JobPriority, JobState
from memory.models import Job, Namespace
from memory.services.jobs import results as job_results
from memory.services.jobs.runner import is_lost
from memory.services.monitoring import stages, stats
from memory.services.monitoring.stages import COUNTED_AT_MOST, Stage, StageState
from memory.types import Access
from ops.pages.links import Staff, page_link, row_link
from ops.pages.waiting import PRIORITIES
from ops.words import Words

PAGE = 50
ROWS_SHOWN = 200
OPEN, ALL = "open", "all"

STAGES: dict[Stage, tuple[Words, Words, str]] = {
    Stage.ACCEPTED: (gettext_lazy("Accepted"), gettext_lazy("Turns taken in by a request"), "down"),
    Stage.SCREENED: (gettext_lazy("Screened"), gettext_lazy("In quarantine, until someone decides"), "quarantine"),
    Stage.EMBEDDED: (gettext_lazy("Embedded"), gettext_lazy("Memories without a vector yet"), "chip"),
    Stage.CONDENSED: (gettext_lazy("Condensed"), gettext_lazy("Sessions with turns that no summary covers"), "archive"),
    Stage.LINKED: (gettext_lazy("Linked"), gettext_lazy("Not read yet for entities and changes"), "link"),
    Stage.STORED: (gettext_lazy("Stored"), gettext_lazy("Memories, archived ones included"), "database"),
    Stage.FAILED: (gettext_lazy("Failed"), gettext_lazy("Jobs given up, until someone decides"), "alert"),
}
STATES: dict[str, tuple[Words, str]] = {
    JobState.QUEUED: (gettext_lazy("Queued"), "off"),
    JobState.RUNNING: (gettext_lazy("Running"), "busy"),
    JobState.DONE: (gettext_lazy("Done"), "good"),
    JobState.FAILED: (gettext_lazy("Failed"), "bad"),
    JobState.DISCARDED: (gettext_lazy("Discarded"), "off"),
}


@dataclass(frozen=True, slots=True)
class StageColumn:
    """A stage of the pipeline.

    `value` is the number of items that wait there; for Accepted and Stored it is the number of items that came or are
    there. `bar` is the share of the hour's turns that have passed it, in percent.
    """

    name: str
    title: Words
    note: Words
    icon: str
    value: str
    link: str
    oldest: datetime | None
    tone: str
    hour: str
    hour_link: str
    bar: str
    percent: str


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job of the list. `silent` is the seconds since its last heartbeat, if that has stopped."""

    job: Job
    namespace: str
    about: str
    word: Words
    tone: str
    silent: int | None
    link: str

    @property
    def priority(self) -> Words:
        """Return the name of its priority."""
        return PRIORITIES[JobPriority(self.job.priority)][0]

    @property
    def priority_note(self) -> Words:
        """Return the description of its priority."""
        return PRIORITIES[JobPriority(self.job.priority)][1]

    @property
    def operable(self) -> bool:
        """Return whether it can be replayed or discarded."""
        return self.job.state in (JobState.FAILED, JobState.DISCARDED, JobState.QUEUED)


@dataclass(frozen=True, slots=True)
class StageChip:
    title: Words
    name: str
    count: int
    current: bool


@dataclass(frozen=True, slots=True)
class LinkedRow:
    """A row that a number counts, with its page."""

    kind: Words
    title: str
    namespace: str
    since: datetime
    note: str
    link: str


@dataclass(frozen=True, slots=True)
class ResultLink:
    what: str
    at: datetime
    link: str


def columns(
    access: Access, *, backlog: stats.Backlog, memories: int, memories_link: str, ns: str, now: datetime
) -> list[StageColumn]:
    """Return the stages now. `memories` is the number in retrieval; `memories_link` leads to all stored ones."""
    found = {state.stage: state for state in stages.states(access, backlog=backlog, now=now)}
    came = found[Stage.ACCEPTED].hour
    return [_column(state, came, (memories + backlog.archived, memories_link), ns) for state in found.values()]


def _column(state: StageState, came: int, stored: tuple[int, str], ns: str) -> StageColumn:
    title, note, icon = STAGES[state.stage]
    value: int | None = state.waiting
    hour_link = page_link("ops:pipeline_rows", stage=state.stage, show="hour", ns=ns)
    link = page_link("ops:pipeline_rows", stage=state.stage, ns=ns)
    if state.stage is Stage.ACCEPTED:
        value, link, note = state.hour, hour_link, _("Turns that requests brought in the last hour")
    elif state.stage is Stage.STORED:
        value, link = stored
    elif state.stage is Stage.FAILED:
        link = page_link("ops:pipeline", state=JobState.FAILED, ns=ns)
    waits = bool(state.waiting)
    tone = "bad" if waits and state.stage is Stage.FAILED else "weak" if waits and state.stage is Stage.SCREENED else ""
    share = min(1.0, state.hour / came) if came and state.stage is not Stage.FAILED else 0.0
    return StageColumn(
        name=state.stage,
        title=title,
        note=note,
        icon=icon,
        value=_count(value, capped=state.stage is not Stage.STORED),
        link=link if value or state.stage is Stage.FAILED else "",
        oldest=state.oldest if waits else None,
        tone=tone,
        hour=_count(state.hour),
        hour_link=hour_link if state.hour else "",
        bar=f"{share:.1%}",
        percent=f"{share:.0%}" if came and state.stage is not Stage.FAILED else "",
    )


def _count(value: int | None, *, capped: bool = True) -> str:
    if value is None:
        return "–"
    return f"{value:,}+" if capped and value >= COUNTED_AT_MOST else f"{value:,}"


def chips(access: Access, chosen: str) -> list[StageChip]:
    """Return the states by which jobs can be filtered, with their counts."""
    counts = stages.job_counts(access)
    some = [(_("Open"), OPEN, counts[JobState.QUEUED] + counts[JobState.RUNNING] + counts[JobState.FAILED])]
    some += [(str(title), state, counts[state]) for state, (title, _tone) in STATES.items()]
    some.append((_("All"), ALL, min(COUNTED_AT_MOST, sum(counts.values()))))
    return [StageChip(title, name, count, name == chosen) for title, name, count in some]


def jobs(
    access: Access,
    *,
    state: str,
    kind: str,
    priority: JobPriority | None,
    cursor: uuid.UUID | None,
    ns: str,
    now: datetime,
) -> tuple[list[JobRow], uuid.UUID | None]:
    """Return a page of jobs, newest first, and the id before which the next page begins."""
    rows = Job.objects.reachable_by(access)
    if state == OPEN:
        rows = rows.filter(Q(state=JobState.QUEUED) | Q(state=JobState.RUNNING) | Q(state=JobState.FAILED))
    elif state != ALL:
        rows = rows.filter(state=state)
    if kind:
        rows = rows.filter(kind=kind)
    if priority is not None:
        rows = rows.filter(priority=priority)
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor)
    page = list(rows.order_by("-pk")[: PAGE + 1])
    names = names_of({job.namespace_id for job in page})
    shown = [job_row(job, names, ns=ns, now=now) for job in page[:PAGE]]
    return shown, page[PAGE - 1].pk if len(page) > PAGE else None


def job_row(job: Job, names: dict[int, str], *, ns: str, now: datetime) -> JobRow:
    word, tone = STATES[job.state]
    silent = None
    if job.state == JobState.RUNNING and is_lost(job, now):
        since = job.heartbeat_at or job.started_at or job.queued_at
        silent, tone = max(0, int((now - since).total_seconds())), "bad"
    about = " ".join(job_results.arguments(job)) or job.schedule.removeprefix("memos: ")
    link = page_link("ops:pipeline_job", id=str(job.pk), ns=ns)
    return JobRow(job, names.get(job.namespace_id, ""), about, word, tone, silent, link)


def names_of(ids: set[int]) -> dict[int, str]:
    """Return the names of namespaces by id."""
    return dict(Namespace.objects.filter(pk__in=ids - {0}).values_list("pk", "name"))


def arguments(job: Job) -> str:
    """Return the stored arguments as indented JSON."""
    return json.dumps(job.arguments, ensure_ascii=False, indent=2)


def results(job: Job, user: Staff, namespace: str) -> list[ResultLink]:
    """Return the rows that the job created, with their pages."""
    return [
        ResultLink(_describe_result(one), one.at, _result_link(one, user, namespace))
        for one in job_results.results(job)
    ]


def _describe_result(one: job_results.JobResult) -> str:
    words = {
        "condensation": _("Summary %(what)s of “%(session)s”"),
        "evaluation": _("Evaluation (%(what)s)"),
        "erasure": _("Erasure (%(what)s)"),
        "link": _("%(what)s another memory"),
        "fact": _("Fact %(what)s of “%(session)s”"),
        "file": _("File (%(what)s)"),
        "preference": _("Preference %(what)s of “%(session)s”"),
    }
    return words[one.kind] % {"what": one.what, "session": one.session}


def _result_link(one: job_results.JobResult, user: Staff, namespace: str) -> str:
    if one.kind == "condensation":
        return page_link("ops:pipeline_condensations", ns=namespace, session=one.session)
    if one.kind == "erasure":
        return reverse("ops:erasure", args=[one.id])
    models = {"evaluation": "evaluationrun", "file": "documentfile"}
    return row_link(user, models.get(one.kind, "memory"), one.id)


def rows(access: Access, user: Staff, stage: Stage, *, hour: bool, now: datetime) -> tuple[list[LinkedRow], int]:
    """Return at most ROWS_SHOWN of the rows that a column's number counts, and the number."""
    if hour:
        found, count = stages.list_passed(access, stage, now=now, limit=ROWS_SHOWN)
    else:
        found, count = stages.waiting_rows(access, stage, limit=ROWS_SHOWN)
    names = names_of({row.namespace_id for row in found})
    return [_link_row(row, names.get(row.namespace_id, ""), user) for row in found], count


def _link_row(row: stages.CountedRow, namespace: str, user: Staff) -> LinkedRow:
    note = row.session
    if row.kind == "session":
        title, kind = row.session, _("Session")
        note = ngettext("%(count)s turn", "%(count)s turns", row.turns) % {"count": f"{row.turns:,}"}
        link = page_link("ops:session", ns=namespace, session=row.session)
    elif row.kind == "quarantine":
        title, kind, link = row.id, _("In quarantine"), row_link(user, "quarantineditem", row.id)
    elif row.kind == "job":
        title, kind, link = row.id, _("Job"), page_link("ops:pipeline_job", id=row.id, ns=namespace)
    elif row.kind == "document":
        title, kind, note, link = row.id, _("Document"), "", ""
    else:
        title, kind, link = row.id, _("Memory"), row_link(user, "memory", row.id)
    return LinkedRow(kind, title, namespace, row.since, note, link)
