"""`/ops/imports/` previews exports of other programs, imports them, shows their progress and cancels them."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.enums import ImportFormat
from memory.errors import MemosError, NotFound
from memory.services.imports import requests
from memory.types import ListFilter
from ops.access import find_chosen_namespace, page_access, reads_text, scope_in, staff_access
from ops.form_problems import place_problem
from ops.pages import imports as page
from ops.pages.imports import ImportShown
from ops.views.live import live, version_of
from ops.views.page import console_action, console_page, go_to
from ops.views.uploads import above_bytes, read_upload_id

ADD = "memory.add_memoryimport"
ROWS = 50
_MAX_SPEAKER_CHARS = 128


@console_page
def imports(request: HttpRequest) -> HttpResponse:
    """List the imports of the chosen namespace, or of all. A chosen one has a form for another import."""
    return _list_imports(request, {})


@console_page
def import_one(request: HttpRequest, import_id: uuid.UUID) -> HttpResponse:
    """Show an import with its progress and outcome."""
    shown = _find_import(request, import_id)
    context = {"one": shown, "version": _version(shown), "may_change": request.user.has_perm(ADD)}
    return render(request, "ops/import.html", context)


@console_page
def import_progress(request: HttpRequest, import_id: uuid.UUID) -> HttpResponse:
    """Render the progress of an import, which its page polls."""
    shown = _find_import(request, import_id)
    context = {"one": shown, "may_change": request.user.has_perm(ADD)}
    return live(request, "ops/imports/_report.html", context, _version(shown))


@console_action(permission=ADD)
def import_preview(request: HttpRequest) -> HttpResponse:
    """Render what the chosen file contains and what an import would make of it."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        raise Http404(_("Choose a namespace."))
    upload = _read_upload(request)
    if upload is None:
        return render(request, "ops/imports/_preview.html", {"problem": _nothing_chosen()})
    try:
        found = requests.preview_import(scope_in(request, namespace), upload, now=timezone.now())
    except MemosError as error:
        return render(request, "ops/imports/_preview.html", {"problem": error.message})
    # The user sent this text, so it is not masked.
    return render(request, "ops/imports/_preview.html", {"one": page.import_shown(found, may_read_text=True)})


@console_action(permission=ADD)
def import_create(request: HttpRequest) -> HttpResponse:
    """Start an import of the file."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        return go_to(request, "ops:imports")
    upload = _read_upload(request)
    if upload is None:
        return _list_imports(request, {**_read_fields(request), "problems": {"file": _nothing_chosen()}})
    try:
        row = requests.start_import(scope_in(request, namespace), upload, now=timezone.now())
    except MemosError as error:
        problems = place_problem(error, file="file", text="text", format="format", speaker="speaker")
        return _list_imports(request, {**_read_fields(request), "problems": problems})
    return go_to(request, "ops:import", row.id)


@console_action(permission=ADD)
def import_cancel(request: HttpRequest, import_id: uuid.UUID) -> HttpResponse:
    """Cancel an import. What it has stored stays."""
    _find_import(request, import_id)
    try:
        requests.cancel_import(staff_access(request), import_id=import_id, now=timezone.now())
        messages.success(request, _("The import is cancelled. What it has stored stays."))
    except MemosError as error:
        messages.error(request, error.message)
    return go_to(request, "ops:import", import_id)


def _list_imports(request: HttpRequest, form: dict[str, Any]) -> HttpResponse:
    chosen = find_chosen_namespace(request)
    wanted = ListFilter(chosen.name if chosen else None, None, ROWS)
    found, following = requests.list_imports(page_access(request), wanted=wanted, cursor=_cursor(request))
    context = {
        "rows": [page.import_shown(one, may_read_text=reads_text(request)) for one in found],
        "older": str(following or ""),
        "newer": "first" if request.GET.get("cursor") else "",
        "namespace": chosen,
        "may_change": request.user.has_perm(ADD),
        "formats": page.FORMATS,
        "upload_above": above_bytes(),
        "form": form,
    }
    return render(request, "ops/imports.html", context)


def _read_upload(request: HttpRequest) -> requests.ImportUpload | None:
    """Return the file or the pasted lines of the form, or None if it has neither."""
    typed = _read_fields(request)
    format = ImportFormat(typed["format"]) if typed["format"] in ImportFormat.values else None
    speaker = typed["speaker"][:_MAX_SPEAKER_CHARS]
    if upload_id := read_upload_id(request):
        return requests.ImportUpload(format=format, speaker=speaker, upload_id=upload_id)
    if file := request.FILES.get("file"):
        return requests.ImportUpload(file.name or "", file.chunks(), format, speaker)
    if typed["text"].strip():
        return requests.ImportUpload(page.PASTED_NAME, [typed["text"].encode()], format, speaker)
    return None


def _read_fields(request: HttpRequest) -> dict[str, str]:
    return {name: request.POST.get(name, "").strip() for name in ("text", "format", "speaker")}


def _nothing_chosen() -> str:
    return _("Choose a file, or paste lines.")


def _find_import(request: HttpRequest, import_id: uuid.UUID) -> ImportShown:
    try:
        row = requests.find_import(page_access(request), import_id=import_id)
    except NotFound:
        raise Http404(_("There is no such import.")) from None
    return page.import_shown(requests.to_dict(row), may_read_text=reads_text(request))


def _version(shown: ImportShown) -> str:
    return version_of(shown.word, shown.dealt_with, shown.turns, shown.rows)


def _cursor(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get("cursor", ""))
    except ValueError:
        return None
