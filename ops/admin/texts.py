"""Admins of rows with text from people: masked for users who may not read it, and audited when opened by others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from memory.services.memories.view_log import note_viewed
from ops.access import reads_text, request_id, staff_access
from ops.admin.lists import ReadOnlyAdmin


class TextAdmin(ReadOnlyAdmin):
    """An admin that masks texts. `hidden` maps columns and fields to masked variants; the audit calls rows `what`."""

    hidden: ClassVar[dict[str, str]] = {}
    what: ClassVar[str] = ""

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return self._choose_fields(request, super().get_list_display(request))

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self._choose_fields(request, super().get_fields(request, obj))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().change_view(request, object_id, form_url, extra_context)
        note_opened(request, response, self.what)
        return response

    def _choose_fields(self, request: HttpRequest, names: Sequence[Any]) -> list[Any]:
        if reads_text(request):
            return list(names)
        return list(dict.fromkeys(self.hidden.get(name, name) for name in names))


def note_opened(request: HttpRequest, response: HttpResponse, what: str) -> None:
    """Audit that a page with a text was opened by a user who may read it."""
    row = response.context_data.get("original") if isinstance(response, TemplateResponse) else None  # type: ignore[union-attr]
    if request.method == "GET" and row is not None and reads_text(request):
        note_viewed(
            staff_access(request),
            what=what,
            namespace_id=row.namespace_id,
            subject=row.pk,
            session=getattr(row, "session", ""),
            now=timezone.now(),
            request_id=request_id(request),
        )
