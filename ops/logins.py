"""The logins of staff: where an account is signed in, and signing it out here or everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from ops.models import StaffSession
from ops.sign_in import SEEN, SessionStore

# A visit is recorded again only after this time.
SEEN_EVERY = timedelta(minutes=10)
BROWSER_CHARS = 200


def address_of(request: HttpRequest) -> str:
    """Return the client's address: that of the connection, or what the nearest MEMOS_PROXIES proxies report.

    Only the last entries of `X-Forwarded-For` come from trusted proxies; anyone can send the others.
    """
    direct = str(request.META.get("REMOTE_ADDR") or "")
    if not settings.MEMOS_PROXIES:
        return direct
    entries = request.headers.get("X-Forwarded-For", "").split(",")
    try:
        return str(ip_address(entries[-settings.MEMOS_PROXIES].strip()))
    except (IndexError, ValueError):
        return direct


def note_visit(request: HttpRequest, *, now: datetime) -> None:
    """Record in the session when and from where it was seen, at most every SEEN_EVERY."""
    former: Mapping[str, Any] = request.session.get(SEEN) or {}
    if former and now - datetime.fromisoformat(former["at"]) < SEEN_EVERY:
        return
    request.session[SEEN] = {
        "since": former.get("since", now.isoformat()),
        "at": now.isoformat(),
        "address": address_of(request),
        "browser": request.headers.get("User-Agent", "").replace("\0", "")[:BROWSER_CHARS],
    }


def logins_of(user: User, *, now: datetime) -> QuerySet[StaffSession]:
    """Return the unexpired logins of an account, the latest seen first."""
    return StaffSession.objects.filter(user=user, expire_date__gt=now).order_by("-seen_at", "session_key")


def end_logins(user: User, *, but: str = "", only: str = "") -> int:
    """End the logins of an account: all, all `but` one, or `only` one, by session key. Returns their number."""
    rows = StaffSession.objects.filter(user=user)
    rows = rows.filter(session_key=only) if only else rows.exclude(session_key=but)
    keys = list(rows.values_list("session_key", flat=True))
    for key in keys:
        SessionStore().delete(key)
    return len(keys)


def mark_of(login: StaffSession) -> str:
    """Return an identifier of a login for pages. The session key itself is secret, because it signs its bearer in."""
    return salted_hmac("ops.logins", login.session_key).hexdigest()[:16]
