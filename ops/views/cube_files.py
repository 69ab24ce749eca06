"""`/ops/cubes/ID/files/` writes a cube into a file, and loads files into it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextvars import Context, copy_context
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.errors import InvalidInput, MemosError, NotFound
from memory.models import Cube
from memory.services.cube_files import requests
from memory.services.cube_files.dump import DumpOptions
from memory.services.cube_files.load_options import LoadOptions
from memory.services.cubes import find
from memory.types import ListFilter
from ops.access import page_access, reads_text, scope_in, staff_access
from ops.form_problems import FormProblems, place_problem
from ops.pages import cube_files as page
from ops.views.live import live, version_of
from ops.views.page import console_action, console_page, go_to
from ops.views.uploads import above_bytes, read_upload_id

ADD = "memory.add_cubefile"
HOLDS = "memory.change_namespacepolicy"
READ_TEXT = "ops.view_memory_text"
# Optional parts of a load, with the permissions they need: the namespace's policy, and prompts and tools for its
# agents.
BESIDES = {"policy": HOLDS, "procedures": "memory.add_procedure"}
OF_PARTS = {"quarantine": "memory.view_quarantineditem", "audit": "memory.view_auditlog"}
ROWS = 50


@console_page
def cube_files(request: HttpRequest, cube_id: uuid.UUID) -> HttpResponse:
    """List the dumps and loads of a cube, the newest first."""
    return _list_files(request, _find_cube(request, cube_id), {})


@console_page
def cube_files_live(request: HttpRequest, cube_id: uuid.UUID) -> HttpResponse:
    """Render the newest dumps and loads with their progress, which the page polls."""
    context = _list_context(request, _find_cube(request, cube_id))
    return live(request, "ops/cube_files/_list.html", context, context["version"])


@console_action(permission=ADD)
def cube_file_start(request: HttpRequest, cube_id: uuid.UUID) -> HttpResponse:
    """Start a dump, a load or a dry run, or cancel one, by the button that was pressed."""
    cube, now = _find_cube(request, cube_id), timezone.now()
    scope = scope_in(request, cube.namespace)
    wanted = request.POST.get("do", "")
    try:
        if wanted == "dump":
            requests.start_dump(scope, options=DumpOptions(vectors="vectors" in request.POST), now=now)
            messages.success(request, _("The dump has begun."))
        if wanted in ("load", "dry_run"):
            options = _read_options(request)
            requests.start_load(scope, _read_upload(request), options=options, dry_run=wanted == "dry_run", now=now)
            messages.success(request, _("The dry run has begun.") if wanted == "dry_run" else _("The load has begun."))
        if wanted == "cancel":
            requests.cancel_file(staff_access(request), file_id=_read_id(request.POST.get("file_id", "")), now=now)
            messages.success(request, _("It is cancelled. What a load has stored stays."))
    except MemosError as error:
        if wanted in ("dump", "load", "dry_run"):
            return _list_files(request, cube, _keep_typed(request, place_problem(error, file="file")))
        messages.error(request, error.message)
    return go_to(request, "ops:cube_files", cube_id)


@console_page(permission=READ_TEXT)
def cube_file_content(request: HttpRequest, cube_file_id: uuid.UUID) -> HttpResponse:
    """Stream the file of a finished dump."""
    try:
        found = requests.find_file(staff_access(request), file_id=cube_file_id)
        # Parts that have separate pages need the permissions for these.
        lacked = [needed for part, needed in OF_PARTS.items() if found.options.get(part)]
        if not request.user.has_perms(lacked):
            raise PermissionDenied
        row, pieces = requests.read_file(staff_access(request), file_id=cube_file_id, now=timezone.now())
    except MemosError as error:
        raise Http404(error.message) from None
    headers = {
        "Content-Disposition": f'attachment; filename="{row.name}"',
        "Content-Length": str(row.size),
        "Cache-Control": "no-store",
    }
    # The console's reach ends with this view, so the stream is read in a copy of its context.
    stream = _read_within(copy_context(), pieces)
    response = StreamingHttpResponse(stream, content_type="application/zip", headers=headers)
    response["X-Content-Type-Options"] = "nosniff"
    return cast(HttpResponse, response)


def _read_upload(request: HttpRequest) -> requests.CubeUpload:
    """Return the file of the form, or the one that was uploaded in parts. Raises InvalidInput."""
    if upload_id := read_upload_id(request):
        return requests.CubeUpload(upload_id=upload_id)
    file = request.FILES.get("file")
    if file is None:
        raise InvalidInput(_("Choose a file."), detail={"field": "file"})
    return requests.CubeUpload(file.name or "", file.chunks())


def _read_options(request: HttpRequest) -> LoadOptions:
    """Return the options for loading a file. Raises PermissionDenied."""
    asked = {name: name in request.POST for name in BESIDES}
    if not request.user.has_perms([needed for name, needed in BESIDES.items() if asked[name]]):
        raise PermissionDenied
    return LoadOptions(
        policy=asked["policy"],
        procedures=asked["procedures"],
        holds=request.user.has_perm(HOLDS),
        unknown_sender="unknown_sender" in request.POST,
    )


def _keep_typed(request: HttpRequest, problems: FormProblems) -> dict[str, Any]:
    boxes = {name: name in request.POST for name in ("unknown_sender", *BESIDES)}
    return {"do": request.POST.get("do"), **boxes, "problems": problems}


def _list_files(request: HttpRequest, cube: Cube, form: dict[str, Any]) -> HttpResponse:
    context = _list_context(request, cube)
    context |= {
        "is_live": not request.GET.get("cursor") and any(one.is_open for one in context["rows"]),
        "keep_hours": requests.KEEP_HOURS,
        "upload_above": above_bytes(),
        "form": form,
    }
    return render(request, "ops/cube_files.html", context)


def _list_context(request: HttpRequest, cube: Cube) -> dict[str, Any]:
    wanted = ListFilter(cube.namespace.name, None, ROWS)
    rows, following = requests.list_files(staff_access(request), wanted=wanted, cursor=_cursor(request))
    shown = [page.show_file(row, may_read_text=reads_text(request)) for row in rows]
    return {
        "cube": cube,
        "rows": shown,
        "version": version_of([[one.id, str(one.word), one.done, one.downloadable] for one in shown]),
        "older": str(following or ""),
        "newer": "first" if request.GET.get("cursor") else "",
        "may_change": request.user.has_perm(ADD),
        "may_bring": {name: request.user.has_perm(needed) for name, needed in BESIDES.items()},
        "may_read": reads_text(request),
    }


def _read_within(context: Context, pieces: Iterator[bytes]) -> Iterator[bytes]:
    while piece := context.run(next, pieces, b""):
        yield piece


def _find_cube(request: HttpRequest, cube_id: uuid.UUID) -> Cube:
    try:
        return find.find_cube(page_access(request), cube_id)
    except NotFound:
        raise Http404(_("There is no such cube.")) from None


def _read_id(value: str) -> uuid.UUID:
    try:
        return uuid.UUID(value)
    except ValueError:
        raise NotFound(_("There is no such file.")) from None


def _cursor(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get("cursor", ""))
    except ValueError:
        return None
