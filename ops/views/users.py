"""`/ops/users/` shows the people whose memories are kept and what belongs to each, and erases users."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.errors import InvalidInput, MemosError, NotFound
from memory.models import User
from memory.services.cubes import find as cubes
from memory.services.erasure import users as erasing
from memory.services.preferences.profile import ProfileFilter, read_profile
from memory.services.tenancy import keys, users
from memory.types import ChangeTerms
from ops.access import find_chosen_namespace, page_access, reads_text, request_id, staff_access
from ops.form_problems import place_problem
from ops.pages import cubes as cubes_page
from ops.pages import users as page
from ops.pages.links import page_link
from ops.pages.snippets import ask_api
from ops.views.live import live, version_of
from ops.views.page import console_action, console_page, go_to

CHANGE, ERASE, GIVE_KEY = "memory.change_user", "memory.delete_user", "memory.change_apikey"
ROWS = 50
MOST_CUBES = 50
MOST_PREFERENCES = 100


@console_page
def list_users(request: HttpRequest) -> HttpResponse:
    """List the users of the chosen namespace, or of all. A chosen one has a form for a new user."""
    return _list_users(request, {})


@console_page
def user(request: HttpRequest, identity: uuid.UUID) -> HttpResponse:
    """Show a user, or the receipt of an erased one."""
    try:
        row = users.find_user(page_access(request), user_id=identity)
    except NotFound:
        shown = _find_receipt(request, identity)
        return render(request, "ops/user_erased.html", {"one": shown, "version": _version(shown)})
    return _show_user(request, row, {})


@console_page
def user_receipt(request: HttpRequest, erased_id: uuid.UUID) -> HttpResponse:
    """Render the receipt of an erased user, which its page polls."""
    shown = _find_receipt(request, erased_id)
    return live(request, "ops/users/_receipt.html", {"one": shown}, _version(shown))


@console_action(permission=ERASE)
def user_erasure_preview(request: HttpRequest, identity: uuid.UUID) -> HttpResponse:
    """Render what an erasure of the user would delete, or what prevents it. Nothing is stored."""
    _find_user(request, identity)
    try:
        found = erasing.preview(staff_access(request), user_id=identity, reason=_("A preview"), now=timezone.now())
    except MemosError as error:
        return render(request, "ops/users/_preview.html", {"problem": error.message})
    context = {
        "parts": [{**one, "whole": page.is_whole(one)} for one in found["erasures"]],
        "keys": found["keys_revoked"],
        "shares": found["shares_ended"],
        "cubes": found["cubes_disowned"],
    }
    return render(request, "ops/users/_preview.html", context)


@console_action(permission=CHANGE)
def user_create(request: HttpRequest) -> HttpResponse:
    """Create a user who belongs to the chosen namespace."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        return go_to(request, "ops:users")
    typed = {name: request.POST.get(name, "") for name in ("name", "display_name")}
    try:
        row = users.create_user(
            staff_access(request),
            namespace=namespace.name,
            name=typed["name"],
            display_name=typed["display_name"],
            now=timezone.now(),
            request_id=request_id(request),
        )
    except MemosError as error:
        problems = place_problem(error, name="name", display_name="display_name")
        return _list_users(request, {**typed, "problems": problems})
    messages.success(request, _("The user is created."))
    return go_to(request, "ops:user", row.pk)


@console_action(permission=CHANGE)
def user_change(request: HttpRequest, identity: uuid.UUID) -> HttpResponse:
    """Assign a key to the user or erase the user, by the button that was pressed."""
    row, wanted, now = _find_user(request, identity), request.POST.get("do", ""), timezone.now()
    needed = {"key": GIVE_KEY, "erase": ERASE}.get(wanted)
    if needed is None or not request.user.has_perm(needed):
        raise PermissionDenied
    access = staff_access(request)
    typed = {name: request.POST.get(name, "") for name in ("key", "reason", "confirm")}
    try:
        if wanted == "key":
            key = keys.find_key(access, prefix=typed["key"])
            keys.set_owner(key_id=key.pk, owner=row, actor=access.actor, now=now)
            messages.success(request, _("The key now belongs to the user, and reaches what is shared with them."))
        else:
            if typed["confirm"] != row.name:
                raise InvalidInput(
                    _("Nothing was erased: type the name exactly as it is shown."), detail={"field": "confirm"}
                )
            erasing.erase_user(
                access,
                user_id=identity,
                reason=typed["reason"],
                confirm=typed["confirm"],
                terms=ChangeTerms(request_id=request_id(request)),
                now=now,
            )
            messages.success(
                request,
                _("The user is erased, and their memories are being erased. This is the receipt."),
            )
    except MemosError as error:
        problems = place_problem(error, key="key", key_id="key", reason="reason", confirm="confirm")
        return _show_user(request, row, {**typed, "erases": wanted == "erase", "problems": problems})
    return go_to(request, "ops:user", identity)


def _show_user(request: HttpRequest, row: User, form: dict[str, Any]) -> HttpResponse:
    everything, may_read = staff_access(request), reads_text(request)
    owned, _more = cubes.list_cubes(everything, owner_id=row.pk, limit=MOST_CUBES)
    wanted = ProfileFilter(limit=MOST_PREFERENCES)
    profile = read_profile(page_access(request), user_id=row.pk, wanted=wanted, now=timezone.now())
    context = {
        "user_shown": page.user_shown(row, users.namespaces_of(everything, [row])[row.pk], may_read_text=may_read),
        "cubes": [cubes_page.cube_shown(one, {row.pk: row}) for one in owned],
        "profile": page.profile_shown(profile, request.user, may_read_text=may_read),
        "policies_link": page_link("ops:policies", ns=row.namespace.name),
        "keys": page.keys_shown(keys.list_keys_of(everything, user_id=row.pk)),
        "may_erase": request.user.has_perm(ERASE),
        "may_give_key": request.user.has_perm(GIVE_KEY),
        "form": form,
    }
    return render(request, "ops/user.html", context)


def _find_receipt(request: HttpRequest, user_id: uuid.UUID) -> page.ReceiptShown:
    try:
        receipt = erasing.find_receipt(page_access(request), user_id=user_id)
    except NotFound:
        raise Http404(_("There is no such user.")) from None
    return page.receipt_shown(erasing.to_dict(staff_access(request), receipt))


def _version(shown: page.ReceiptShown) -> str:
    return version_of(shown.word, [[part.word, part.memories] for part in shown.parts])


def _list_users(request: HttpRequest, form: dict[str, Any]) -> HttpResponse:
    access = page_access(request)
    rows, following = users.list_users(access, cursor=_cursor(request), limit=ROWS)
    namespaces = users.namespaces_of(staff_access(request), rows)
    may_read = reads_text(request)
    context = {
        "rows": [page.user_shown(row, namespaces[row.pk], may_read_text=may_read) for row in rows],
        "older": str(following or ""),
        "newer": "first" if request.GET.get("cursor") else "",
        "namespace": find_chosen_namespace(request),
        "may_change": request.user.has_perm(CHANGE),
        "command": ask_api(request, "/v1/users", {"namespace": "support", "name": "ann"}).curl,
        "form": form,
    }
    return render(request, "ops/users.html", context)


def _find_user(request: HttpRequest, user_id: uuid.UUID) -> User:
    try:
        return users.find_user(page_access(request), user_id=user_id)
    except NotFound:
        raise Http404(_("There is no such user.")) from None


def _cursor(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get("cursor", ""))
    except ValueError:
        return None
