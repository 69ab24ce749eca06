"""Accounts of staff: their logins and second factor. Users see their own, administrators of users those of others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any

import django_otp
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_POST, require_safe

from memory.enums import AuditEvent
from memory.services.audit.account_events import note_account
from ops import second_factor
from ops.access import request_id, staff_actor
from ops.admin.scope import member
from ops.admin.staff import is_beyond
from ops.logins import end_logins, logins_of, mark_of
from ops.models import StaffSession
from ops.sign_in import SEEN
from ops.views.page import to_login

View = Callable[..., HttpResponse]


def _for_staff(view: View) -> View:
    """Guard a view that every member of staff may open, even without the permission for the console."""

    @wraps(view)
    def respond_to_staff(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not (request.user.is_active and request.user.is_staff):
            return to_login(request)
        response = view(request, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response

    return respond_to_staff


@require_safe
@_for_staff
def account(request: HttpRequest) -> HttpResponse:
    """Show the user's own logins and second factor."""
    return _page(request, member(request))


@require_safe
@_for_staff
def account_of(request: HttpRequest, user_id: int) -> HttpResponse:
    """Show another user's account, to those who may change it."""
    return _page(request, _whose(request, user_id))


@require_POST
@csrf_protect
@_for_staff
def logins_end(request: HttpRequest, user_id: int) -> HttpResponse:
    """End the login named by `login`, or all except the current one."""
    user = _whose(request, user_id)
    ended = end_logins(user, but=request.session.session_key or "", only=_key_of(request, user))
    if ended:
        _note(request, AuditEvent.LOGIN_END, user, {"ended": ended})
    said = ngettext("%(n)s login was ended.", "%(n)s logins were ended.", ended) % {"n": ended}
    messages.success(request, said)
    return _back(request, user)


@require_POST
@csrf_protect
@_for_staff
def second_factor_begin(request: HttpRequest) -> HttpResponse:
    """Create a key, which the page then shows."""
    second_factor.begin(member(request))
    return HttpResponseRedirect(reverse("ops:account") + "#second-factor")


@require_POST
@csrf_protect
@_for_staff
def second_factor_confirm(request: HttpRequest) -> HttpResponse:
    """Confirm the second factor by its first code, show the backup codes once, here, and end the other logins."""
    user = member(request)
    done = second_factor.confirm(user, request.POST.get("otp_token", ""))
    if done is None:
        messages.error(request, _("That was not the code of now. Look at the app's clock and try the next one."))
        return HttpResponseRedirect(reverse("ops:account") + "#second-factor")
    device, codes = done
    django_otp.login(request, device)
    request.session.cycle_key()
    ended = end_logins(user, but=request.session.session_key or "")
    _note(request, AuditEvent.SECOND_FACTOR_SET, user, {"ended": ended})
    messages.success(request, _("The second factor is set up. Other logins of your account were ended."))
    return _page(request, user, codes=codes)


@require_POST
@csrf_protect
@_for_staff
def backup_codes_renew(request: HttpRequest) -> HttpResponse:
    """Replace the backup codes, which are shown once. Needs a code of the app."""
    user = member(request)
    if second_factor.verify(user, request.POST.get("otp_token", "")) is None:
        messages.error(request, _("That was not the code of now. Look at the app's clock and try the next one."))
        return _back(request, user)
    _note(request, AuditEvent.SECOND_FACTOR_SET, user, {"backup_codes": second_factor.BACKUP_CODES})
    return _page(request, user, codes=second_factor.renew_backup_codes(user))


@require_POST
@csrf_protect
@_for_staff
def second_factor_remove(request: HttpRequest, user_id: int) -> HttpResponse:
    """Remove a second factor: one's own with a code, or another's without (a lost phone), which ends their logins."""
    user = _whose(request, user_id)
    own = user.pk == request.user.pk
    if own and second_factor.verify(user, request.POST.get("otp_token", "")) is None:
        messages.error(request, _("That was not the code of now. Look at the app's clock and try the next one."))
        return _back(request, user)
    if second_factor.remove(user):
        if own:
            request.session.pop(django_otp.DEVICE_ID_SESSION_KEY, None)
        ended = 0 if own else end_logins(user)
        _note(request, AuditEvent.SECOND_FACTOR_REMOVE, user, {"ended": ended})
        messages.success(request, _("The second factor was removed."))
    return _back(request, user)


def _page(request: HttpRequest, user: User, *, codes: list[str] | None = None) -> HttpResponse:
    own = user.pk == request.user.pk
    begun = second_factor.find_begun(user) if own else None
    context = {
        "account": user,
        "own": own,
        "logins": [_build_login(request, row) for row in logins_of(user, now=timezone.now())],
        "set_up": second_factor.is_set_up(user),
        "required": settings.MEMOS_STAFF_SECOND_FACTOR == "required",
        "codes_left": second_factor.count_backup_codes_left(user),
        "codes": codes or [],
        "qr": mark_safe(second_factor.qr_code(begun)) if begun else "",  # noqa: S308 - segno's own drawing
        "key": second_factor.key_in_words(begun) if begun else "",
    }
    return render(request, "ops/account.html", context)


def _build_login(request: HttpRequest, row: StaffSession) -> dict[str, Any]:
    """Return a login. The current one's first visit is not stored yet, so it is read from the session."""
    here = row.session_key == request.session.session_key
    if here and (seen := request.session.get(SEEN)):
        row.browser, row.address = seen["browser"], seen["address"]
        row.since, row.seen_at = datetime.fromisoformat(seen["since"]), datetime.fromisoformat(seen["at"])
    return {"row": row, "mark": mark_of(row), "here": here}


def _whose(request: HttpRequest, user_id: int) -> User:
    """Return one's own account, or one that this member of staff may change. Raises Http404, PermissionDenied."""
    if user_id == request.user.pk:
        return member(request)
    if not request.user.has_perm("auth.change_user"):
        raise PermissionDenied
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        raise Http404
    if is_beyond(request, user):
        raise PermissionDenied
    return user


def _key_of(request: HttpRequest, user: User) -> str:
    """Return the session key of the login that the form identifies, or "" if it names none. Raises Http404."""
    named = request.POST.get("login", "")
    if not named:
        return ""
    keys = {mark_of(row): row.session_key for row in logins_of(user, now=timezone.now())}
    if named not in keys:
        raise Http404
    return keys[named]


def _back(request: HttpRequest, user: User) -> HttpResponse:
    own = user.pk == request.user.pk
    return HttpResponseRedirect(reverse("ops:account") if own else reverse("ops:account_of", args=[user.pk]))


def _note(request: HttpRequest, event: AuditEvent, user: User, details: dict[str, Any]) -> None:
    note_account(
        actor=staff_actor(request),
        event=event,
        account=user.get_username(),
        details=details,
        now=timezone.now(),
        request_id=request_id(request),
    )
