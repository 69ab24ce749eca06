"""Builds the inspector: the list of packs; one pack in its panes; and the results of a replay."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import CutReason, PackSection
from memory.models import ContextPack, Memory, QuarantinedItem, Session
from memory.models.scoped import ScopedQuerySet
from memory.services.recall.probe import MemoryOrigin
from memory.services.recall.query import QueryAnswer
from memory.services.recall.replay import Replay, hit_ids
from memory.text.card import SECTIONS, card_of, section_items
from memory.types import Outcome, Scope
from ops.charts import Slice as Bar
from ops.charts import StackedBar, bar_of_parts
from ops.pages.candidates import PlaceChange, ScoreShare, parts_of
from ops.pages.links import Staff, page_link, row_link
from ops.words import Words

PER_PAGE = 50
_SECTIONS: dict[str, tuple[Words, str]] = {
    PackSection.PROCEDURAL.value: (gettext_lazy("Instructions and tools"), "purple"),
    PackSection.DURABLE.value: (gettext_lazy("Durable memories"), "orange"),
    PackSection.SUMMARY.value: (gettext_lazy("Summary"), "amber"),
    PackSection.WINDOW.value: (gettext_lazy("Window"), "blue"),
    PackSection.HITS.value: (gettext_lazy("Memories"), "green"),
}
_CARD: dict[str, Words] = {
    "facts": gettext_lazy("Facts"),
    "preferences": gettext_lazy("Preferences"),
    "constraints": gettext_lazy("Constraints"),
    "decisions": gettext_lazy("Decisions"),
    "risks": gettext_lazy("Risks"),
    "actions": gettext_lazy("Actions"),
    "shell_commands": gettext_lazy("Commands"),
}
_CUT: dict[str, Words] = {
    CutReason.OVER_BUDGET.value: gettext_lazy("cut: over the budget"),
    CutReason.IN_WINDOW.value: gettext_lazy("told in the window"),
    CutReason.IN_PREFIX.value: gettext_lazy("told among the durable memories"),
    CutReason.KNOWN.value: gettext_lazy("the request has it"),
    CutReason.WINDOW_STEP.value: gettext_lazy("left out: the window moves in steps"),
}
# The word and the tone of each status in the manifest.
_STATUS: dict[str, tuple[Words, str]] = {
    "kept": (gettext_lazy("kept"), "good"),
    "trimmed": (gettext_lazy("trimmed"), "weak"),
    "referred": (gettext_lazy("referred to"), "good"),
    "cut": (gettext_lazy("cut"), "off"),
}


@dataclass(frozen=True, slots=True)
class PackList:
    """Holds packs, newest first. `newer` and `older` are cursors, empty at the ends."""

    rows: list[ContextPack]
    newer: str
    older: str


@dataclass(frozen=True, slots=True)
class ItemStatus:
    """Holds the status of an item in the final text: its tokens, and a status with its tone."""

    word: Words
    tone: str
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Message:
    """Holds a message of the window."""

    id: str
    speaker: str
    role: str
    text: str
    occurred_at: datetime | None
    kept: ItemStatus | None


@dataclass(frozen=True, slots=True)
class RetrievedRow:
    """Holds a retrieved memory. `parts` and `reason` are known only of an answer that was made now."""

    number: int
    id: str
    text: str
    session: str
    speaker: str
    role: str
    tier: str
    occurred_at: datetime | None
    similarity: float | None
    overlap: float | None
    relevance: float | None
    score: float | None
    kept: ItemStatus | None
    parts: list[ScoreShare]
    reason: str


@dataclass(frozen=True, slots=True)
class CardItem:
    """Holds an item of the summary's card, with the ids of the memories behind it."""

    text: str
    sources: list[str]
    kept: ItemStatus | None


@dataclass(frozen=True, slots=True)
class CardSection:
    title: Words
    items: list[CardItem]


@dataclass(frozen=True, slots=True)
class Pack:
    """Holds one pack as its page shows it. `saved` and `saved_share` compare with the text that an agent would need
    without memory."""

    question: str
    namespace: str
    session: str
    window: list[Message]
    chunks: list[RetrievedRow]
    card: list[CardSection]
    text: str
    budget: StackedBar | None
    max_tokens: int | None
    tokenizer: str
    original: int
    rendered: int
    answerable: bool
    degraded: list[str] = field(default_factory=list)

    @property
    def saved(self) -> int:
        return max(0, self.original - self.rendered)

    @property
    def saved_share(self) -> float:
        return self.saved / self.original if self.original else 0.0


