"""The top of a memory's page if a newer one retired parts of it: which words, by what, since when and why, with buttons
that undo it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.enums import LinkKind
from memory.errors import MemosError
from memory.models import Memory, MemoryLink
from memory.services.memories import reinstate, retired, unsure_pairs
from memory.services.memories.retire import JUDGED
from memory.services.memories.retired import Pair
from memory.types import ChangeTerms
from ops.access import MASK, reads_text, request_id, staff_access
from ops.admin.rendering import excerpt, memory_link
from ops.admin.scope import render_mask

HOLDS = "It holds."


@dataclass(frozen=True, slots=True)
class RetiredPart:
    """A part that no longer holds. `start` identifies it in the form; None stands for the whole memory."""

    start: int | None
    old: str
    new: SafeString | str
    reason: str
    at: datetime | None
    until: datetime | None


def parts(request: HttpRequest, memory: Memory) -> dict[str, Any] | None:
    """Return the template's context, or None if all of the memory holds."""
    readable = reads_text(request)
    pairs = retired.list_parts(memory)
    found = [_part(pair, readable=readable) for pair in pairs]
    if memory.superseded_by is not None:
        found.insert(0, _whole(memory, memory.superseded_by, readable=readable))
    if not found:
        return None
    return {
        "parts": found,
        "text": strike_out(memory.text, pairs) if pairs and readable else "",
        "many": len(found) > 1,
    }


def hold(request: HttpRequest, memory: Memory) -> HttpResponse:
    """Reinstate the whole memory, or the part that the form identifies by its start."""
    start = request.POST.get("start", "")
    starts = [int(start)] if start.isdecimal() and len(start) <= 6 else None
    try:
        answer = reinstate.reinstate(
            staff_access(request),
            memory_id=memory.pk,
            reason=HOLDS,
            starts=starts,
            now=timezone.now(),
            terms=ChangeTerms(request_id=request_id(request)),
        )
    except MemosError as error:
        messages.error(request, error.message)
    else:
        done = _("It holds again: search finds it.") if answer["changed"] else _("It held already.")
        messages.success(request, done)
    return HttpResponseRedirect(reverse("admin:memory_memory_change", args=[memory.pk]))


def strike_out(text: str, pairs: Iterable[Pair]) -> SafeString:
    """Return the text with the parts of `pairs`, which are in order, struck out."""
    pieces, at = [], 0
    for pair in pairs:
        start, end = max(at, pair.start), max(at, pair.end)
        pieces.append((text[at:start], text[start:end]))
        at = end
    return format_html("{}{}", format_html_join("", "{}<del>{}</del>", pieces), text[at:])


def _part(pair: Pair, *, readable: bool) -> RetiredPart:
    return RetiredPart(
        start=pair.start,
        old=pair.old_words if readable else render_mask(len(pair.old_words)),
        new=_newer(pair.newer, pair.new_words, readable=readable),
        reason=_why(pair.reason, pair.confidence, pair.explanation if readable else ""),
        at=pair.at,
        until=None,
    )


def _whole(memory: Memory, newer_id: uuid.UUID, *, readable: bool) -> RetiredPart:
    """Return the entry for a memory that is superseded as a whole."""
    newer = Memory.objects.filter(namespace_id=memory.namespace_id, pk=newer_id).first()
    link = MemoryLink.objects.filter(
        namespace_id=memory.namespace_id,
        memory_id=newer_id,
        other_id=memory.pk,
        kind=LinkKind.SUPERSEDES,
    ).first()
    return RetiredPart(
        start=None,
        old=_("All of it"),
        new=_newer(newer, newer.text if newer else "", readable=readable),
        reason=_whole_reason(link, readable=readable) if link else "",
        at=memory.superseded_at,
        until=memory.valid_to,
    )


def _whole_reason(link: MemoryLink, *, readable: bool) -> str:
    judged = (link.namespace_id, link.other_id, link.memory_id)
    said = unsure_pairs.explanations([judged]) if readable and link.reason == JUDGED else {}
    why = _why(link.reason if readable else MASK, link.confidence, said.get((link.other_id, link.memory_id, None), ""))
    return f"{why} · {link.actor}"


def _newer(newer: Memory | None, words: str, *, readable: bool) -> SafeString | str:
    if newer is None:
        return _("The newer memory is gone.")
    return memory_link(str(newer.pk), excerpt(words) if readable else render_mask(len(words)))


def _why(reason: str, confidence: float, explanation: str = "") -> str:
    told = _(reason) if reason else ""
    if explanation:
        told = f"{_('A language model judged:')} “{explanation}”"
    return f"{told} ({_('%(share)s sure') % {'share': f'{confidence:.0%}'}})"


def count_words(memory: Memory) -> str:
    """Describe how many parts no longer hold. Returns "" if there are none."""
    count = retired.count_parts(memory)
    return ngettext("%(count)s part retired", "%(count)s parts retired", count) % {"count": count} if count else ""
