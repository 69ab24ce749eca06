"""`/ops/sessions/` shows conversations with their data, and resets them.

A session's name may be any text, so it is a query parameter and never a part of the path.
"""

from __future__ import annotations

import re
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.errors import WindowUnavailable
from memory.models import Namespace, Session
from memory.services.sessions import listing, reset
from memory.types import Scope
from ops.access import find_chosen_namespace, page_access, reachable_namespaces, reads_text, request_id, staff_actor
from ops.pages import sessions as page
from ops.pages.links import page_link
from ops.views.page import console_action, console_page

_TURN = re.compile(r"-?[0-9]{1,9}")


@console_page
def sessions(request: HttpRequest) -> HttpResponse:
    """List the sessions."""
    try:
        cursor = page.decode_cursor(request.GET.get("cursor", ""))
    except ValueError:
        raise Http404(_("There is no such page.")) from None
    prefix = request.GET.get("q", "").strip()[:128]
    rows, older = page.list_sessions(page_access(request), prefix=prefix, cursor=cursor)
    context = {"rows": rows, "older": page.encode_cursor(older), "newer": "first" if cursor else "", "q": prefix}
    return render(request, "ops/sessions.html", context)


@console_page
def session(request: HttpRequest) -> HttpResponse:
    """Show a session: `?ns=…&session=…`."""
    if not request.GET.get("session"):
        return HttpResponseRedirect(page_link("ops:sessions", ns=request.GET.get("ns")))
    namespace, row = _session(request, request.GET)
    before = request.GET.get("cursor", "")
    if before and not _TURN.fullmatch(before):
        raise Http404(_("There is no such page."))
    shown = page.closely(namespace, row, request.user, before=int(before) if before else None)
    if shown.turns and reads_text(request):
        listing.note_viewed(_scope(request, namespace), session=row.name, what="turns", now=timezone.now())
    context = {
        "one": shown,
        "namespace": namespace,
        "older": str(shown.older) if shown.older is not None else "",
        "newer": "first" if before else "",
        "window_size": page.window_size(),
        "resets": request.user.has_perm("ops.reset_session"),
        "where": {"ns": namespace.name, "session": row.name},
    }
    return render(request, "ops/sessions/one.html", context)


@console_page(permission="ops.reset_session")
def session_reset(request: HttpRequest) -> HttpResponse:
    """Show what a reset would delete, with a form that asks for the session's name."""
    namespace, row = _session(request, request.GET)
    return _reset_form(request, namespace, row)


@console_action(permission="ops.reset_session")
def session_reset_now(request: HttpRequest) -> HttpResponse:
    """Reset the session if its name was typed, and show the receipt."""
    namespace, row = _session(request, request.POST)
    if request.POST.get("confirm", "") != row.name:
        return _reset_form(request, namespace, row, error=_("Type the session's name exactly as it is written above."))
    clear_audit = request.POST.get("clear_audit") == "on"
    try:
        deleted = reset.reset_session(
            _scope(request, namespace), session=row.name, dry_run=False, clear_audit=clear_audit, now=timezone.now()
        )
    except WindowUnavailable:
        return _reset_form(request, namespace, row, error=_("Redis does not answer: nothing was deleted."))
    context = {"counts": page.count_by_store(deleted, audit=clear_audit), "namespace": namespace, "session": row.name}
    return render(request, "ops/sessions/receipt.html", context)


def _reset_form(request: HttpRequest, namespace: Namespace, row: Session, *, error: str = "") -> HttpResponse:
    context: dict[str, Any] = {"namespace": namespace, "session": row, "error": error, "counts": None}
    try:
        would = reset.reset_session(
            _scope(request, namespace), session=row.name, dry_run=True, clear_audit=True, now=timezone.now()
        )
        context |= {"counts": page.count_by_store(would, audit=False), "events": would.audit}
    except WindowUnavailable:
        context["error"] = _("Redis does not answer, so the session cannot be reset now.")
        return render(request, "ops/sessions/reset.html", context, status=503)
    return render(request, "ops/sessions/reset.html", context, status=422 if error else 200)


def _session(request: HttpRequest, named: Any) -> tuple[Namespace, Session]:
    """Return the session that the address or the form names. Raises Http404, also for one out of reach."""
    if named is request.GET:
        namespace = find_chosen_namespace(request)
    else:
        namespace = reachable_namespaces(request).filter(name=named.get("ns", "")).first()
    row = Session.objects.filter(namespace=namespace, name=named.get("session", "")).first() if namespace else None
    if namespace is None or row is None:
        raise Http404(_("There is no such session."))
    return namespace, row


def _scope(request: HttpRequest, namespace: Namespace) -> Scope:
    return Scope(namespace.pk, namespace.name, staff_actor(request), request_id(request))
