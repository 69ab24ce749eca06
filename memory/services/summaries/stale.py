"""Keeps summaries from repeating memories that were archived or corrected, or no longer hold: their lines are left out
at once, and rewritten soon after.

A memory that leaves search, comes back or says something else is marked (`mark`) in the same transaction. While the
mark exists, no line made from the memory is returned (`without`); a job writes a new version (`renew`) and removes the
mark. Former versions stay as they were, and so do packs, because they record what was returned.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import transaction

from memory import audit
from memory.enums import AuditEvent, MemoryState, Review, SummaryTrigger
from memory.errors import Conflict
from memory.models import Condensation, Memory, MemoryVersion, Session, StaleSource
from memory.models.queries.memories import mark_stale_sources
from memory.services.facts.sources import ask_to_follow
from memory.services.jobs import queue
from memory.services.summaries.writer import Written, card_with_sources, turn_of, write_card
from memory.text.card import card_budget, card_tokens, mirrors, section_items
from memory.text.cues import BUCKETS
from memory.text.statements import Turn
from memory.text.tokens import count_tokens
from memory.types import Scope

# The number of attempts to renew a session whose memories change meanwhile.
_TRIES = 3


def mark(memories: Sequence[Memory]) -> None:
    """Mark memories, inside the transaction that changes them, because summaries may repeat their former text.

    Facts, preferences and replies that rest on them follow them.
    """
    ask_to_follow(memories)
    turns = [memory for memory in memories if memory.turn > 0]
    if not turns:
        return
    mark_stale_sources(turns)
    for namespace_id in sorted({turn.namespace_id for turn in turns}):
        sessions = sorted({turn.session for turn in turns if turn.namespace_id == namespace_id})
        queue.enqueue_each(queue.RENEW_SUMMARY, [(namespace_id, session) for session in sessions])


def without(card: Mapping[str, Any], stale: Collection[str]) -> dict[str, Any]:
    """Return the card without lines that were made from `stale` memories (ids), or that name no source.

    Its shell commands and its excerpt, which have no sources, are left out too. The card's `sources`, which have the
    ids behind each line by bucket, are cut in the same way.
    """
    sound = {
        bucket: [
            (line, ids) for line, ids in _lines(card, card["sources"], bucket) if ids and not set(ids) & set(stale)
        ]
        for bucket in BUCKETS
        if bucket in card
    }
    kept = {bucket: [line for line, _ in lines] for bucket, lines in sound.items()}
    rest = {name: value for name, value in card.items() if name not in (*BUCKETS, "raw_excerpt", "sources")}
    if "risks" in kept and "pitfalls" in rest:
        rest["pitfalls"] = list(kept["risks"])
    for commands in {"commands", "shell_commands"} & rest.keys():
        rest[commands] = []
    return {**rest, **kept, "sources": {bucket: [ids for _, ids in lines] for bucket, lines in sound.items()}}


def renew(scope: Scope, *, session: str, now: datetime) -> Condensation | None:
    """Rewrite the session's newest summary from the current text of its marked memories; None if nothing changes.

    Idempotent. Raises Conflict when the memories are changed repeatedly meanwhile: the job is tried again.
    """
    for _ in range(_TRIES):
        stale = _look(scope, session)
        if stale is None:
            return None
        written = _write(stale)
        with transaction.atomic():
            row = Session.objects.select_for_update().in_scope(scope).filter(name=session).first()
            if row is None or _read(scope, session) != stale.read or _newest(scope, session) != stale.card:
                continue
            stored = _store(scope, stale, written, now=now) if written is not None else None
            _unmark(scope, session, stale.read)
        return stored
    raise Conflict("The memories of the session were changed again and again while its summary was made anew.")


@dataclass(frozen=True, slots=True)
class _Stale:
    """A summary to rewrite. `read`: the marked memories as they were read; `turns`: the sources of new lines."""

    card: Condensation
    read: dict[UUID, tuple[datetime, int | None]]
    kept: dict[str, Any]
    turns: list[Turn]


def _look(scope: Scope, session: str) -> _Stale | None:
    """Find the summary to rewrite; return None when no summary is made from the marked memories, and remove the marks
    then."""
    with transaction.atomic():
        # A writer of a version locks this row: either its version is seen here, or it reads the memories as they are
        # now.
        Session.objects.select_for_update().in_scope(scope).filter(name=session).first()
        read, card = _read(scope, session), _newest(scope, session)
        if not read:
            return None
        if card is None:
            _unmark(scope, session, read)
            return None
    whole, marked = card_with_sources(card), {str(identity) for identity in read}
    gone, left = _texts(scope, read)
    kept: dict[str, Any] = {name: value for name, value in whole.items() if name not in (*BUCKETS, "sources")}
    kept["sources"], behind = {}, set(marked)
    for bucket in BUCKETS:
        lines = _lines(whole, whole["sources"], bucket)
        stay = [(line, ids) for line, ids in lines if not marked & set(ids) and (ids or not _quotes(line, gone, left))]
        kept[bucket], kept["sources"][bucket] = [line for line, _ in stay], [ids for _, ids in stay]
        behind.update(source for _, ids in lines if marked & set(ids) for source in ids)
    kept["shell_commands"] = [
        command for command in section_items(whole, "shell_commands") if not _only_in(command, gone, left)
    ]
    kept |= mirrors(kept)
    if _quotes(str(kept.get("raw_excerpt", "")), gone, left):
        del kept["raw_excerpt"]
    rows = Memory.objects.in_scope(scope).in_session(session).active()
    rows = rows.filter(superseded_by=None, turn__gt=0, turn__lte=card.covers_to_turn, pk__in=behind).order_by("turn")
    rows = rows.exclude(review=Review.SUSPECTED)
    turns = [turn for turn in map(turn_of, rows) if turn.text.strip()]
    return _Stale(card, read, kept, turns)


def _write(stale: _Stale) -> Written | None:
    """Write the new card; None when it is the same as before."""
    whole = card_with_sources(stale.card)
    written = Written(stale.kept, stale.card.method, {})
    if stale.turns:
        room = max(card_tokens(whole), card_budget(stale.turns, previous=stale.kept))
        written = write_card(stale.turns, previous=stale.kept, max_tokens=room)
    return None if written.card == whole else written


def _store(scope: Scope, stale: _Stale, written: Written, *, now: datetime) -> Condensation:
    card, before = written.card, stale.card
    text = orjson.dumps({name: value for name, value in card.items() if name != "sources"}).decode()
    stored = Condensation.objects.create(
        namespace_id=scope.namespace_id,
        session=before.session,
        number=before.number + 1,
        trigger_reason=SummaryTrigger.STALE,
        trigger_details={"stale_memories": len(stale.read), "turns": len(stale.turns), **written.details},
        source_memory_ids=[turn.id for turn in stale.turns],
        covers_to_turn=before.covers_to_turn,
        condensed_text=text,
        item_sources=card.get("sources", {}),
        method=written.method,
        token_original=before.token_original,
        token_condensed=count_tokens(text, settings.MEMOS_TOKENIZER),
        tokenizer=settings.MEMOS_TOKENIZER,
        created_at=now,
    )
    audit.record(
        scope,
        AuditEvent.CONDENSATION,
        session=before.session,
        subject=str(stored.pk),
        details={
            "number": stored.number,
            "method": stored.method,
            "trigger_reason": stored.trigger_reason,
            "messages": len(stale.turns),
            "token_original": stored.token_original,
            "token_condensed": stored.token_condensed,
        },
        now=now,
    )
    return stored


def _marks(scope: Scope, session: str) -> Any:
    return StaleSource.objects.in_scope(scope).filter(session=session)


def _read(scope: Scope, session: str) -> dict[UUID, tuple[datetime, int | None]]:
    """Return the marked memories: when each was marked, and its revision (None: it is gone)."""
    marked = dict(_marks(scope, session).values_list("memory_id", "created_at"))
    revisions = dict(Memory.objects.in_scope(scope).filter(pk__in=marked).values_list("pk", "revision"))
    return {identity: (at, revisions.get(identity)) for identity, at in marked.items()}


def _unmark(scope: Scope, session: str, read: Mapping[UUID, tuple[datetime, int | None]]) -> None:
    """Remove the marks that are unchanged since they were read; a mark that is being set again is skipped and stays."""
    free = _marks(scope, session).select_for_update(skip_locked=True).values_list("memory_id", "created_at")
    done = [identity for identity, at in free if identity in read and read[identity][0] == at]
    _marks(scope, session).filter(memory_id__in=done).delete()


def _newest(scope: Scope, session: str) -> Condensation | None:
    return Condensation.objects.in_scope(scope).filter(session=session).order_by("-number").first()


def _lines(card: Mapping[str, Any], sources: Mapping[str, Any], bucket: str) -> list[tuple[str, list[str]]]:
    """Return the lines of a bucket, each with the memories behind it."""
    behind = list(sources.get(bucket) or ())
    lines = list(card.get(bucket) or ())
    return [(line, list(ids)) for line, ids in zip(lines, behind + [[]] * (len(lines) - len(behind)), strict=False)]


def _texts(scope: Scope, read: Collection[UUID]) -> tuple[list[str], list[str]]:
    """Return the removed texts (whole texts of marked memories that lost a part, and former versions), and the
    remaining texts."""
    rows = list(Memory.objects.in_scope(scope).filter(pk__in=list(read)))
    former = MemoryVersion.objects.in_scope(scope).filter(memory_id__in=list(read))
    holding = {row.pk: row for row in rows if row.state == MemoryState.ACTIVE and not row.superseded_by}
    gone = [row.text for row in rows if row.pk not in holding or row.retired_spans]
    return [*gone, *former.values_list("text", flat=True)], [row.live for row in holding.values()]


def _quotes(line: str, gone: Collection[str], left: Collection[str]) -> bool:
    """Return whether only removed texts contain the words of a line without sources."""
    return _only_in(line.split(": ", 1)[-1].rstrip("…."), gone, left)


def _only_in(line: str, gone: Collection[str], left: Collection[str]) -> bool:
    """Return whether only removed texts contain these words."""
    words = " ".join(line.split())
    if not words:
        return False
    held = [[" ".join(text.split()) for text in texts] for texts in (gone, left)]
    return any(words in text for text in held[0]) and not any(words in text for text in held[1])