def list_packs(rows: ScopedQuerySet[ContextPack], *, session: str, cursor: str) -> PackList:
    """Returns a page of packs: from `cursor` an `ID` those older than it, from `-ID` those just newer, else the
    newest."""
    if session:
        rows = rows.filter(session=session)
    rows = rows.select_related("namespace").defer("pack", "memory_ids")
    backwards, edge = cursor.startswith("-"), _uuid(cursor.removeprefix("-"))
    if edge and backwards:
        found = list(rows.filter(pk__gt=edge).order_by("pk")[: PER_PAGE + 1])
        shown = found[:PER_PAGE][::-1]
        newer, older = len(found) > PER_PAGE, True
    else:
        found = list((rows.filter(pk__lt=edge) if edge else rows).order_by("-pk")[: PER_PAGE + 1])
        shown = found[:PER_PAGE]
        newer, older = bool(edge), len(found) > PER_PAGE
    if not shown:
        return PackList([], "first" if edge else "", "")
    return PackList(shown, f"-{shown[0].pk}" if newer else "", str(shown[-1].pk) if older else "")


def build_pack_of_row(row: ContextPack, sources: Mapping[str, Sequence[Sequence[str]]]) -> Pack:
    """Builds a stored pack."""
    return _pack(
        row.pack, sources, question=row.query_text, namespace=row.namespace.name, session=row.session,
        original=row.token_original, rendered=row.token_condensed,
    )  # fmt: skip


