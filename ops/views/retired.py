"""`/ops/retired/` shows what newer memories removed from search automatically, and undoes it."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.errors import MemosError
from memory.models import Memory
from memory.services.memories import reinstate
from memory.services.memories.retired import RECENT
from memory.types import ChangeTerms
from ops.access import page_access, reads_text, request_id, staff_access
from ops.pages import retired as page
from ops.views.page import back, console_action, console_page

CHANGE = "memory.change_memory"
BOTH_HOLD = "Both hold."
AGAIN = "Both do not hold: undone."
EVER = datetime(1970, 1, 1, tzinfo=UTC)


@console_page
def list_retired(request: HttpRequest) -> HttpResponse:
    """List the pairs of the last days, or with `?all=1` all that are still retired."""
    everything = request.GET.get("all") == "1"
    try:
        cursor = page.read_cursor(request.GET.get("cursor", ""))
    except ValueError:
        raise Http404(_("There is no such page.")) from None
    since = EVER if everything else timezone.now() - RECENT
    rows, older = page.list_pairs(page_access(request), request.user, since=since, cursor=cursor)
    context = {
        "rows": rows,
        "older": older,
        "newer": "first" if cursor else "",
        "everything": everything,
        "readable": reads_text(request),
        "may_decide": request.user.has_perm(CHANGE),
        "days": RECENT.days,
    }
    return render(request, "ops/retired.html", context)


@console_action(permission=CHANGE)
def let_both_hold(request: HttpRequest) -> HttpResponse:
    """Make both hold: what was automatically retired or superseded counts again permanently."""
    try:
        memory_id, start = page.read_key(request.POST.get("pair", ""))
    except ValueError:
        messages.error(request, _("The form was damaged. Decide again."))
        return back(request, "ops:retired")
    by = _find_superseding(request, memory_id) if start is None else None
    try:
        answer = reinstate.reinstate(
            staff_access(request),
            memory_id=memory_id,
            reason=BOTH_HOLD,
            now=timezone.now(),
            starts=None if start is None else [start],
            terms=ChangeTerms(request_id=request_id(request)),
        )
    except MemosError as error:
        messages.error(request, error.message)
        return back(request, "ops:retired")
    if answer["changed"]:
        undo = {"pair": request.POST["pair"], "by": by or "", "next": request.POST.get("next", "")}
        messages.success(request, render_to_string("ops/retired/_undo.html", undo, request))
    else:
        messages.info(request, _("Both held already."))
    return back(request, "ops:retired")


@console_action(permission=CHANGE)
def retire_again(request: HttpRequest) -> HttpResponse:
    """Undo `let_both_hold`."""
    try:
        memory_id, start = page.read_key(request.POST.get("pair", ""))
        by = uuid.UUID(request.POST["by"]) if start is None else None
    except (KeyError, ValueError):
        messages.error(request, _("The form was damaged. Decide again."))
        return back(request, "ops:retired")
    try:
        reinstate.retire_again(
            staff_access(request),
            memory_id=memory_id,
            starts=[] if start is None else [start],
            by=by,
            reason=AGAIN,
            now=timezone.now(),
            terms=ChangeTerms(request_id=request_id(request)),
        )
    except MemosError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("Undone: it is out of search again."))
    return back(request, "ops:retired")


def _find_superseding(request: HttpRequest, memory_id: uuid.UUID) -> str | None:
    rows = Memory.objects.reachable_by(staff_access(request)).filter(pk=memory_id)
    by = rows.values_list("superseded_by", flat=True).first()
    return str(by) if by else None
