"""Has facts, preferences and replies follow the memories that they rest on: they leave search when their sources no
longer state them, and come back when the sources do.

A fact holds while one turn that states all of it holds, or all turns that state it together do. When they do not, the
memory that superseded a turn, or a statement of it, supersedes the fact; otherwise the fact is archived. Either is
undone when the turns hold again, unless a person has changed the fact. A reply rests on all memories that it quotes
together, and no longer holds when one of them says something else. Memories that rest on a fact or a reply follow in
turn.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from memory.enums import AuditEvent, LinkKind, MemoryState, PreferenceSource, Review
from memory.errors import Conflict, NotFound
from memory.kinds import PREFERENCE_KEY
from memory.models import AuditLog, Memory, MemoryLink, MemoryVersion, RetiredStatement
from memory.models.locks import Lock, lock_in_transaction
from memory.models.memory import spans_of
from memory.models.queries.memories import note_restored
from memory.services.facts.store import ACTOR, ALONE, METADATA_KEY, turn_of
from memory.services.index.membership import bring_back, take_out
from memory.services.memories import retire
from memory.services.memories.change import AS_IT_COMES, MemoryChange, lock_memories, store_change
from memory.services.memories.give_back import by_machine
from memory.services.memories.supersede import end_memory, validity
from memory.services.summaries import stale
from memory.text.choice_evidence import find_occasion
from memory.text.choices import is_enough
from memory.text.facts import is_still_told
from memory.text.preferences import read_preferences
from memory.types import Scope, system_access

log = logging.getLogger("memos.facts")

AWAY = "What it rests on is away or says something else now."
BACK = "What it rests on holds again."


@dataclass(frozen=True, slots=True)
class _Sources:
    """Holds the turns of a session on which facts rest, and which of them were rewritten, and when."""

    rows: Mapping[uuid.UUID, Memory]
    rewritten: Mapping[uuid.UUID, datetime]


def follow_sources(scope: Scope, *, session: str, now: datetime) -> int:
    """Bring memories that rest on the session's memories in step with them; return how many changed. Idempotent."""
    own = Memory.objects.in_scope(scope).in_session(session)
    # A person's preference, and a reply, may rest on several sessions.
    resting = MemoryLink.objects.in_scope(scope).filter(kind=LinkKind.DERIVED_FROM, other_id__in=own.values("pk"))
    facts = list(Memory.objects.in_scope(scope).filter(pk__in=resting.values("memory_id")).order_by("pk"))
    links: dict[uuid.UUID, list[MemoryLink]] = {}
    to_turns = MemoryLink.objects.in_scope(scope).filter(
        kind=LinkKind.DERIVED_FROM, memory_id__in=[one.pk for one in facts]
    )
    for link in to_turns:
        links.setdefault(link.memory_id, []).append(link)
    sources = _read_sources(scope, {link.other_id for own in links.values() for link in own})
    return sum(_follow(scope, fact, links[fact.pk], sources, now=now) for fact in facts if fact.pk in links)


def _read_sources(scope: Scope, ids: Iterable[uuid.UUID]) -> _Sources:
    wanted = list(ids)
    rows = {row.pk: row for row in Memory.objects.in_scope(scope).filter(pk__in=wanted)}
    versions = MemoryVersion.objects.in_scope(scope).filter(memory_id__in=wanted).order_by("replaced_at")
    return _Sources(rows, dict(versions.values_list("memory_id", "replaced_at")))


def _follow(scope: Scope, fact: Memory, links: Sequence[MemoryLink], sources: _Sources, *, now: datetime) -> bool:
    stands = _stands(fact, links, sources)
    try:
        if stands and (fact.state == MemoryState.ARCHIVED or fact.superseded_by is not None):
            return _bring_back(scope, fact.pk, now=now)
        if not stands and fact.state == MemoryState.ACTIVE and fact.superseded_by is None:
            newer = _successor(scope, [link.other_id for link in links], sources)
            return _end(scope, fact.pk, newer, now=now) if newer else _archive(scope, fact.pk, now=now)
    except (Conflict, NotFound) as refusal:
        # The fact is under a legal hold, or was erased meanwhile.
        log.info("a fact does not follow its turns", extra={"memory": str(fact.pk), "reason": refusal.message})
    return False


def _stands(fact: Memory, links: Sequence[MemoryLink], sources: _Sources) -> bool:
    if _is_shown_by_choices(fact):
        return _is_still_shown(fact, links, sources)
    alone = [link for link in links if link.confidence >= ALONE]
    if any(_says(fact, [link], sources) for link in alone):
        return True
    together = [link for link in links if link.confidence < ALONE]
    return bool(together) and _says(fact, together, sources)


def _is_shown_by_choices(memory: Memory) -> bool:
    """Return whether the memory is a preference that choices show and that no turn states."""
    said = memory.metadata.get(PREFERENCE_KEY)
    return memory.is_preference and isinstance(said, dict) and said.get("shown_by") == PreferenceSource.CHOICES


def _is_still_shown(preference: Memory, links: Sequence[MemoryLink], sources: _Sources) -> bool:
    """Return whether enough of the choices that the preference rests on remain."""
    said = preference.metadata[PREFERENCE_KEY]
    key = frozenset(map(str, said.get("key") or ()))
    found = [
        find_occasion(
            row.pk,
            text=row.text,
            retired=spans_of(row.retired_spans),
            place=(row.session, row.occurred_at.date().isoformat()),
            about=str(said.get("object", "")),
            wanted=bool(said.get("wanted")),
        )
        for row in _list_holding(links, sources)
    ]
    return is_enough([one for one in found if one is not None and one.choice.key == key])


