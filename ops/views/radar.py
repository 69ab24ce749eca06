"""`/ops/radar/` shows what a question finds, what it does not find, and why."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.errors import MemosError, NotFound
from memory.services.evaluation import judgements
from memory.services.recall import probe as probing
from memory.services.recall.probe import Probe
from memory.services.recall.why import why
from ops.access import find_chosen_namespace, reads_text, request_id, staff_access, staff_actor
from ops.navigation import keep_query
from ops.pages import radar as page
from ops.pages.probe_forms import RadarForm, SettingForm, radar_forms
from ops.pages.snippets import snippets
from ops.views.page import back, console_action, console_page

RUN_PROBE = "ops.run_probe"
JUDGE = "memory.add_relevancejudgement"
UNAVAILABLE = 503


@console_page(permission=RUN_PROBE)
def radar(request: HttpRequest) -> HttpResponse:
    """Show the form. Raises Http404 for a chosen namespace out of reach."""
    find_chosen_namespace(request)
    return _page(request, radar_forms(request))


@console_action(permission=RUN_PROBE)
def ask(request: HttpRequest) -> HttpResponse:
    """Keep the question and redirect to its page, or show the form again with its errors."""
    question, first, second = radar_forms(request)
    assert isinstance(question, RadarForm)
    asked = [first, *([second] if request.POST.get("compare") else [])]
    # All forms are validated, so that each shows its errors.
    checked = [form.is_valid() for form in (question, *asked)]
    if not all(checked):
        return _page(request, [question, first, second], status=422)
    given = question.cleaned_data
    settings = [form.setting(show_dropped=given["show_dropped"]) for form in asked if isinstance(form, SettingForm)]
    try:
        probe = probing.keep(question.scope(), text=given["text"], settings=settings, now=timezone.now())
    except MemosError as error:
        return _page(request, [question, first, second], problem=error.message, status=UNAVAILABLE)
    query = keep_query(request)
    return HttpResponseRedirect(reverse("ops:radar_probe", args=[probe.id]) + query, status=303)


@console_page(permission=RUN_PROBE)
def radar_probe(request: HttpRequest, probe_id: str) -> HttpResponse:
    """Show the present answer to a question. Each visit is audited."""
    try:
        probe, now = get_kept_probe(request, probe_id), timezone.now()
    except MemosError as error:
        return _page(request, radar_forms(request), problem=error.message, status=UNAVAILABLE)
    quote = may_quote(request, probe)
    forms = radar_forms(request, probe, quote=quote)
    by = request.GET.get("by", "")
    by = by if by in page.BY else "session"
    why_id = request.GET.get("why", "").strip()
    context: dict[str, Any] = {"probe": probe, "quote": quote, "by": by, "bys": page.BY, "why_id": why_id}
    try:
        seen = [probing.look(probe, setting, now=now) for setting in probe.settings]
        context |= {
            "radar": page.radar(seen, probing.marks(probe.scope, probe.text), by=by, readable=reads_text(request))
        }
        context |= _why(probe, why_id)
    except MemosError as error:
        return _page(request, forms, problem=error.message, status=UNAVAILABLE, **context)
    answers = [(one.setting, one.found.retrieval) for one in seen]
    about = {"page": "radar", "why": why_id[:36]} if "whys" in context else {"page": "radar"}
    probing.record(probe.scope, text=probe.text, about=about, answers=answers, now=now)
    server = request.build_absolute_uri("/").rstrip("/")
    body = page.request_body(probe, probe.settings[0])
    return _page(request, forms, snippets=snippets(server, "/v1/search", body) if quote else None, **context)


@console_action(permission=JUDGE)
def radar_mark(request: HttpRequest, probe_id: str) -> HttpResponse:
    """Mark a memory as relevant to the question or not, for the namespace's evaluation set."""
    if not request.user.has_perm(RUN_PROBE):
        raise Http404("There is no such question.")
    try:
        probe = get_kept_probe(request, probe_id)
        mark = judgements.Mark(uuid.UUID(request.POST.get("memory_id", "")), request.POST.get("relevant") == "1")
        judgements.judge(probe.scope, query_text=probe.text, marks=[mark], now=timezone.now())
    except (ValueError, NotFound) as error:
        raise Http404("There is no such memory.") from error
    except MemosError as error:
        messages.error(request, error.message)
        return back(request, "ops:radar")
    word = _("Marked as relevant.") if mark.relevant else _("Marked as not relevant.")
    messages.success(request, word + " " + _("The namespace's evaluation set has it."))
    return back(request, "ops:radar")


def get_kept_probe(request: HttpRequest, probe_id: str) -> Probe:
    """Return the kept question of that id.

    Raises Http404 for one that is out of reach, has expired or never existed, and WindowUnavailable while Redis is
    away.
    """
    probe = probing.get_probe(staff_access(request), probe_id, request_id=request_id(request))
    if probe is None:
        raise Http404("There is no such question: it is kept for a day.")
    return probe


def may_quote(request: HttpRequest, probe: Probe) -> bool:
    """Return whether this member of staff may read the question, which may quote a memory."""
    return probe.asked_by == staff_actor(request) or reads_text(request)


def _why(probe: Probe, wanted: str) -> dict[str, object]:
    """Return the outcome of the memory of that id in each setting, or the problem with the id."""
    if not wanted:
        return {}
    try:
        memory_id = uuid.UUID(wanted)
        now = timezone.now()
        found = [
            page.why_not("AB"[index], why(probe.scope, setting.ask(probe.text, now=now), memory_id=memory_id))
            for index, setting in enumerate(probe.settings)
        ]
    except ValueError:
        return {"why_problem": _("This is not a memory's id: it looks like 0198c3f2-5b1e-7d3a-9c41-2f60d8a7e513.")}
    except NotFound:
        return {"why_problem": _("This namespace has no such memory. It may have been erased.")}
    return {"whys": found}


def _page(request: HttpRequest, forms: list[Form], *, status: int = 200, **context: Any) -> HttpResponse:
    question, first, second = forms
    shown = {
        "question": question, "first": first, "second": second, "reranker": page.reranker(),
        "reads": reads_text(request), "may_mark": request.user.has_perm(JUDGE),
        "may_open": request.user.has_perm("memory.view_memory"), **context,
    }  # fmt: skip
    return render(request, "ops/radar.html", shown, status=status)
