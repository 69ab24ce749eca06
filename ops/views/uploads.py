"""Receives files in parts (`ops/upload.js`) before the form that uses them is sent."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.errors import MemosError, NotFound
from memory.services.cubes import find
from memory.services.imports import uploads
from memory.types import Scope
from ops.access import find_chosen_namespace, page_access, scope_in, staff_access
from ops.views.page import console_action

ADD_IMPORT = "memory.add_memoryimport"
ADD_CUBE_FILE = "memory.add_cubefile"
# Smaller files are sent with their form.
ABOVE_BYTES = 16 * 1024**2


@console_action(permission=ADD_IMPORT)
def import_upload(request: HttpRequest) -> HttpResponse:
    """Start the upload of a file to import into the chosen namespace."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        raise Http404(_("Choose a namespace."))
    return _start(request, scope_in(request, namespace), "ops:import_upload_part")


@console_action(permission=ADD_IMPORT)
def import_upload_part(request: HttpRequest, upload_id: uuid.UUID, number: int) -> HttpResponse:
    """Store a part of the file."""
    return _store(request, upload_id, number)


@console_action(permission=ADD_CUBE_FILE)
def cube_upload(request: HttpRequest, cube_id: uuid.UUID) -> HttpResponse:
    """Start the upload of a file to load into the cube."""
    try:
        cube = find.find_cube(page_access(request), cube_id)
    except NotFound:
        raise Http404(_("There is no such cube.")) from None
    return _start(request, scope_in(request, cube.namespace), "ops:cube_upload_part")


@console_action(permission=ADD_CUBE_FILE)
def cube_upload_part(request: HttpRequest, upload_id: uuid.UUID, number: int) -> HttpResponse:
    """Store a part of the file."""
    return _store(request, upload_id, number)


def above_bytes() -> int:
    """Return the size in bytes above which files are sent in parts."""
    return int(min(ABOVE_BYTES, settings.MEMOS_MAX_BODY_BYTES // 2))


def read_upload_id(request: HttpRequest) -> uuid.UUID | None:
    """Return the id of the upload that the form uses, or None."""
    try:
        return uuid.UUID(request.POST.get("upload", ""))
    except ValueError:
        return None


def _start(request: HttpRequest, scope: Scope, part_view: str) -> HttpResponse:
    try:
        size = int(request.POST.get("bytes", ""))
    except ValueError:
        size = 0
    if size < 1:
        return JsonResponse({"problem": _("The file is empty.")}, status=400)
    try:
        # An unused upload takes up space, so it is replaced: its page was left, or another file was chosen there.
        row = uploads.start_upload(
            scope, name=request.POST.get("name", ""), size=size, replaces=True, now=timezone.now()
        )
    except MemosError as error:
        return JsonResponse({"problem": error.message}, status=error.status)
    first = reverse(part_view, args=[row.id, 0])
    return JsonResponse({"id": str(row.id), "parts": first.removesuffix("0/"), "part_bytes": uploads.PART_BYTES})


def _store(request: HttpRequest, upload_id: uuid.UUID, number: int) -> HttpResponse:
    try:
        uploads.store_part(staff_access(request), upload_id=upload_id, number=number, read=request.read)
    except MemosError as error:
        return JsonResponse({"problem": error.message}, status=error.status)
    return HttpResponse(status=204)