def build_pack_of_answer(answer: QueryAnswer, sources: Mapping[str, Sequence[Sequence[str]]]) -> Pack:
    """Builds the pack that a dry run would return, with the parts of each score."""
    explained = {entry["id"]: entry for entry in answer.explanations}
    pack = answer.pack
    return _pack(
        pack, sources, question=pack["query_text"], namespace=pack["namespace"], session=pack["session_id"],
        original=answer.token_original, rendered=answer.token_condensed, explained=explained,
        degraded=answer.degraded,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Became:
    """Holds the outcome of a question that was stored: tone, words, and the row's page if there is one for this
    user."""

    tone: str
    words: str
    link: str


def became(scope: Scope, stored: str, *, user: Staff) -> Became | None:
    """Finds the memory or the quarantined item of that id, as it is now; None if the namespace has none."""
    identity = _uuid(stored)
    if identity is None:
        return None
    memory = Memory.objects.in_scope(scope).filter(pk=identity).first()
    if memory is not None:
        words = _("The question was stored as a memory of the session “%(session)s”, turn %(turn)s.")
        found = words % {"session": memory.session, "turn": memory.turn}
        return Became("good", found, row_link(user, "memory", identity))
    if QuarantinedItem.objects.in_scope(scope).filter(pk=identity).pending().exists():
        words = _("The gate put the question into quarantine: it is no memory until someone releases it.")
        return Became("weak", words, row_link(user, "quarantineditem", identity))
    return None


def explain_refusal(outcome: Outcome) -> str:
    """Explains why a question was not stored."""
    why = outcome.reasons[0]["says"] if outcome.reasons else ""
    return _("The question was not stored: the gate refused it. %(why)s") % {"why": why}


def reset_link(scope: Scope, session: str, *, user: Staff) -> str:
    """Returns the page that lists what a reset of the session would delete; empty without the permission or the
    session."""
    if not user.has_perm("ops.reset_session") or not Session.objects.in_scope(scope).filter(name=session).exists():
        return ""
    return page_link("ops:session_reset", ns=scope.namespace, session=session)


def differences(row: ContextPack, replayed: Replay, sources: Mapping[uuid.UUID, MemoryOrigin]) -> list[PlaceChange]:
    """Compares a pack with the results of its question today: today's in their order, then the missing ones."""
    before = {uuid.UUID(str(chunk["id"])): chunk for chunk in _chunks(row.pack)}
    places = {identity: place for place, identity in enumerate(before, start=1)}
    hits = {hit.id: hit for hit in replayed.answer.retrieval.hits}
    found = []
    for identity in [*hits, *(identity for identity in before if identity not in hits)]:
        hit, chunk = hits.get(identity), before.get(identity) or {}
        source = sources.get(identity)
        metadata = chunk.get("metadata") or {}
        found.append(
            PlaceChange(
                id=identity,
                before=places.get(identity),
                after=hit.rank if hit else None,
                score_before=_final_score(metadata),
                score_after=hit.score if hit else None,
                text=hit.text if hit else str(chunk.get("text", "")),
                session=source.session if source else str(metadata.get("session_id", "")),
                said_at=source.occurred_at if source else None,
                reason=replayed.why_gone.get(identity, ""),
            )
        )
    return found


def list_compared_ids(row: ContextPack, replayed: Replay) -> list[uuid.UUID]:
    """Lists all memories that a comparison names."""
    return [*(uuid.UUID(one) for one in hit_ids(row.pack)), *(hit.id for hit in replayed.answer.retrieval.hits)]


def _pack(
    pack: Mapping[str, Any],
    sources: Mapping[str, Sequence[Sequence[str]]],
    *,
    question: str,
    namespace: str,
    session: str,
    original: int,
    rendered: int,
    explained: Mapping[str, Mapping[str, Any]] | None = None,
    degraded: Sequence[str] = (),
) -> Pack:
    manifest = pack.get("manifest") or {}
    kept = {
        (section["section"], item["id"]): _describe_item(item)
        for section in manifest.get("sections") or ()
        for item in section["items"]
    }
    working = pack.get("working_memory") or {}
    return Pack(
        question=question,
        namespace=namespace,
        session=session,
        window=[_message(one, kept) for one in working.get("l1_window") or ()],
        chunks=[
            _chunk(number, one, kept, (explained or {}).get(str(one["id"])))
            for number, one in enumerate(_chunks(pack), start=1)
        ],
        card=_card(_summary_card(working.get("session_summary")), sources, kept),
        text=str(pack.get("text") or ""),
        budget=_budget(manifest),
        max_tokens=manifest.get("max_tokens"),
        tokenizer=str(manifest.get("tokenizer", "")),
        original=original,
        rendered=rendered,
        # Packs of earlier versions lack this field.
        answerable=(pack.get("retrieval") or {}).get("answerable", True),
        degraded=list(degraded),
    )


def _budget(manifest: Mapping[str, Any]) -> StackedBar | None:
    sections = manifest.get("sections")
    if not sections:
        return None
    bars = [
        Bar(_SECTIONS.get(one["section"], (one["section"], "grey"))[0], one["tokens"], _SECTIONS[one["section"]][1])
        for one in sections
    ]
    limit, used = manifest.get("max_tokens"), int(manifest.get("tokens") or 0)
    if limit:
        bars.append(Bar(_("Left over"), max(0, limit - used), "grey"))
    return bar_of_parts(
        _("Budget of %(limit)s tokens") % {"limit": f"{limit:,}"}
        if limit
        else _("Tokens handed over, without a limit"),
        bars,
        description=_("How the tokens of the final text are divided among its sections."),
    )


def _message(one: Mapping[str, Any], kept: Mapping[tuple[str, str], ItemStatus]) -> Message:
    identity = str(one.get("memory_id", ""))
    return Message(
        identity,
        str(one.get("speaker") or ""),
        str(one.get("role", "")),
        str(one.get("text", "")),
        _moment(one.get("occurred_at")),
        kept.get((PackSection.WINDOW.value, identity)),
    )


def _chunk(
    number: int,
    one: Mapping[str, Any],
    kept: Mapping[tuple[str, str], ItemStatus],
    explained: Mapping[str, Any] | None,
) -> RetrievedRow:
    metadata = one.get("metadata") or {}
    identity = str(one["id"])
    return RetrievedRow(
        number=number,
        id=identity,
        text=str(one.get("text", "")),
        session=str(metadata.get("session_id", "")),
        speaker=str(metadata.get("speaker") or ""),
        role=str(metadata.get("role", "")),
        tier=str(one.get("tier", "")),
        occurred_at=_moment(metadata.get("occurred_at")),
        similarity=one.get("score"),
        overlap=metadata.get("overlap"),
        relevance=one.get("relevance"),
        score=_final_score(metadata),
        kept=kept.get((PackSection.HITS.value, identity)),
        parts=parts_of(explained) if explained else [],
        reason=str(explained["reason"]) if explained else "",
    )


def _final_score(metadata: Mapping[str, Any]) -> float | None:
    """Returns the score that ranked a chunk. Packs that were stored before `final_score` have it as `rerank_score`."""
    return metadata.get("final_score", metadata.get("rerank_score"))


def _summary_card(summary: Any) -> Mapping[str, Any]:
    """Returns the card of a pack's summary: text, and an object in packs that were stored when it was one."""
    if isinstance(summary, str) and summary:
        return card_of(summary)
    return summary if isinstance(summary, Mapping) else {}


def _card(
    card: Mapping[str, Any],
    sources: Mapping[str, Sequence[Sequence[str]]],
    kept: Mapping[tuple[str, str], ItemStatus],
) -> list[CardSection]:
    sections = []
    for name in SECTIONS:
        items = section_items(card, name)
        behind = list(sources.get(name) or ())
        if items:
            sections.append(
                CardSection(
                    _CARD.get(name, name),
                    [
                        CardItem(
                            str(text),
                            [str(one) for one in behind[place]] if place < len(behind) else [],
                            kept.get((PackSection.SUMMARY.value, f"{name}.{place}")),
                        )
                        for place, text in enumerate(items)
                    ],
                )
            )
    return sections


def _describe_item(item: Mapping[str, Any]) -> ItemStatus:
    status = str(item["status"])
    word, tone = _STATUS.get(status, (status, "off"))
    return ItemStatus(_CUT.get(str(item.get("reason")), word), tone, item.get("tokens"))


def _chunks(pack: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list((pack.get("retrieval") or {}).get("raw_chunks") or ())


def _moment(text: Any) -> datetime | None:
    return parse_datetime(text) if isinstance(text, str) and text else None


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
