"""`/ops/erasures/ID/` shows the receipt of an erasure, during it and afterwards."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from memory.errors import NotFound
from memory.services.erasure import receipts
from ops.access import page_access
from ops.pages import erasures as page
from ops.views.live import live, version_of
from ops.views.page import console_page


@console_page
def erasure(request: HttpRequest, erasure_id: uuid.UUID) -> HttpResponse:
    """Show the target of an erasure, its progress, and any remaining data."""
    shown = _find_erasure(request, erasure_id)
    return render(request, "ops/erasure.html", {"one": shown, "version": _version(shown)})


@console_page
def erasure_progress(request: HttpRequest, erasure_id: uuid.UUID) -> HttpResponse:
    """Render the receipt, which the page polls."""
    shown = _find_erasure(request, erasure_id)
    return live(request, "ops/erasure/_receipt.html", {"one": shown}, _version(shown))


def _find_erasure(request: HttpRequest, erasure_id: uuid.UUID) -> page.ErasureShown:
    try:
        row = receipts.find(page_access(request), erasure_id=erasure_id)
    except NotFound:
        raise Http404(_("There is no such erasure.")) from None
    return page.erasure_shown(receipts.to_dict(row))


def _version(shown: page.ErasureShown) -> str:
    return version_of(shown.word, shown.waiting_for, [[one.cleared, one.left] for one in shown.holders])
