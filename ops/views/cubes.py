"""`/ops/cubes/` shows namespaces as cubes, with their owners and shares."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.enums import CubeKind, ShareLevel
from memory.errors import InvalidInput, MemosError, NotFound, PreconditionFailed
from memory.models import Cube
from memory.services.cubes import change, create, find, share
from memory.types import ChangeTerms
from ops.access import find_chosen_namespace, page_access, request_id, staff_access
from ops.form_problems import place_problem
from ops.named_users import find_named_user, offer_users
from ops.pages import cubes as page
from ops.pages.snippets import ask_api
from ops.views.page import console_action, console_page, go_to

CHANGE = "memory.change_cube"
ROWS = 50
MOST_DAYS = 3650


@console_page
def cubes(request: HttpRequest) -> HttpResponse:
    """List the cubes of the chosen namespace, or of all. A chosen namespace without a cube may be registered."""
    return _list_cubes(request, {})


@console_page
def cube(request: HttpRequest, cube_id: uuid.UUID) -> HttpResponse:
    """Show a cube: its contents and its shares."""
    return _show_cube(request, _find_cube(request, cube_id), {})


@console_action(permission=CHANGE)
def cube_register(request: HttpRequest) -> HttpResponse:
    """Register the chosen namespace as a cube."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        return go_to(request, "ops:cubes")
    typed = {name: request.POST.get(name, "") for name in ("name", "description", "owner")}
    try:
        row = create.register_cube(
            staff_access(request),
            namespace=namespace.name,
            name=typed["name"],
            description=typed["description"],
            owner_id=find_named_user(staff_access(request), typed["owner"]).pk if typed["owner"].strip() else None,
            now=timezone.now(),
            request_id=request_id(request),
        )
    except MemosError as error:
        problems = place_problem(error, name="name", description="description", owner_id="owner", user="owner")
        return _list_cubes(request, {**typed, "problems": problems})
    messages.success(request, _("The namespace is registered as a cube."))
    return go_to(request, "ops:cube", row.pk)


@console_action(permission=CHANGE)
def cube_change(request: HttpRequest, cube_id: uuid.UUID) -> HttpResponse:
    """Change, share, revoke or unregister a cube, by the button that was pressed."""
    row = _find_cube(request, cube_id)
    wanted = request.POST.get("do", "")
    try:
        if wanted == "unregister":
            create.unregister_cube(
                staff_access(request), cube_id=cube_id, now=timezone.now(), request_id=request_id(request)
            )
            messages.success(request, _("The cube is unregistered. The namespace and its memories stay."))
            return go_to(request, "ops:cubes")
        if wanted == "change":
            _change(request, row)
            messages.success(request, _("The cube is changed."))
        if wanted == "share":
            _share(request, cube_id)
            messages.success(request, _("The cube is shared."))
        if wanted == "revoke":
            share.revoke_share(
                staff_access(request),
                cube_id=cube_id,
                user_id=_read_id(request.POST.get("user", "")),
                now=timezone.now(),
                request_id=request_id(request),
            )
            messages.success(request, _("The share is revoked: the user's keys no longer reach the cube."))
    except MemosError as error:
        if wanted == "share":
            typed = {name: request.POST.get(name, "") for name in ("user", "level", "days")}
            problems = place_problem(error, user="user", user_id="user", key="user", level="level", expires_at="days")
            return _show_cube(request, row, {**typed, "problems": problems})
        if wanted == "change":
            typed = {name: request.POST.get(name, "") for name in ("name", "description", "owner", "revision")}
            problems = place_problem(error, name="name", description="description", owner_id="owner", user="owner")
            if isinstance(error, PreconditionFailed):
                problems = {"": _("Somebody changed the cube meanwhile. Look at how it is now, then change it again.")}
                typed["revision"] = str(row.revision)
            changed = {**typed, "kinds": request.POST.getlist("kinds"), "problems": problems}
            return _show_cube(request, row, {}, changed)
        messages.error(request, error.message)
    return go_to(request, "ops:cube", cube_id)


