"""Records visits of staff pages, and requires a second factor where it is mandatory."""

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
# Pages for setting up a second factor and for logging out.
OPEN_WITHOUT = ("/ops/account/", "/ops/language/", "/admin/logout/", "/admin/login/", "/admin/jsi18n/")


class StaffLoginMiddleware:
    """Reads only the session, which every page reads anyway, so that polling gets no more expensive."""

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
        """Return whether the user has to set up a second factor: a login without one means that they have none."""
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
