"""Serves `/ops/quarantine/`: quarantined texts, and memories that wait for a person to decide which of two holds."""

from __future__ import annotations

import uuid
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import Review
from memory.errors import MemosError
from memory.services.memories.review import ReviewDecision, decide
from memory.types import ChangeTerms
from ops.access import page_access, permission_title, reads_text, request_id, staff_access
from ops.chart_files import PARAMETER, chart_file
from ops.pages import quarantine as page
from ops.views.page import back, console_action, console_page

CHANGE = "memory.change_memory"
DONE = {
    ReviewDecision.KEEP: gettext_lazy("Kept: it holds, and no longer waits for review."),
    ReviewDecision.ALL_HOLD: gettext_lazy("All of these hold: none of them is raised against another again."),
    ReviewDecision.SUPERSEDE: gettext_lazy("Superseded: the other memory holds in its place."),
    ReviewDecision.OUTDO: gettext_lazy("Superseded: this memory holds in place of the other."),
    ReviewDecision.ARCHIVE: gettext_lazy("Archived: it takes no part in retrieval. The admin restores it."),
}


@console_page
def quarantine(request: HttpRequest) -> HttpResponse:
    """Show both lists, of the chosen namespace or of all that are reached."""
    access, ns, review = page_access(request), request.GET.get("ns", ""), request.GET.get("review", "")
    board = page.board(access, request.user, ns=ns, now=timezone.now())
    if PARAMETER in request.GET:
        return chart_file(request, [board.by_rule, board.by_namespace, board.by_age])
    review = review if review in Review.values else ""
    cursor = _uuid(request.GET.get("cursor", ""))
    cases, following, counted = page.cases(access, request.user, review=review, cursor=cursor)
    context = {
        "board": board,
        "cases": cases,
        "following": following,
        "paged": cursor is not None,
        "waiting": counted[""],
        "tabs": [_tab(ns, name, title, counted[name], review) for name, title in page.TABS],
        "readable": reads_text(request),
        "permission": permission_title("ops.view_memory_text"),
        "may_decide": request.user.has_perm(CHANGE),
    }
    return render(request, "ops/quarantine.html", context)


@console_action(permission=CHANGE)
def quarantine_decide(request: HttpRequest) -> HttpResponse:
    """Carry out the decision about a memory, if it is still as it was when it was shown."""
    memory_id, decision = _uuid(request.POST.get("memory", "")), request.POST.get("decision", "")
    revision = request.POST.get("revision", "")
    if memory_id is None or decision not in set(ReviewDecision) or not revision.isdecimal() or len(revision) > 9:
        messages.error(request, _("The form was damaged. Decide again."))
        return back(request, "ops:quarantine")
    try:
        decide(
            staff_access(request),
            memory_id=memory_id,
            decision=ReviewDecision(decision),
            other_id=_uuid(request.POST.get("other", "")),
            reason=request.POST.get("reason", ""),
            now=timezone.now(),
            terms=ChangeTerms(revisions=frozenset({int(revision)}), request_id=request_id(request)),
        )
    except MemosError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, DONE[ReviewDecision(decision)])
    return back(request, "ops:quarantine")


def _tab(ns: str, name: str, title: object, count: int, current: str) -> dict[str, object]:
    query = {**({"ns": ns} if ns else {}), **({"review": name} if name else {})}
    url = reverse("ops:quarantine") + (f"?{urlencode(query)}" if query else "") + "#memories"
    return {"title": title, "url": url, "current": name == current, "count": count}


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