def _change(request: HttpRequest, row: Cube) -> None:
    """Change the cube to the typed values. An unchanged owner is kept, even if out of reach."""
    access = staff_access(request)
    typed = {name: request.POST.get(name, "").strip() for name in ("name", "description", "owner", "revision")}
    wanted: dict[str, Any] = {
        "name": typed["name"],
        "description": typed["description"],
        "kinds": [CubeKind.TEXTUAL.value, *request.POST.getlist("kinds")],
    }
    if typed["owner"] != page.cube_shown(row, find.owners_of(access, [row])).owner:
        wanted["owner_id"] = find_named_user(access, typed["owner"]).pk if typed["owner"] else None
    seen = typed["revision"]
    if not (seen.isascii() and seen.isdigit() and len(seen) < 10):
        raise InvalidInput(_("The form does not say which revision of the cube it changes: open the page again."))
    terms = ChangeTerms(frozenset({int(seen)}), request_id=request_id(request))
    change.change_cube(access, cube_id=row.pk, wanted=wanted, terms=terms, now=timezone.now())


def _share(request: HttpRequest, cube_id: uuid.UUID) -> None:
    level, days, now = request.POST.get("level", ""), request.POST.get("days", "").strip(), timezone.now()
    if level not in ShareLevel.values:
        raise InvalidInput(_("Choose what the user may do."), detail={"field": "level"})
    if days and not (days.isascii() and days.isdigit() and 1 <= int(days[:6]) <= MOST_DAYS):
        raise InvalidInput(
            _("Days are a whole number from 1 to %(most)s, or empty.") % {"most": f"{MOST_DAYS:,}"},
            detail={"field": "expires_at"},
        )
    share.share_cube(
        staff_access(request),
        cube_id=cube_id,
        user_id=find_named_user(staff_access(request), request.POST.get("user", "")).pk,
        level=ShareLevel(level),
        expires_at=now + timedelta(days=int(days)) if days else None,
        now=now,
        request_id=request_id(request),
    )


def _read_id(value: str) -> uuid.UUID:
    try:
        return uuid.UUID(value.strip())
    except ValueError:
        raise NotFound(_("That is no id of a user.")) from None


def _list_cubes(request: HttpRequest, form: dict[str, Any]) -> HttpResponse:
    access, namespace = page_access(request), find_chosen_namespace(request)
    may_change = request.user.has_perm(CHANGE)
    rows, following = find.list_cubes(access, cursor=_cursor(request), limit=ROWS)
    is_cube = namespace is not None and any(row.namespace_id == namespace.pk for row in rows)
    asks = may_change and namespace is not None and not is_cube
    context = {
        "rows": page.list_rows(rows, find.owners_of(staff_access(request), rows), now=timezone.now()),
        "older": str(following or ""),
        "newer": "first" if request.GET.get("cursor") else "",
        "namespace": namespace,
        "is_cube": is_cube,
        "may_change": may_change,
        "offered": offer_users(staff_access(request)) if asks else (),
        "command": ask_api(request, "/v1/cubes", {"namespace": "support", "name": _("Support desk")}).curl,
        "form": form,
    }
    return render(request, "ops/cubes.html", context)


def _show_cube(
    request: HttpRequest, row: Cube, form: dict[str, Any], change_form: dict[str, Any] | None = None
) -> HttpResponse:
    """Show a cube. `form` and `change_form` have refused input for a share and for the cube."""
    access, may_change = page_access(request), request.user.has_perm(CHANGE)
    _row, shares = share.list_shares(access, cube_id=row.pk)
    # The owner and the users of shares may belong to any reachable namespace.
    everybody = staff_access(request)
    contents = page.contents_shown(row, request.user)
    cube = page.cube_shown(row, find.owners_of(everybody, [row]))
    as_it_is = {"name": cube.name, "description": cube.description, "owner": cube.owner, "kinds": cube.extra_kinds}
    context = {
        "cube": cube,
        "tiles": contents.tiles,
        "kinds": contents.kinds,
        "shares": page.shares_shown(shares, share.users_of(everybody, shares), now=timezone.now()),
        "levels": page.LEVELS.items(),
        "may_change": may_change,
        "offered": offer_users(everybody) if may_change else (),
        "form": form,
        "changes": change_form or {**as_it_is, "revision": cube.revision},
        "extra_kinds": page.EXTRA_KINDS,
    }
    return render(request, "ops/cube.html", context)


def _find_cube(request: HttpRequest, cube_id: uuid.UUID) -> Cube:
    try:
        return find.find_cube(page_access(request), cube_id)
    except NotFound:
        raise Http404(_("There is no such cube.")) from None


def _cursor(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get("cursor", ""))
    except ValueError:
        return None
