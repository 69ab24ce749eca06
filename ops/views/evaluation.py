"""`/ops/evaluation/` shows how good retrieval is: runs, their trend, a run, two compared, and judged questions."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.errors import InvalidInput, MemosError, NotFound
from memory.evaluation.comparison import compare
from memory.evaluation.runner import build_judged_dataset
from memory.models import EvaluationRun
from memory.services.evaluation import judgements, runs
from memory.services.evaluation.runs import Options
from ops.access import page_access, permission_title, reachable_namespaces, reads_text, scope_in, staff_access
from ops.chart_files import PARAMETER, chart_file
from ops.pages import evaluation as page
from ops.views.page import back, console_action, console_page

START = "memory.add_evaluationrun"
MAX_LABEL_CHARS = 100
OFFERED = 200


@console_page
def evaluation(request: HttpRequest) -> HttpResponse:
    """List the runs and draw their trend."""
    access, ns = page_access(request), request.GET.get("ns", "")
    cursor = _uuid(request.GET.get("cursor", ""))
    listing = page.listing(access, ns=ns, chosen=request.GET.get("set", ""), cursor=cursor)
    if PARAMETER in request.GET:
        return chart_file(request, [listing.trend])
    questions, marks = judgements.marks(access)
    context = {
        "listing": listing,
        "paged": cursor is not None,
        "questions": questions,
        "marks": marks,
        "may_start": request.user.has_perm(START),
        "namespaces": list(reachable_namespaces(request).values_list("name", flat=True)[:OFFERED]),
        "ns": ns,
    }
    return render(request, "ops/evaluation.html", context)


@console_page
def evaluation_run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Show a run."""
    run = _get_run(request, run_id)
    shown = page.build_run(staff_access(request), run, ns=request.GET.get("ns", ""), readable=reads_text(request))
    if PARAMETER in request.GET:
        return chart_file(request, [shown.type_chart, shown.arms_chart, shown.weights])
    return render(request, "ops/evaluation/run.html", {"shown": shown, "names": page.NAMES, **_reading(request)})


@console_page
def evaluation_compare(request: HttpRequest) -> HttpResponse:
    """Compare the two runs in the address by the questions that both asked."""
    base_id, run_id = _uuid(request.GET.get("base", "")), _uuid(request.GET.get("run", ""))
    if base_id is None or run_id is None or base_id == run_id:
        messages.warning(request, _("Choose two different runs to compare."))
        return redirect("ops:evaluation")
    try:
        found = compare(page_access(request), base_id=base_id, run_id=run_id)
    except NotFound as error:
        raise Http404("There is no such evaluation.") from error
    except InvalidInput as error:
        messages.warning(request, error.message)
        return redirect("ops:evaluation")
    shown = page.build_comparison(found, ns=request.GET.get("ns", ""), readable=reads_text(request))
    return render(request, "ops/evaluation/compare.html", {"shown": shown, **_reading(request)})


@console_page
def evaluation_judgements(request: HttpRequest) -> HttpResponse:
    """List the questions whose hits people and clients judged, with counts."""
    access = page_access(request)
    questions, marks = judgements.marks(access)
    context = {
        "judged": judgements.questions(access, limit=page.QUESTIONS),
        "questions": questions,
        "marks": marks,
        **_reading(request),
    }
    return render(request, "ops/evaluation/judgements.html", context)


@console_action(permission=START)
def evaluation_start(request: HttpRequest) -> HttpResponse:
    """Queue a run by a namespace's own judgements."""
    namespace = reachable_namespaces(request).filter(name=request.POST.get("namespace", "")).first()
    if namespace is None:
        raise Http404("There is no such namespace.")
    scope = scope_in(request, namespace)
    try:
        build_judged_dataset(scope)
        run = runs.request(
            staff_access(request),
            scope=scope,
            dataset="",
            options=Options(arms=bool(request.POST.get("arms"))),
            label=request.POST.get("label", "").strip().replace("\0", "")[:MAX_LABEL_CHARS],
            now=timezone.now(),
        )
    except MemosError as error:
        messages.error(request, error.message)
        return back(request, "ops:evaluation")
    messages.success(request, _("Queued: a worker takes it. This page shows it when it is done."))
    return redirect("ops:evaluation_run", run_id=run.pk)


def _get_run(request: HttpRequest, run_id: uuid.UUID) -> EvaluationRun:
    try:
        return runs.find(page_access(request), run_id=run_id)
    except NotFound as error:
        raise Http404("There is no such evaluation.") from error


def _reading(request: HttpRequest) -> dict[str, object]:
    return {"readable": reads_text(request), "permission": permission_title("ops.view_memory_text")}


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
