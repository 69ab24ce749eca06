"""Shows the review queue: figures, the newest items, and memories that wait for a decision."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import QuarantineState, Review
from memory.models import Memory
from memory.services.memories import review_list
from memory.services.memories.review_list import Doubted, Quarantine
from memory.types import Access
from ops.charts import BarChart, Histogram, Slice, bar_chart, histogram
from ops.differences import mark_differences
from ops.pages.links import page_link
from ops.pages.rows import Staff, row_link
from ops.words import Words

NEWEST = 8
PAGE = 10
BARS = 12
# Maximum length of each side.
MAX_CHARS = 1_200
TABS: tuple[tuple[str, Words], ...] = (
    ("", gettext_lazy("All")),
    (Review.CONTRADICTION, gettext_lazy("Contradiction")),
    (Review.WRONG, gettext_lazy("Called wrong")),
    (Review.OUTDATED, gettext_lazy("Called outdated")),
    (Review.SUSPECTED, gettext_lazy("Suspected")),
)
BADGES: Mapping[str, tuple[str, Words]] = {
    Review.CONTRADICTION: ("weak", gettext_lazy("Contradiction")),
    Review.WRONG: ("bad", gettext_lazy("Called wrong")),
    Review.OUTDATED: ("off", gettext_lazy("Called outdated")),
    Review.SUSPECTED: ("bad", gettext_lazy("Suspected")),
}


@dataclass(frozen=True, slots=True)
class QuarantinedText:
    """Holds a quarantined text."""

    rule: str
    says: str
    text: str
    namespace: str
    session: str
    created_at: datetime
    link: str


@dataclass(frozen=True, slots=True)
class ConflictSide:
    """Holds one side: a memory, who said it when, and its page. `text`: the words that the other side does not have
    are marked."""

    id: uuid.UUID
    text: SafeString
    length: int
    speaker: str
    role: str
    session: str
    occurred_at: datetime
    link: str


@dataclass(frozen=True, slots=True)
class Against:
    """Holds the other side and the judgement on the two."""

    statement: ConflictSide
    reason: str
    confidence: float
    actor: str


@dataclass(frozen=True, slots=True)
class Case:
    """Holds a memory that waits; a decision is about its `revision`."""

    statement: ConflictSide
    namespace: str
    revision: int
    tone: str
    word: Words
    against: list[Against]
    opinions: list[tuple[Words, str, str, datetime]]


@dataclass(frozen=True, slots=True)
class QuarantineBoard:
    """Holds the quarantine: numbers, charts (None for nothing) and the newest items."""

    counted: Quarantine
    review_link: str
    list_link: str
    by_rule: BarChart | None
    by_namespace: BarChart | None
    by_age: Histogram | None
    newest: list[QuarantinedText]


def board(access: Access, user: Staff, *, ns: str, now: datetime) -> QuarantineBoard:
    """Build the queue as it stands."""
    counted = review_list.quarantine(access, now=now)
    if not counted.waiting:
        return QuarantineBoard(counted, queue_link(user, ns), list_link(user, ns), None, None, None, [])
    return QuarantineBoard(
        counted=counted,
        review_link=queue_link(user, ns),
        list_link=list_link(user, ns),
        by_rule=bar_chart(
            _("By rule"),
            [Slice(rule, count, "amber", queue_link(user, ns, rule=rule)) for rule, count in counted.by_rule[:BARS]],
            csv=page_link("ops:quarantine", ns=ns, csv="rules"),
        ),
        by_namespace=bar_chart(
            _("By namespace"),
            [Slice(name, count, "blue", queue_link(user, name)) for name, count in counted.by_namespace[:BARS]],
            csv=page_link("ops:quarantine", ns=ns, csv="namespaces"),
        ),
        by_age=histogram(
            _("By age"),
            labels=[_("< 1 hour"), _("< 1 day"), _("< 7 days"), _("< 30 days"), _("older")],
            values=counted.by_age,
            header=_("Items"),
            tone="amber",
            csv=page_link("ops:quarantine", ns=ns, csv="ages"),
        ),
        newest=[
            QuarantinedText(
                item.rule,
                _says(item.reasons),
                item.text,
                item.namespace.name,
                item.session,
                item.created_at,
                queue_link(user, item.namespace.name, at=str(item.pk))
                if _has_queue()
                else row_link(user, "quarantineditem", item.pk),
            )
            for item in review_list.newest_items(access, limit=NEWEST)
        ],
    )


def cases(
    access: Access, user: Staff, *, review: str, cursor: uuid.UUID | None
) -> tuple[list[Case], str, dict[str, int]]:
    """Return a page of the waiting memories, where the next one begins, and how many wait for each reason (empty:
    all)."""
    found, following = review_list.list_for_review(access, review=review, cursor=cursor, limit=PAGE)
    counted = review_list.count_for_review(access)
    counted[""] = sum(counted.values())
    return [_case(one, user) for one in found], str(following or ""), counted


def queue_link(user: Staff, ns: str, **more: str) -> str:
    """Return the admin's review page, narrowed, or else the list. Empty when the user may not see items."""
    if not user.has_perm("memory.view_quarantineditem"):
        return ""
    query = {**({"namespace": ns} if ns else {}), **more}
    try:
        return reverse("admin:memory_quarantineditem_review") + (f"?{urlencode(query)}" if query else "")
    except NoReverseMatch:
        return list_link(user, ns, **more)


def list_link(user: Staff, ns: str, **more: str) -> str:
    """Return the admin's list of waiting items."""
    if not user.has_perm("memory.view_quarantineditem"):
        return ""
    query = {"state__exact": QuarantineState.PENDING.value, **({"namespace": ns} if ns else {})}
    query |= {name: value for name, value in more.items() if name == "rule"}
    return f"{reverse('admin:memory_quarantineditem_changelist')}?{urlencode(query)}"


def _has_queue() -> bool:
    try:
        reverse("admin:memory_quarantineditem_review")
    except NoReverseMatch:
        return False
    return True


def _case(one: Doubted, user: Staff) -> Case:
    tone, word = BADGES[one.memory.review]
    texts = [mark_differences(_shorten(one.memory), _shorten(side.memory)) for side in one.sides]
    own = texts[0][0] if texts else format_html("{}", _shorten(one.memory))
    return Case(
        _statement(one.memory, own, user),
        one.memory.namespace.name,
        one.memory.revision,
        tone,
        word,
        [
            Against(_statement(side.memory, text, user), side.reason, side.confidence, side.actor)
            for side, (_, text) in zip(one.sides, texts, strict=True)
        ],
        [(BADGES[said.kind][1], said.actor, said.note, said.created_at) for said in one.opinions],
    )


def _shorten(memory: Memory) -> str:
    return memory.text if len(memory.text) <= MAX_CHARS else memory.text[:MAX_CHARS] + "…"


def _statement(memory: Memory, text: SafeString, user: Staff) -> ConflictSide:
    return ConflictSide(
        memory.pk,
        text,
        len(memory.text),
        memory.speaker,
        memory.role,
        memory.session,
        memory.occurred_at,
        row_link(user, "memory", memory.pk),
    )


def _says(reasons: Any) -> str:
    first = reasons[0] if isinstance(reasons, list) and reasons else {}
    return str(first.get("says", "")) if isinstance(first, dict) else ""
