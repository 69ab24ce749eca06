"""Builds the tab Condensations: versions of summaries, their sources, their savings, and their changes."""

from __future__ import annotations

import difflib
import re
import uuid
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.translation import gettext_lazy

from memory.enums import SummaryTrigger
from memory.models import Condensation, Memory, Namespace
from memory.text.card import SECTIONS, section_items
from memory.types import Access
from ops.pages.links import Staff, page_link, row_link
from ops.words import Words

PAGE = 50
VERSIONS_SHOWN = 20
# Maximum number of words of two cards to compare. A card has some hundreds.
MAX_WORDS = 4_000

BUCKETS: dict[str, Words] = {
    "facts": gettext_lazy("Facts"),
    "decisions": gettext_lazy("Decisions"),
    "constraints": gettext_lazy("Constraints"),
    "preferences": gettext_lazy("Preferences"),
    "actions": gettext_lazy("Actions"),
    "risks": gettext_lazy("Risks"),
    "questions": gettext_lazy("Questions"),
    "shell_commands": gettext_lazy("Commands"),
}
TRIGGERS: dict[str, Words] = {
    SummaryTrigger.BOOTSTRAP: gettext_lazy("The session had no summary"),
    SummaryTrigger.NEW_MESSAGES: gettext_lazy("Enough new messages"),
    SummaryTrigger.NEW_TOKENS: gettext_lazy("Enough new tokens"),
    SummaryTrigger.IDLE: gettext_lazy("The session had gone quiet"),
}


@dataclass(frozen=True, slots=True)
class CardTokens:
    """Holds the tokens of the turns that a card stands for, and of the card. `share` is None for no turns."""

    original: int
    condensed: int

    @property
    def share(self) -> float | None:
        """Return condensed / original: smaller is better."""
        return self.condensed / self.original if self.original else None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """Holds one version in the list of all."""

    row: Condensation
    trigger: Words
    tokens: CardTokens
    link: str


@dataclass(frozen=True, slots=True)
class ItemSource:
    """Holds a memory behind an item. `there`: it has not been erased."""

    turn: int | None
    id: str
    link: str
    there: bool


@dataclass(frozen=True, slots=True)
class SummaryItem:
    text: str
    sources: list[ItemSource]


@dataclass(frozen=True, slots=True)
class Bucket:
    title: Words
    items: list[SummaryItem]


@dataclass(frozen=True, slots=True)
class WordDiff:
    """Holds words that both versions have (`same`), that came (`added`) or went (`removed`)."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class SummaryVersion:
    """Holds one version of a session's chain. `changes` compares with the version before (empty for the first)."""

    row: Condensation
    trigger: Words
    details: list[tuple[str, str]]
    tokens: CardTokens
    sources: list[ItemSource]
    buckets: list[Bucket]
    changes: list[WordDiff]
    added: int
    removed: int
    items: int


def newest(access: Access, *, session: str, cursor: uuid.UUID | None) -> tuple[list[VersionRow], uuid.UUID | None]:
    """Return one page of all versions, newest first, and the id that the page after begins before."""
    rows = Condensation.objects.reachable_by(access).select_related("namespace")
    if session:
        rows = rows.filter(session=session)
    if cursor is not None:
        rows = rows.filter(pk__lt=cursor)
    page = list(rows.defer("condensed_text", "source_memory_ids").order_by("-pk")[: PAGE + 1])
    shown = [
        VersionRow(
            row,
            TRIGGERS.get(row.trigger_reason, row.trigger_reason),
            CardTokens(row.token_original, row.token_condensed),
            page_link("ops:pipeline_condensations", ns=row.namespace.name, session=row.session),
        )
        for row in page[:PAGE]
    ]
    return shown, page[PAGE - 1].pk if len(page) > PAGE else None


def chain(namespace: Namespace, session: str, user: Staff) -> list[SummaryVersion]:
    """List the newest versions of one session's summary, newest first."""
    rows = Condensation.objects.filter(namespace=namespace, session=session).order_by("-number")
    found = list(rows[: VERSIONS_SHOWN + 1])
    named = {one for row in found[:VERSIONS_SHOWN] for one in _all_sources(row)}
    turns = dict(Memory.objects.filter(namespace=namespace, pk__in=named).values_list("pk", "turn"))
    earlier = {row.number: row for row in found}
    return [_version(row, earlier.get(row.number - 1), turns, user) for row in found[:VERSIONS_SHOWN]]


