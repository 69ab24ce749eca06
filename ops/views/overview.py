"""The console's pages: for staff, under a strict content security policy, without side effects."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from memory.models import AuditLog, Condensation
from memory.services import health, stats
from ops.access import staff_access
from ops.pages.overview import health_cards, steps, tiles
from ops.views.page import console_page

RECENT = 8


@console_page
def overview(request: HttpRequest) -> HttpResponse:
    """How MemOS is and what it holds."""
    access, user, now = staff_access(request), request.user, timezone.now()
    report = health.report()
    first_steps = steps(
        user,
        server=request.build_absolute_uri("/").rstrip("/"),
        memories=stats.searchable_memories(access) > 0,
        worker=report.checks.get("worker") == health.OK,
        now=now,
    )
    context = {
        "now": now,
        "status": report.status,
        "parts": health_cards(report.checks),
        "tiles": tiles(access, user, queue=stats.queue_state(now=now), now=now),
        "steps": first_steps,
        "steps_done": sum(step.done for step in first_steps),
        "condensations": _recent_condensations() if user.has_perm("memory.view_condensation") else None,
        "events": list(AuditLog.objects.order_by("-id")[:RECENT]) if user.has_perm("memory.view_auditlog") else None,
    }
    return render(request, "ops/overview.html", context)


def _recent_condensations() -> list[Condensation]:
    rows = Condensation.objects.select_related("namespace").order_by("-id")
    return list(rows.defer("condensed_text", "item_sources", "source_memory_ids")[:RECENT])
