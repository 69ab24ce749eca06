"""Decorators of the console's views: they check access and method, and prevent caching."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, overload

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.encoding import iri_to_uri
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_POST, require_safe

from ops.access import VIEW_CONSOLE, permission_title
from ops.navigation import keep_query

View = Callable[..., HttpResponse]


def is_fragment(request: HttpRequest) -> bool:
    """Return whether htmx requests a part of a page."""
    return request.headers.get("HX-Request") == "true"


@overload
def console_page(view: View, /) -> View: ...
@overload
def console_page(*, permission: str = ...) -> Callable[[View], View]: ...
def console_page(view: View | None = None, /, *, permission: str = "") -> View | Callable[[View], View]:
    """Guard a page or a fragment: for staff with `ops.view_console` and `permission`, by GET and HEAD only.

    Use it as `@console_page` or `@console_page(permission="ops.run_probe")`.
    """

    def wrap(inner: View) -> View:
        return require_safe(_guard(inner, permission))

    return wrap if view is None else wrap(view)


def console_action(*, permission: str) -> Callable[[View], View]:
    """Guard an action: for the same users with `permission`, only by POST with a CSRF token.

    The view answers with `go_to(request, …)`, `back(request, …)` or a fragment.
    """

    def wrap(inner: View) -> View:
        return require_POST(csrf_protect(_guard(inner, permission)))

    return wrap


def back(request: HttpRequest, to: str) -> HttpResponse:
    """Redirect after an action: to the page of this site in the form's `next`, or else to the url name `to`."""
    wanted = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    response = HttpResponse(status=303)
    response["Location"] = iri_to_uri(wanted) if safe else reverse(to)
    return response


def go_to(request: HttpRequest, to: str, *args: Any) -> HttpResponse:
    """Redirect after an action to the url name `to`, keeping the namespace and window of the page."""
    return redirect(reverse(to, args=args) + keep_query(request))


def _guard(view: View, permission: str) -> View:
    @wraps(view)
    def respond_if_allowed(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user = request.user
        if not (user.is_active and user.is_staff):
            response = to_login(request)
        elif lacked := next((p for p in (VIEW_CONSOLE, permission) if p and not user.has_perm(p)), ""):
            response = forbidden(request, lacked)
        elif any("\0" in value for values in request.POST.lists() for value in (values[0], *values[1])):
            raise BadRequest(_("The form holds a NUL character."))
        else:
            response = view(request, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response

    return respond_if_allowed


def to_login(request: HttpRequest) -> HttpResponse:
    """Redirect to the login; htmx gets a 401 instead."""
    if is_fragment(request):
        # live.js shows a banner with a link to the login, so that text typed into the page is not lost.
        return HttpResponse(_("Your session has ended."), status=401, content_type="text/plain")
    return redirect_to_login(request.get_full_path() if request.method != "POST" else reverse("ops:overview"))


def forbidden(request: HttpRequest, permission: str) -> HttpResponse:
    """Answer with the missing permission and who can grant it. A fragment gets only the message."""
    template = "ops/forbidden_fragment.html" if is_fragment(request) else "ops/forbidden.html"
    context = {"permission": permission, "permission_title": permission_title(permission)}
    return render(request, template, context, status=403)