def _list_holding(links: Sequence[MemoryLink], sources: _Sources) -> list[Memory]:
    """Return the linked turns that hold."""
    rows = [sources.rows.get(link.other_id) for link in links]
    return [
        row
        for row in rows
        if row is not None
        and row.state == MemoryState.ACTIVE
        and row.superseded_by is None
        and row.review != Review.SUSPECTED
    ]


def _says(fact: Memory, links: Sequence[MemoryLink], sources: _Sources) -> bool:
    """Return whether the turns hold, and the rest of those changed since they were read still says the fact."""
    held = _list_holding(links, sources)
    if len(held) < len(links):
        return False
    changed = any(
        row.retired_spans or (row.pk in sources.rewritten and sources.rewritten[row.pk] > link.created_at)
        for row, link in zip(held, links, strict=True)
    )
    if not changed:
        return True
    if fact.is_preference:
        return any(_still_prefers(fact, row) for row in held)
    said = fact.metadata.get(METADATA_KEY)
    if not isinstance(said, dict):
        return False
    turns = [turn_of(row) for row in held]
    return is_still_told(str(said.get("holder", "")), str(said.get("value", "")), fact.text, turns)


def _still_prefers(preference: Memory, turn: Memory) -> bool:
    """Return whether the remaining text of the turn states the preference."""
    said = preference.metadata.get(PREFERENCE_KEY)
    if not isinstance(said, dict):
        return False
    if said.get("by") == "model":
        holder = turn.speaker or turn.role
        return is_still_told(holder, str(said.get("object", "")), preference.text, [turn_of(turn)])
    own = ({str(term) for term in said.get("key") or ()}, bool(said.get("wanted")))
    stated = read_preferences(turn.text, spans_of(turn.retired_spans))
    return any((set(one.key), one.wanted) == own for one in stated)


def _successor(scope: Scope, turn_ids: Sequence[uuid.UUID], sources: _Sources) -> uuid.UUID | None:
    """Return the memory that replaced one of the turns, or a statement of it; None when no memory that holds did."""
    by = [row.superseded_by for row in sources.rows.values() if row.pk in turn_ids and row.superseded_by is not None]
    retired = RetiredStatement.objects.in_scope(scope).filter(memory_id__in=turn_ids, withdrawn_at=None)
    by += list(retired.order_by("-retired_at").values_list("by", flat=True))
    holding = set(Memory.objects.in_scope(scope).active().filter(pk__in=by).values_list("pk", flat=True))
    return next((one for one in by if one in holding and one not in turn_ids), None)


def _end(scope: Scope, fact_id: uuid.UUID, newer_id: uuid.UUID, *, now: datetime) -> bool:
    access = system_access(retire.ACTOR)
    with transaction.atomic():
        found = lock_memories(access, [fact_id, newer_id], terms=AS_IT_COMES)
        lock_in_transaction(Lock.SUPERSEDE, scope.namespace_id)
        fact = found[fact_id]
        ended = end_memory(fact, found[newer_id], AWAY, 1.0, retire.ACTOR, now=now)
        store_change(access, fact, ended, terms=AS_IT_COMES, now=now)
    return ended is not None


def _archive(scope: Scope, fact_id: uuid.UUID, *, now: datetime) -> bool:
    access = system_access(ACTOR)
    with transaction.atomic():
        fact = lock_memories(access, [fact_id], terms=AS_IT_COMES)[fact_id]
        if fact.state != MemoryState.ACTIVE:
            return False
        take_out([fact])
        stale.mark([fact])
        store_change(access, fact, _change_state(fact, MemoryState.ARCHIVED, AWAY), terms=AS_IT_COMES, now=now)
    return True


def _bring_back(scope: Scope, fact_id: uuid.UUID, *, now: datetime) -> bool:
    access = system_access(ACTOR)
    with transaction.atomic():
        fact = lock_memories(access, [fact_id], terms=AS_IT_COMES)[fact_id]
        if fact.state == MemoryState.ARCHIVED:
            if not _was_archived_by_us(scope, fact_id):
                return False
            change = _change_state(fact, MemoryState.ACTIVE, BACK)
            fact.save(update_fields=["state"])
            note_restored([(fact.namespace_id, fact.pk)], now=now)
            bring_back([fact])
        elif fact_id in by_machine(scope.namespace_id, [fact_id]):
            before = validity(fact)
            fact.valid_to = fact.superseded_by = fact.superseded_at = None
            MemoryLink.objects.in_scope(scope).filter(other_id=fact_id, kind=LinkKind.SUPERSEDES).delete()
            change = MemoryChange(
                AuditEvent.MEMORY_REINSTATE,
                ["valid_to", "superseded_by"],
                ["valid_to", "superseded_by", "superseded_at"],
                {"reason": BACK, "statements": 0, "before": before, "after": validity(fact)},
            )
        else:
            return False
        stale.mark([fact])
        store_change(access, fact, change, terms=AS_IT_COMES, now=now)
    return True


def _was_archived_by_us(scope: Scope, fact_id: uuid.UUID) -> bool:
    events = AuditLog.objects.in_scope(scope).filter(subject=str(fact_id), event_type=AuditEvent.MEMORY_ARCHIVE.value)
    last = events.order_by("-pk").values_list("actor", flat=True).first()
    return last == ACTOR


def _change_state(fact: Memory, state: MemoryState, reason: str) -> MemoryChange:
    details = {"reason": reason, "before": {"state": str(fact.state)}, "after": {"state": state.value}}
    event = AuditEvent.MEMORY_ARCHIVE if state == MemoryState.ARCHIVED else AuditEvent.MEMORY_RESTORE
    fact.state = state
    return MemoryChange(event, ["state"], ["state"], details)
