"""`/ops/pipeline/` shows turns on their way through the stages, and the jobs that process them."""

from __future__ import annotations

import uuid
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.enums import JobPriority, JobState
from memory.errors import MemosError
from memory.models import Job
from memory.services.jobs import manage, results
from memory.services.monitoring import stats
from memory.services.monitoring.stages import Stage
from ops.access import page_access, request_id, staff_access
from ops.pages import pipeline as page
from ops.pages import waiting
from ops.pages.links import list_link
from ops.pages.tabs import pipeline_tabs
from ops.views.live import Fragment, live_parts, versions
from ops.views.page import back, console_action, console_page, is_fragment
from ops.views.shared import Look, share_part

# Seconds for which the parts are shared with other viewers, so that tabs polling together cost as much as one. This is
# less than the two seconds between two polls, so that a single tab always gets fresh data.
SHARED_SECONDS = 1.8
MAX_OPERATED = 200
# Query parameters that the list of jobs depends on.
_OF_JOBS = ("ns", "window", "state", "kind", "priority", "cursor")


@console_page
def pipeline(request: HttpRequest) -> HttpResponse:
    """Show the page with its columns and jobs as they are now."""
    parts = _parts(request, anew=True)
    context = {
        "parts": parts,
        "version": versions(parts),
        "tabs": pipeline_tabs(request, "pipeline"),
        "live_url": f"{reverse('ops:pipeline_live')}?{_query(request)}",
        "next": f"{reverse('ops:pipeline')}?{_query(request)}",
    }
    return render(request, "ops/pipeline.html", context)


@console_page
def pipeline_live(request: HttpRequest) -> HttpResponse:
    """Render the parts of the page that are polled."""
    return live_parts(request, _parts(request))


@console_page
def pipeline_rows(request: HttpRequest) -> HttpResponse:
    """Show the rows that a number of a column counts: `?stage=…&show=hour`."""
    try:
        stage = Stage(request.GET.get("stage", ""))
    except ValueError:
        raise Http404(_("There is no such stage.")) from None
    hour = request.GET.get("show") == "hour" or stage in (Stage.ACCEPTED, Stage.STORED)
    found, count = page.rows(page_access(request), request.user, stage, hour=hour, now=timezone.now())
    title, note, _icon = page.STAGES[stage]
    context = {"rows": found, "count": count, "hour": hour, "title": title, "note": note, "stage": stage}
    return render(request, "ops/pipeline/rows.html", context)


@console_page
def pipeline_job(request: HttpRequest) -> HttpResponse:
    """Show a job: as a fragment next to the list for htmx, or else as a page."""
    job = _job(request)
    names = page.names_of({job.namespace_id})
    context = {
        "row": page.job_row(job, names, ns=request.GET.get("ns", ""), now=timezone.now()),
        "arguments": page.arguments(job),
        "results": page.results(job, request.user, names.get(job.namespace_id, "")),
        "changes": results.list_changes(job),
    }
    return render(request, "ops/pipeline/_job.html" if is_fragment(request) else "ops/pipeline/job.html", context)


@console_action(permission="ops.operate_jobs")
def operate_jobs(request: HttpRequest) -> HttpResponse:
    """Replay or discard each of the jobs that the form names (`job`, repeated)."""
    operation, ids = request.POST.get("operation", ""), request.POST.getlist("job")[:MAX_OPERATED]
    reason = request.POST.get("reason", "").strip()
    if operation == "discard" and not reason:
        messages.error(request, _("Say why the jobs are discarded: the audit log keeps the reason."))
    elif operation not in ("replay", "discard") or not ids:
        messages.error(request, _("Choose at least one job first."))
    else:
        _operate(request, operation, ids, reason)
    return back(request, "ops:pipeline")