def _all_sources(row: Condensation) -> set[uuid.UUID]:
    lists = row.item_sources.values() if isinstance(row.item_sources, dict) else ()
    told = {
        one for items in lists if isinstance(items, list) for item in items if isinstance(item, list) for one in item
    }
    return {uuid.UUID(one) for one in told if isinstance(one, str) and _is_uuid(one)} | set(row.source_memory_ids)


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _version(
    row: Condensation, before: Condensation | None, turns: dict[uuid.UUID, int], user: Staff
) -> SummaryVersion:
    buckets = card_buckets(row, turns, user)
    sources = [_source(str(one), turns, user) for one in row.source_memory_ids]
    changes = word_changes(lines_of(before), lines_of(row)) if before is not None else []
    return SummaryVersion(
        row=row,
        trigger=TRIGGERS.get(row.trigger_reason, row.trigger_reason),
        details=[
            (str(name).replace("_", " "), str(value))
            for name, value in row.trigger_details.items()
            if name != "new_memory_ids"  # the sources, which stand beside
        ],
        tokens=CardTokens(row.token_original, row.token_condensed),
        sources=sorted(sources, key=lambda source: (source.turn is None, source.turn or 0)),
        buckets=buckets,
        changes=changes,
        added=sum(len(change.text.split()) for change in changes if change.kind == "added"),
        removed=sum(len(change.text.split()) for change in changes if change.kind == "removed"),
        items=sum(len(bucket.items) for bucket in buckets),
    )


def card_buckets(row: Condensation, turns: dict[uuid.UUID, int], user: Staff) -> list[Bucket]:
    """Group the card's items by bucket, each with the memories that it comes from."""
    card = card_of(row)
    found = []
    for name in SECTIONS:
        texts = section_items(card, name)
        told = row.item_sources.get(name, []) if isinstance(row.item_sources, dict) else []
        if texts:
            found.append(
                Bucket(
                    BUCKETS.get(name, name.capitalize()),
                    [SummaryItem(text, _sources_at(told, place, turns, user)) for place, text in enumerate(texts)],
                )
            )
    return found


def sources_of(row: Condensation) -> dict[uuid.UUID, int]:
    """Return the turns of the memories that a card names, if they still exist."""
    named = _all_sources(row)
    return dict(Memory.objects.filter(namespace_id=row.namespace_id, pk__in=named).values_list("pk", "turn"))


def _sources_at(told: Any, place: int, turns: dict[uuid.UUID, int], user: Staff) -> list[ItemSource]:
    ids = told[place] if isinstance(told, list) and place < len(told) and isinstance(told[place], list) else []
    return [_source(one, turns, user) for one in ids if isinstance(one, str) and _is_uuid(one)]


def _source(identity: str, turns: dict[uuid.UUID, int], user: Staff) -> ItemSource:
    turn = turns.get(uuid.UUID(identity))
    return ItemSource(turn, identity, row_link(user, "memory", identity) if turn is not None else "", turn is not None)


def card_of(row: Condensation) -> dict[str, Any]:
    """Return the stored card; empty when it is none (a model's own words)."""
    try:
        card = orjson.loads(row.condensed_text)
    except orjson.JSONDecodeError:
        return {}
    return card if isinstance(card, dict) else {}


def lines_of(row: Condensation | None) -> str:
    """Render a card as lines of text, for comparing."""
    if row is None:
        return ""
    card = card_of(row)
    lines = []
    for name in SECTIONS:
        lines += [f"{BUCKETS.get(name, name)}: {one}" for one in section_items(card, name)]
    return "\n".join(lines)


def word_changes(before: str, after: str) -> list[WordDiff]:
    """List the changes, word by word; Chinese by character. Spaces go with the word before them."""
    old, new = _words(before), _words(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    changes: list[WordDiff] = []
    for tag, first, last, begin, end in matcher.get_opcodes():
        if tag == "equal":
            changes.append(WordDiff("same", "".join(old[first:last])))
            continue
        if first < last:
            changes.append(WordDiff("removed", "".join(old[first:last])))
        if begin < end:
            changes.append(WordDiff("added", "".join(new[begin:end])))
    return changes


_WORD = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+[ \t]*|\s")


def _words(text: str) -> list[str]:
    return _WORD.findall(text)[:MAX_WORDS]
