"""Error pages: in the console's frame for staff who may open it, plain for others."""

from __future__ import annotations

import logging
import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views import defaults
from psycopg.errors import QueryCanceled

from ops.access import VIEW_CONSOLE, request_id

log = logging.getLogger("memos.ops")


def bad_request(request: HttpRequest) -> HttpResponse:
    text = _("The request could not be read. Go back and try again.")
    return _page(request, 400, "alert", _("This did not work"), text)


def forbidden(request: HttpRequest) -> HttpResponse:
    text = _("Your account lacks the permission for it. An administrator grants permissions under Admin → Users.")
    return _page(request, 403, "lock", _("You may not do this"), text)


def not_found(request: HttpRequest) -> HttpResponse:
    text = _("Nothing is at this address, or it belongs to a namespace that is not granted to you.")
    return _page(request, 404, "search", _("Nothing is here"), text)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a failure without the frame, which queries the database. If this fails too, Django's own page is shown.

    If the database is away or too slow, the status is 503 and the page says what to do.
    """
    status, picture, title, text = _of_failure(sys.exc_info()[1])
    if request.method not in ("GET", "HEAD"):
        text += " " + _("Look whether what you did was stored before you do it again.")
    context = {
        "picture": picture,
        "title": title,
        "text": text,
        "request_id": request_id(request),
        "retry": request.method == "GET",
    }
    try:
        return render(None, "ops/plain.html", context, status=status)
    except Exception:
        log.exception("the page of a failure failed")
        return defaults.server_error(request)


def _of_failure(failure: BaseException | None) -> tuple[int, str, str, str]:
    """Return status, picture, title and text for what a view raised."""
    if not isinstance(failure, OperationalError | InterfaceError):
        text = _("Nothing was changed by a page that only shows. The server's log has the cause.")
        return 500, "alert", _("MemOS failed to answer"), text
    if isinstance(failure.__cause__, QueryCanceled):
        text = _("It was stopped to spare the server. Choose one namespace, a shorter time or fewer filters.")
        return 503, "clock", _("The database took too long"), text
    text = _(
        "PostgreSQL is away; MemOS itself runs. Try again in a moment. If it stays so, start PostgreSQL or mend "
        "DATABASE_URL: manage.py doctor says what is wrong."
    )
    return 503, "database", _("The database does not answer"), text


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a CSRF failure, as Django's CSRF_FAILURE_VIEW. Most are forms that were left open during a login."""
    text = _(
        "The form had gone stale: you logged in anew, or cookies are blocked. Go back, reload the page, try again."
    )
    return _page(request, 403, "lock", _("The form was not accepted"), text)


def _page(request: HttpRequest, status: int, picture: str, title: str, text: str) -> HttpResponse:
    user = getattr(request, "user", None)
    framed = user is not None and user.is_staff and user.has_perm(VIEW_CONSOLE)
    context = {"picture": picture, "title": title, "text": text}
    return render(request, "ops/error.html" if framed else "ops/plain.html", context, status=status)