def _operate(request: HttpRequest, operation: str, ids: list[str], reason: str) -> None:
    access, now, refused, done = staff_access(request), timezone.now(), [], 0
    for text in ids:
        try:
            identity = uuid.UUID(text)
            if operation == "replay":
                manage.replay(access, job_id=identity, now=now, request_id=request_id(request))
            else:
                manage.discard(access, job_id=identity, reason=reason, now=now, request_id=request_id(request))
        except (MemosError, ValueError) as error:
            refused.append(error.message if isinstance(error, MemosError) else text[:40])
        else:
            done += 1
    if done and operation == "replay":
        words = ngettext("%(n)d job is queued again.", "%(n)d jobs are queued again.", done)
        messages.success(request, words % {"n": done})
    elif done:
        words = ngettext("%(n)d job was discarded.", "%(n)d jobs were discarded.", done)
        messages.success(request, words % {"n": done})
    if refused:
        left = len(refused)
        words = ngettext("%(n)d job was left as it is: %(why)s", "%(n)d jobs were left as they are: %(why)s", left)
        messages.warning(request, words % {"n": left, "why": " ".join(dict.fromkeys(refused[:3]))})


def _job(request: HttpRequest) -> Job:
    try:
        return manage.find(staff_access(request), job_id=uuid.UUID(request.GET.get("id", "")))
    except (MemosError, ValueError):
        raise Http404(_("There is no such job.")) from None


def _parts(request: HttpRequest, *, anew: bool = False) -> dict[str, Fragment]:
    """Return the parts by the ids of their elements."""
    shared = partial(share_part, request, seconds=SHARED_SECONDS, anew=anew)
    return {
        "stages": shared("ops/pipeline/_columns.html", _columns, parameters=("ns",)),
        "waiting": shared("ops/pipeline/_waiting.html", _waiting, parameters=("ns",)),
        "jobs": shared(
            "ops/pipeline/_jobs.html", _jobs, parameters=("ns", "window", "state", "kind", "priority", "cursor")
        ),
    }


def _columns(request: HttpRequest) -> Look:
    access, ns = page_access(request), request.GET.get("ns", "")
    columns = page.columns(
        access,
        backlog=stats.recent_backlog(access),
        memories=stats.searchable_memories(access),
        memories_link=list_link(request.user, "memory", ns),
        ns=ns,
        now=timezone.now(),
    )
    return Look({"columns": columns}, repr(columns))


def _waiting(request: HttpRequest) -> Look:
    part = waiting.waiting(page_access(request), ns=request.GET.get("ns", ""))
    return Look({"part": part}, repr(part))


def _jobs(request: HttpRequest) -> Look:
    access, ns = page_access(request), request.GET.get("ns", "")
    state = request.GET.get("state", page.OPEN)
    if state not in (page.OPEN, page.ALL, *JobState.values):
        state = page.OPEN
    kind = request.GET.get("kind", "")[:64]
    try:
        cursor = uuid.UUID(request.GET["cursor"]) if request.GET.get("cursor") else None
    except ValueError:
        raise Http404(_("There is no such page.")) from None
    priority = next((one for one in JobPriority if one.label == request.GET.get("priority")), None)
    found, older = page.jobs(
        access, state=state, kind=kind, priority=priority, cursor=cursor, ns=ns, now=timezone.now()
    )
    chips = page.chips(access, state)
    context = {
        "jobs": found,
        "chips": chips,
        "state": state,
        "kind": kind,
        "priority": waiting.PRIORITIES[priority][0] if priority is not None else "",
        "older": str(older) if older else "",
        "newer": "first" if cursor else "",
        "operates": request.user.has_perm("ops.operate_jobs"),
    }
    return Look(context, [[_news(row) for row in found], [chip.count for chip in chips], context["older"]])


def _news(row: page.JobRow) -> tuple[Any, ...]:
    """Return what makes a job's row worth sending again. A missing heartbeat does so every ten seconds."""
    job, silent = row.job, row.silent // 10 if row.silent is not None else None
    return job.pk, job.state, job.attempts, job.done, job.total, job.heartbeat_at, silent


def _query(request: HttpRequest) -> str:
    query = request.GET.copy()
    query.pop("v", None)
    return query.urlencode()
