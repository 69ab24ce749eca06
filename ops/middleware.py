"""What every page of staff passes: the visit is noted, and a second factor is asked for where it must be."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django_otp import DEVICE_ID_SESSION_KEY

from ops.logins import note_visit

PAGES = ("/ops/", "/admin/")
# Where one sets a second factor up, and leaves.
OPEN_WITHOUT = ("/ops/account/", "/ops/language/", "/admin/logout/", "/admin/login/", "/admin/jsi18n/")


class StaffLoginMiddleware:
    """Looks at the session only, which every page reads anyway: a poll costs nothing more."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(PAGES) and SESSION_KEY in request.session:
            note_visit(request, now=timezone.now())
            if self._must_set_up(request):
                return self._to_set_up(request)
        return self.get_response(request)

    @staticmethod
    def _must_set_up(request: HttpRequest) -> bool:
        """Who has a second factor signed in by it; a login without one is of somebody who has none yet."""
        return (
            settings.MEMOS_STAFF_SECOND_FACTOR == "required"
            and DEVICE_ID_SESSION_KEY not in request.session
            and not request.path_info.startswith(OPEN_WITHOUT)
            and request.user.is_authenticated
        )

    @staticmethod
    def _to_set_up(request: HttpRequest) -> HttpResponse:
        if request.headers.get("HX-Request") == "true":
            return HttpResponse(_("Set up a second factor first."), status=403, content_type="text/plain")
        return HttpResponseRedirect(reverse("ops:account"))
