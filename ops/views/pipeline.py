"""`/ops/pipeline/`: where turns are on their way, and the jobs that carry them."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from memory.enums import JobState
from memory.errors import MemosError
from memory.models import Job
from memory.services import job_results, jobs, stats
from memory.services.stages import Stage
from memory.types import Access
from ops.access import page_access, request_id, staff_access
from ops.pages import pipeline as page
from ops.pages.links import list_link
from ops.pages.tabs import pipeline_tabs
from ops.views.live import live, version_of
from ops.views.page import back, console_action, console_page, is_fragment

# What tabs that poll together share: the columns, and the count of vectors that are lacking, which costs most.
COLUMNS_SECONDS, BACKLOG_SECONDS = 1.5, 10.0
MAX_OPERATED = 200
_MAX_KEPT = 200
_kept: dict[tuple[Any, ...], tuple[float, Any]] = {}
_lock = threading.Lock()


@console_page
def pipeline(request: HttpRequest) -> HttpResponse:
    """The whole page: columns and jobs."""
    columns, jobs_shown = _columns_context(request), _jobs_context(request)
    context = {
        **columns,
        **jobs_shown,
        "tabs": pipeline_tabs(request, "pipeline"),
        "columns_url": f"{reverse('ops:pipeline_live')}?{_query(request)}",
        "jobs_url": f"{reverse('ops:pipeline_jobs')}?{_query(request)}",
        "columns_version": _columns_version(columns),
        "jobs_version": _jobs_version(jobs_shown),
    }
    return render(request, "ops/pipeline.html", context)


@console_page
def pipeline_live(request: HttpRequest) -> HttpResponse:
    """The columns."""
    context = _columns_context(request)
    return live(request, "ops/pipeline/_columns.html", context, _columns_version(context))


@console_page
def pipeline_jobs(request: HttpRequest) -> HttpResponse:
    """The list of jobs."""
    context = _jobs_context(request)
    return live(request, "ops/pipeline/_jobs.html", context, _jobs_version(context))


@console_page
def pipeline_rows(request: HttpRequest) -> HttpResponse:
    """What one number of a column counts: `?stage=…&show=hour`."""
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
    """One job: beside the list for htmx, else a page of its own."""
    job = _job(request)
    names = page.names_of({job.namespace_id})
    context = {
        "row": page.job_row(job, names, ns=request.GET.get("ns", ""), now=timezone.now()),
        "arguments": page.arguments(job),
        "results": page.results(job, request.user, names.get(job.namespace_id, "")),
        "deeds": job_results.deeds(job),
    }
    return render(request, "ops/pipeline/_job.html" if is_fragment(request) else "ops/pipeline/job.html", context)


@console_action(permission="ops.operate_jobs")
def operate_jobs(request: HttpRequest) -> HttpResponse:
    """Replays or discards the jobs that the form names (`job`, several), each by itself."""
    deed, ids = request.POST.get("deed", ""), request.POST.getlist("job")[:MAX_OPERATED]
    reason = request.POST.get("reason", "").strip()
    if deed == "discard" and not reason:
        messages.error(request, _("Say why the jobs are discarded: the audit log keeps the reason."))
    elif deed not in ("replay", "discard") or not ids:
        messages.error(request, _("Choose at least one job first."))
    else:
        _operate(request, deed, ids, reason)
    return back(request, "ops:pipeline")


def _operate(request: HttpRequest, deed: str, ids: list[str], reason: str) -> None:
    access, now, refused, done = staff_access(request), timezone.now(), [], 0
    for text in ids:
        try:
            identity = uuid.UUID(text)
            if deed == "replay":
                jobs.replay(access, job_id=identity, now=now, request_id=request_id(request))
            else:
                jobs.discard(access, job_id=identity, reason=reason, now=now, request_id=request_id(request))
        except (MemosError, ValueError) as error:
            refused.append(error.message if isinstance(error, MemosError) else text[:40])
        else:
            done += 1
    if done and deed == "replay":
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
        return jobs.find(staff_access(request), job_id=uuid.UUID(request.GET.get("id", "")))
    except (MemosError, ValueError):
        raise Http404(_("There is no such job.")) from None


def _columns_context(request: HttpRequest) -> dict[str, Any]:
    access, ns = page_access(request), request.GET.get("ns", "")
    stored = list_link(request.user, "memory", ns)

    def count() -> list[page.Column]:
        backlog = _shared(("backlog", *_reach(access)), BACKLOG_SECONDS, lambda: stats.backlog(access))
        memories = stats.searchable_memories(access)
        return page.columns(access, backlog=backlog, memories=memories, memories_link=stored, ns=ns, now=timezone.now())

    return {"columns": _shared(("columns", ns, stored, get_language(), *_reach(access)), COLUMNS_SECONDS, count)}


def _jobs_context(request: HttpRequest) -> dict[str, Any]:
    access, now, ns = page_access(request), timezone.now(), request.GET.get("ns", "")
    state = request.GET.get("state", page.OPEN)
    if state not in (page.OPEN, page.ALL, *JobState.values):
        state = page.OPEN
    kind = request.GET.get("kind", "")[:64]
    try:
        cursor = uuid.UUID(request.GET["cursor"]) if request.GET.get("cursor") else None
    except ValueError:
        raise Http404(_("There is no such page.")) from None

    def look() -> tuple[list[page.JobRow], uuid.UUID | None, list[page.Chip]]:
        return *page.jobs(access, state=state, kind=kind, cursor=cursor, ns=ns, now=now), page.chips(access, state)

    # A page that was opened shows what is there now; those that ask again and again share a look.
    key = ("jobs", ns, state, kind, cursor, get_language(), *_reach(access))
    found, older, chips = _shared(key, COLUMNS_SECONDS, look) if "v" in request.GET else look()
    return {
        "jobs": found,
        "chips": chips,
        "state": state,
        "kind": kind,
        "older": str(older) if older else "",
        "newer": "first" if cursor else "",
        "operates": request.user.has_perm("ops.operate_jobs"),
        "next": f"{reverse('ops:pipeline')}?{_query(request)}",
    }


def _columns_version(context: dict[str, Any]) -> str:
    return version_of(repr(context["columns"]))


def _jobs_version(context: dict[str, Any]) -> str:
    rows = []
    for row in context["jobs"]:
        job, silent = row.job, row.silent // 10 if row.silent is not None else None
        rows.append((job.pk, job.state, job.attempts, job.done, job.total, job.heartbeat_at, silent))
    return version_of(rows, [chip.count for chip in context["chips"]], context["older"])


def _query(request: HttpRequest) -> str:
    query = request.GET.copy()
    query.pop("v", None)
    return query.urlencode()


def _reach(access: Access) -> tuple[Any, ...]:
    return ("all",) if access.all_namespaces else tuple(sorted(access.namespace_ids))


def _shared(key: tuple[Any, ...], seconds: float, count: Any) -> Any:
    """What `count` gives, or gave to someone with the same reach a moment ago."""
    kept = _kept.get(key)
    if kept is not None and time.monotonic() < kept[0]:
        return kept[1]
    value = count()
    with _lock:
        if len(_kept) >= _MAX_KEPT:
            _kept.clear()
        _kept[key] = (time.monotonic() + seconds, value)
    return value


def forget_kept() -> None:
    """Makes the next look count anew."""
    _kept.clear()
