"""`/ops/documents/` shows and erases documents and their chunks; files are added, tracked and re-parsed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.errors import MemosError, NotFound
from memory.models import Document, DocumentFile, Namespace, QuarantinedItem
from memory.models.paging import page_of
from memory.services.erasure import requests as erasures
from memory.services.ingestion import document_listing, file_listing, files
from memory.services.memories.view_log import note_viewed
from memory.types import ListFilter
from ops.access import find_chosen_namespace, page_access, reads_text, request_id, scope_in, staff_access
from ops.form_problems import place_problem
from ops.pages import documents as page
from ops.pages.documents import FileShown
from ops.pages.snippets import ask_api
from ops.views.live import live, version_of
from ops.views.page import console_action, console_page, go_to

ADD = "memory.add_documentfile"
DELETE = "memory.delete_document"
ROWS = 50
_FILES = 20
_MAX_ID_CHARS = 128
_MAX_TITLE_CHARS = 300


@console_page
def documents(request: HttpRequest) -> HttpResponse:
    """List the documents of the chosen namespace, or of all, and the newest files. A chosen one has a form."""
    return _list_documents(request, {})


@console_page
def document_one(request: HttpRequest, document_key: uuid.UUID) -> HttpResponse:
    """Show a document: its chunks with their locations, and the file that it was parsed from."""
    row = _find_document(request, document_key)
    namespace = Namespace.objects.get(pk=row.namespace_id)
    try:
        found = document_listing.get_document(
            scope_in(request, namespace), document_id=row.document_id, cursor=_first_chunk(request), limit=ROWS
        )
    except NotFound:
        raise _no_document() from None
    if reads_text(request):
        note_viewed(
            staff_access(request),
            what="document",
            namespace_id=row.namespace_id,
            subject=row.id,
            session=row.session,
            now=timezone.now(),
            request_id=request_id(request),
        )
    following = found["next_cursor"]
    context = {
        "row": page.document_line(row, namespace=namespace.name, may_read_text=reads_text(request)),
        "document": found["document"],
        "chunks": [page.chunk_shown(chunk) for chunk in found["chunks"]],
        "first": "first" if _first_chunk(request) else "",
        "following": str(following) if following is not None else "",
        "readable": reads_text(request),
        "may_change": request.user.has_perm(ADD),
        "may_erase": request.user.has_perm(DELETE),
        "file": _file_of(request, found["document"]["file_id"], row),
    }
    return render(request, "ops/document.html", context)


@console_page
def document_file(request: HttpRequest, file_id: uuid.UUID) -> HttpResponse:
    """Show a file with its progress and outcome."""
    shown = _find_file(request, file_id)
    context = {"file": shown, "version": _version(shown), "may_change": request.user.has_perm(ADD)}
    return render(request, "ops/document_file.html", context)


@console_page
def document_file_progress(request: HttpRequest, file_id: uuid.UUID) -> HttpResponse:
    """Render the progress of a file, which its page polls."""
    shown = _find_file(request, file_id)
    return live(request, "ops/documents/_file.html", {"file": shown}, _version(shown))


@console_action(permission=ADD)
def document_create(request: HttpRequest) -> HttpResponse:
    """Have a file parsed as a document."""
    namespace = find_chosen_namespace(request)
    if namespace is None:
        return go_to(request, "ops:documents")
    file = request.FILES.get("file")
    if file is None:
        return _list_documents(request, {**_read_fields(request), "problems": {"file": _("Choose a file.")}})
    upload = files.FileUpload(name=file.name or "", chunks=file.chunks(), **_read_fields(request))
    try:
        row = files.start_file(scope_in(request, namespace), upload, now=timezone.now())
    except MemosError as error:
        problems = place_problem(error, file="file", name="file", document_id="document_id", title="title")
        return _list_documents(request, {**_read_fields(request), "problems": problems})
    return go_to(request, "ops:document_file", row.id)


@console_action(permission=ADD)
def document_reparse(request: HttpRequest, document_key: uuid.UUID) -> HttpResponse:
    """Have the original file parsed again."""
    row = _find_document(request, document_key)
    scope = scope_in(request, Namespace.objects.get(pk=row.namespace_id))
    try:
        file = files.reparse_document(scope, document_id=row.document_id, now=timezone.now())
    except MemosError as error:
        messages.error(request, error.message)
        return go_to(request, "ops:document", document_key)
    return go_to(request, "ops:document_file", file.id)


@console_action(permission=DELETE)
def document_erase(request: HttpRequest, document_key: uuid.UUID) -> HttpResponse:
    """Request the erasure of a document, with a receipt. Erasing one chunk erases the whole document."""
    row = _find_document(request, document_key)
    scope = scope_in(request, Namespace.objects.get(pk=row.namespace_id))
    try:
        found = document_listing.get_document(scope, document_id=row.document_id, cursor=0, limit=1)
        target = erasures.Target(memory_ids=(uuid.UUID(found["chunks"][0]["memory_id"]),))
        reason = _("A document, erased in the console")
        asked = erasures.request(scope, target=target, reason=reason, now=timezone.now())
    except (MemosError, IndexError) as error:
        messages.error(request, error.message if isinstance(error, MemosError) else _("There is nothing left of it."))
        return go_to(request, "ops:document", document_key)
    messages.success(
        request, _("The document is no longer found, and is erased in the background. This is the receipt.")
    )
    return go_to(request, "ops:erasure", asked.id)


def _list_documents(request: HttpRequest, form: dict[str, Any]) -> HttpResponse:
    chosen = find_chosen_namespace(request)
    access, readable = page_access(request), reads_text(request)
    rows = Document.objects.reachable_by(access).order_by("-id")
    if (cursor := _cursor(request)) is not None:
        rows = rows.filter(id__lte=cursor)
    shown, following = page_of(rows, ROWS)
    names = dict(Namespace.objects.filter(pk__in={row.namespace_id for row in shown}).values_list("pk", "name"))
    wanted = ListFilter(chosen.name if chosen else None, None, _FILES)
    name = chosen.name if chosen else "demo"
    found, _following = file_listing.list_files(access, wanted=wanted, cursor=None)
    waiting = _list_waiting(request, found)
    context = {
        "rows": [
            page.document_line(row, namespace=names.get(row.namespace_id, ""), may_read_text=readable) for row in shown
        ],
        "files": [page.file_shown(one, document_key="", may_read_text=readable, waiting=waiting) for one in found],
        "older": str(following.id) if following else "",
        "newer": "first" if cursor else "",
        "namespace": chosen,
        "may_change": request.user.has_perm(ADD),
        "command": ask_api(request, "/v1/documents", {"namespace": name, "text": "…"}).curl,
        "form": form,
    }
    return render(request, "ops/documents.html", context)


def _read_fields(request: HttpRequest) -> dict[str, Any]:
    return {
        "document_id": request.POST.get("document_id", "").strip()[:_MAX_ID_CHARS],
        "title": request.POST.get("title", "").strip()[:_MAX_TITLE_CHARS],
        "keep_original": request.POST.get("keep_original") == "on",
    }


def _find_document(request: HttpRequest, document_key: uuid.UUID) -> Document:
    row = Document.objects.reachable_by(page_access(request)).filter(id=document_key).first()
    if row is None:
        raise _no_document()
    return row


def _no_document() -> Http404:
    return Http404(_("There is no such document."))


def _find_file(request: HttpRequest, file_id: uuid.UUID) -> FileShown:
    try:
        row = file_listing.find_file(page_access(request), file_id=file_id)
    except NotFound:
        raise Http404(_("There is no such file.")) from None
    return _show_file(request, row)


def _file_of(request: HttpRequest, file_id: str | None, document: Document) -> FileShown | None:
    if file_id is None:
        return None
    row = DocumentFile.objects.filter(namespace_id=document.namespace_id, id=file_id).first()
    return _show_file(request, row) if row else None


def _show_file(request: HttpRequest, row: DocumentFile) -> FileShown:
    key = str(row.document_key) if file_listing.is_in_force(row) else ""
    values = file_listing.to_dict(row)
    waiting = _list_waiting(request, [values])
    return page.file_shown(values, document_key=key, may_read_text=reads_text(request), waiting=waiting)


def _list_waiting(request: HttpRequest, files: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the ids of undecided quarantine items of the files."""
    ids = [one["quarantine_id"] for one in files if one["quarantine_id"] and one["refusal"]]
    if not ids:
        return frozenset()
    items = QuarantinedItem.objects.reachable_by(page_access(request)).pending().filter(pk__in=ids)
    return frozenset(str(one) for one in items.values_list("pk", flat=True))


def _version(shown: FileShown) -> str:
    return version_of(shown.word, shown.percent, shown.problem)


def _cursor(request: HttpRequest) -> uuid.UUID | None:
    try:
        return uuid.UUID(request.GET.get("cursor", ""))
    except ValueError:
        return None


def _first_chunk(request: HttpRequest) -> int:
    cursor = request.GET.get("cursor", "")
    return int(cursor) if cursor.isascii() and cursor.isdecimal() and len(cursor) < 9 else 0
