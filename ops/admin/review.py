"""The review queue: quarantined items, one per page, decided by keyboard."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.errors import MemosError
from memory.models import QuarantinedItem
from memory.services.ingestion import quarantine
from memory.services.memories.view_log import note_viewed
from ops.access import reads_text, request_id, staff_access
from ops.admin.filters import find_namespaces
from ops.admin.lists import COUNT_CAP

DECISIONS = {"release": quarantine.release, "discard": quarantine.discard}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text. `hit` says whether the gate found something in it."""

    text: str
    hit: bool


def waiting(request: HttpRequest) -> QuerySet[QuarantinedItem]:
    """Return the items to decide, oldest first, filtered by the namespace and the rule in the address."""
    rows = QuarantinedItem.objects.reachable_by(staff_access(request)).pending()
    namespace_ids = find_namespaces(request.GET.get("namespace", "").strip(), staff_access(request))
    if namespace_ids is not None:
        rows = rows.filter(namespace_id__in=namespace_ids)
    if rule := request.GET.get("rule", "").strip():
        rows = rows.filter(rule=rule)
    return rows.order_by("pk")


def review(request: HttpRequest, context: dict[str, Any], *, may_decide: bool) -> HttpResponse:
    """Show an item on GET; decide on it on POST and go on to the next."""
    if request.method == "POST":
        if not may_decide:
            raise PermissionDenied
        return _decide(request)
    rows = waiting(request)
    item = _item_at(rows, request.GET.get("at", ""))
    kept = _read_filters(request)
    shown: dict[str, Any] = {"title": _("Review queue"), "item": item, "kept": kept, "may_decide": may_decide}
    if item is not None:
        before, total = _count_capped(rows.filter(pk__lt=item.pk)), _count_capped(rows)
        shown |= {
            "place": f"{before + 1:,}",
            "total": f"{COUNT_CAP:,}+" if total > COUNT_CAP else f"{total:,}",
            "done": before,
            "of": total,
            "previous": _url(kept, rows.filter(pk__lt=item.pk).order_by("-pk").values_list("pk", flat=True).first()),
            "next": _url(kept, rows.filter(pk__gt=item.pk).values_list("pk", flat=True).first()),
            "readable": reads_text(request),
            "pieces": highlight(item) if reads_text(request) else [],
        }
        if reads_text(request):
            note_viewed(
                staff_access(request),
                what="quarantine",
                namespace_id=item.namespace_id,
                subject=item.pk,
                session=item.session,
                now=timezone.now(),
                request_id=request_id(request),
            )
    return TemplateResponse(request, "admin/memory/quarantineditem/review.html", {**context, **shown})


def highlight(item: QuarantinedItem) -> list[Piece]:
    """Split the text into what the rules that quarantined it find today, and the rest."""
    return pieces_of(item.text, quarantine.find_places(item))


def pieces_of(text: str, spans: Iterable[tuple[int, int]]) -> list[Piece]:
    """Split the text at the spans, which may overlap or exceed it."""
    pieces: list[Piece] = []
    at = 0
    for begins, ends in sorted(spans):
        start, end = max(begins, at), min(ends, len(text))
        if start >= end:
            continue
        if start > at:
            pieces.append(Piece(text[at:start], hit=False))
        pieces.append(Piece(text[start:end], hit=True))
        at = end
    if at < len(text):
        pieces.append(Piece(text[at:], hit=False))
    return pieces


def _decide(request: HttpRequest) -> HttpResponse:
    """Decide and go to the next item. On an error the item stays, with a message."""
    kept, decision = _read_filters(request), request.POST.get("decision", "")
    try:
        item_id = uuid.UUID(request.POST.get("item", ""))
    except ValueError:
        messages.error(request, _("The item is not there any more."))
        return HttpResponseRedirect(_url(kept, None))
    following = waiting(request).filter(pk__gt=item_id).values_list("pk", flat=True).first()
    if decision in DECISIONS:
        try:
            DECISIONS[decision](
                staff_access(request),
                item_id=item_id,
                note=request.POST.get("note", ""),
                now=timezone.now(),
                request_id=request_id(request),
            )
        except MemosError as error:
            messages.error(request, error.message)
        else:
            done = _("Released: it is remembered.") if decision == "release" else _("Discarded: its text is deleted.")
            messages.success(request, done)
    elif decision != "keep":
        messages.error(request, _("Choose release, discard or keep."))
        following = item_id
    return HttpResponseRedirect(_url(kept, following))


def _item_at(rows: QuerySet[QuarantinedItem], at: str) -> QuarantinedItem | None:
    """Return the requested item or the next one after it, or else the first."""
    rows = rows.select_related("namespace")
    try:
        wanted = uuid.UUID(at)
    except ValueError:
        return rows.first()
    return rows.filter(pk__gte=wanted).first() or rows.first()


def _count_capped(rows: QuerySet) -> int:
    return int(rows.order_by().values("pk")[: COUNT_CAP + 1].count())


def _read_filters(request: HttpRequest) -> dict[str, str]:
    return {name: value for name in ("namespace", "rule") if (value := request.GET.get(name, "").strip())}


def _url(kept: dict[str, str], at: uuid.UUID | None) -> str:
    query = urlencode({**kept, **({"at": str(at)} if at else {})})
    return reverse("admin:memory_quarantineditem_review") + (f"?{query}" if query else "")
