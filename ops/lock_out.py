"""Answers a locked-out account or address with the time when it opens again."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from axes.helpers import get_client_username
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.enums import AuditEvent
from memory.services.audit.account_events import note_account
from ops.access import request_id

TOO_MANY = 429
ACTOR = "sign-in"


def respond_locked_out(
    request: HttpRequest, response: HttpResponse | None, credentials: Mapping[str, Any] | None
) -> HttpResponse:
    """Answer a lockout, as django-axes' AXES_LOCKOUT_CALLABLE, without revealing whether the account exists."""
    now = timezone.now()
    name = get_client_username(request, credentials) or ""
    address = request.axes_ip_address  # type: ignore[attr-defined]
    opens = max(_opens({"username": name}, now=now), _opens({"ip_address": address}, now=now))
    # axes sets this for the failure that locks the account, not for later attempts.
    if request.axes_failures_since_start is not None:  # type: ignore[attr-defined]
        _note(request, name, address, opens, now=now)
    minutes = max(1, math.ceil((opens - now).total_seconds() / 60))
    wait = ngettext("in %(n)s minute", "in %(n)s minutes", minutes) % {"n": minutes}
    text = _(
        "Too many sign-ins failed for this account or from this address. It opens again at %(time)s UTC (%(wait)s). "
        "Whoever is signed in stays so. An administrator opens it at once: manage.py axes_reset_username NAME."
    )
    context = {
        "picture": "lock",
        "title": _("Signing in is locked for a while"),
        "text": text % {"time": f"{opens:%H:%M}", "wait": wait},
    }
    answer = render(request, "ops/plain.html", context, status=TOO_MANY)
    answer["Retry-After"] = str(max(1, math.ceil((opens - now).total_seconds())))
    answer["Cache-Control"] = "no-store"
    return answer


def _opens(of: Mapping[str, str], *, now: datetime) -> datetime:
    """Return when enough failures have expired to get below the limit, or `now` if it is not locked."""
    kept = settings.AXES_COOLOFF_TIME
    rows = AccessAttempt.objects.filter(**of, attempt_time__gte=now - kept).order_by("attempt_time")
    counted = list(rows.values_list("attempt_time", "failures_since_start"))
    total, opens = sum(failures for _at, failures in counted), now
    for at, failures in counted:
        if total < settings.AXES_FAILURE_LIMIT:
            break
        total, opens = total - failures, at + kept
    return opens


def _note(request: HttpRequest, name: str, address: str, opens: datetime, *, now: datetime) -> None:
    """Audit the lockout. A name without an account, which may be a password, is stored only as a keyed hash."""
    known = User.objects.filter(username=name).exists()
    digest = hmac.new(settings.MEMOS_KEY_PEPPER.encode(), f"sign-in:{name}".encode(), hashlib.sha256).hexdigest()
    note_account(
        actor=ACTOR,
        event=AuditEvent.LOGIN_LOCK,
        account=name if known else f"unknown:{digest[:16]}",
        details={"address": address, "failures": settings.AXES_FAILURE_LIMIT, "opens_at": opens.isoformat()},
        now=now,
        request_id=request_id(request),
    )
