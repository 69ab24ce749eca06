"""Shows pairs of contradicting memories next to each other. Staff decide which one holds, or that all do."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from memory.enums import LinkKind, Review
from memory.errors import MemosError
from memory.models import Memory, MemoryLink
from memory.services.memories.edit import edit
from memory.services.memories.review import MAX_GROUP, ReviewDecision, decide
from memory.services.memories.supersede import supersede
from memory.services.memories.view_log import note_viewed
from memory.types import ChangeTerms
from ops.access import reads_text, request_id, staff_access
from ops.admin.lists import COUNT_CAP
from ops.admin.scope import render_mask
from ops.differences import mark_differences

SETTLED = {"newer": "The newer holds.", "older": "The older holds.", "all": "All of these hold."}


def waiting(request: HttpRequest) -> QuerySet[Memory]:
    """Return the memories that await this decision, the oldest first."""
    return Memory.objects.reachable_by(staff_access(request)).filter(review=Review.CONTRADICTION).order_by("pk")


def review(request: HttpRequest, context: dict[str, Any], *, may_decide: bool) -> HttpResponse:
    """Show a pair on GET; settle it on POST and go on to the next."""
    if request.method == "POST":
        if not may_decide:
            raise PermissionDenied
        return _settle(request)
    rows = waiting(request).select_related("namespace")
    after = request.GET.get("after", "")
    memory = (rows.filter(pk__gt=after).first() if _is_id(after) else None) or rows.first()
    shown: dict[str, Any] = {"title": _("Contradictions"), "memory": memory, "may_decide": may_decide}
    if memory is not None:
        readable = reads_text(request)
        others = _others(memory)
        pair = sorted([memory, *others[:1]], key=_when)
        marked = mark_differences(pair[0].text, pair[-1].text) if others else (format_html("{}", memory.text),)
        before, total = _count_capped(rows.filter(pk__lt=memory.pk)), _count_capped(rows)
        shown |= {
            "place": f"{before + 1:,}", "total": f"{COUNT_CAP:,}+" if total > COUNT_CAP else f"{total:,}",
            "done": before, "of": total,
            "pair": [_side(one, text, readable=readable) for one, text in zip(pair, marked, strict=True)],
            "more": [
                _side(one, mark_differences(memory.text, one.text)[1], readable=readable) for one in others[1:MAX_GROUP]
            ],
        }  # fmt: skip
        if readable:
            for one in (memory, *others[:MAX_GROUP]):
                note_viewed(
                    staff_access(request), what="memory", namespace_id=one.namespace_id, subject=one.pk,
                    session=one.session, now=timezone.now(), request_id=request_id(request),
                )  # fmt: skip
    return TemplateResponse(request, "admin/memory/memory/contradictions.html", {**context, **shown})


def _others(memory: Memory) -> list[Memory]:
    """List the memories that contradict it or that it contradicts, the newest link first."""
    links = MemoryLink.objects.filter(
        Q(memory_id=memory.pk) | Q(other_id=memory.pk), namespace_id=memory.namespace_id, kind=LinkKind.CONTRADICTS
    )
    ids = [
        link.other_id if link.memory_id == memory.pk else link.memory_id for link in links.order_by("-id")[:COUNT_CAP]
    ]
    rows = Memory.objects.filter(namespace_id=memory.namespace_id).in_bulk(ids)
    return [rows[pk] for pk in ids if pk in rows]


def _side(memory: Memory, text: SafeString, *, readable: bool) -> dict[str, Any]:
    return {"memory": memory, "text": text if readable else render_mask(len(memory.text))}


def _when(memory: Memory) -> tuple[Any, uuid.UUID]:
    return memory.occurred_at, memory.pk


def _settle(request: HttpRequest) -> HttpResponse:
    """Supersede one memory by the other, or keep all, and clear their review flags."""
    here = reverse("admin:memory_memory_contradictions")
    decision, ids = request.POST.get("decision", ""), [request.POST.get(name, "") for name in ("memory", "other")]
    if decision == "keep":
        return HttpResponseRedirect(f"{here}?after={ids[0]}" if _is_id(ids[0]) else here)
    if decision not in SETTLED or not _is_id(ids[0]) or (decision != "all" and not _is_id(ids[1])):
        messages.error(request, _("Choose which of the two holds, or that all do."))
        return HttpResponseRedirect(here)
    access, now = staff_access(request), timezone.now()
    rows = Memory.objects.reachable_by(access).filter(pk__in=[one for one in ids if _is_id(one)])
    pair = sorted(rows, key=_when)
    reason = request.POST.get("note", "").strip() or SETTLED[decision]
    terms = ChangeTerms(request_id=request_id(request))
    try:
        if decision == "all":
            decide(
                access, memory_id=uuid.UUID(ids[0]), decision=ReviewDecision.ALL_HOLD, other_id=None, reason=reason,
                now=now, terms=terms,
            )  # fmt: skip
        else:
            if len(pair) != len(ids):
                raise PermissionDenied
            older, newer = pair if decision == "newer" else reversed(pair)
            supersede(access, older_id=older.pk, newer_id=newer.pk, reason=reason, now=now, terms=terms)
            edit(access, memory_id=newer.pk, reason=reason, reviewed=True, now=now, terms=terms)
    except MemosError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("Settled."))
    return HttpResponseRedirect(f"{here}?after={ids[0]}")


def _is_id(value: str) -> bool:
    try:
        uuid.UUID(value)
    except ValueError:
        return False
    return True


def _count_capped(rows: QuerySet) -> int:
    return int(rows.order_by().values("pk")[: COUNT_CAP + 1].count())
