"""Stores preferences next to the turns that state them, each once for its holder; a newer one supersedes an older one
that it denies."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings

from memory import audit
from memory.enums import Attitude, AuditEvent, LinkKind, MemoryState, PreferenceSource
from memory.kinds import PREFERENCE_KEY
from memory.models import Memory, MemoryLink
from memory.models.keys import new_id
from memory.models.locks import Lock, lock_in_transaction
from memory.models.memory import content_hash
from memory.services.facts.store import ALONE, TOGETHER, insert_derived, turn_of
from memory.services.index.embedding import Embedded
from memory.services.jobs import queue
from memory.services.memories.change import AS_IT_COMES, lock_memories, store_change
from memory.services.memories.supersede import end_memory
from memory.text.choices import reduce_key
from memory.text.facts import bears
from memory.text.preference_keys import find_key
from memory.text.preferences import StatedPreference
from memory.text.tokens import count_tokens
from memory.types import Scope, system_access

# The actor of links to turns, and of supersessions by a newer preference.
ACTOR = "rule:preferences"
_REASON = "The speaker says so there."
_CHOSEN = "The speaker chooses so there."
_CHANGED = "The same person says otherwise later."
# The most preferences of a holder, newest first, with which a new one is compared.
_COMPARED = 2_000
_COMPARED_BY = ("pk", "text", "speaker", "metadata", "occurred_at", "valid_from", "state")


@dataclass(frozen=True, slots=True)
class NewPreference:
    """A preference stated in `turn`; `by_model`: a language model found it. `evidence`: the turns whose choices show
    it, of which `turn` is the first; empty for a statement."""

    turn: Memory
    stated: StatedPreference
    by_model: bool = False
    evidence: tuple[Memory, ...] = ()

    @property
    def turns(self) -> tuple[Memory, ...]:
        """Return the turns that the preference rests on."""
        return self.evidence or (self.turn,)


@dataclass(frozen=True, slots=True)
class Reversal:
    """A holder's choices turned to the opposite: `key` names the thing, `wanted` is the former attitude, and `turn`
    ended it."""

    holder: str
    key: frozenset[str]
    wanted: bool
    turn: Memory


@dataclass(slots=True)
class StoredPreferences:
    """The ids of the new memories, the number of repeated preferences, and the number of superseded ones.

    `contrary`: the number of likings and habits that only a model found and that were not stored because they deny a
    stronger preference.
    """

    made: list[uuid.UUID] = field(default_factory=list)
    merged: int = 0
    superseded: int = 0
    contrary: int = 0


@dataclass(frozen=True, slots=True)
class _Known:
    """A stored preference that holds, with the fields that are compared."""

    id: uuid.UUID
    text: str
    holder: str
    key: frozenset[str]
    topic: str
    scope: str
    wanted: bool
    since: datetime
    is_active: bool = True
    is_shown: bool = False
    by_model: bool = False
    is_constraint: bool = False

    def stands_above(self, other: _Known) -> bool:
        """Return whether the other one, which only a model found in a statement, cannot end this one."""
        return other.by_model and not other.is_shown and (self.is_constraint or not self.by_model)

    def is_about(self, other: _Known) -> bool:
        """Return whether both concern the same thing of the same holder, so that one shows by choices what the other
        states."""
        return self.holder == other.holder and reduce_key(self.key) == reduce_key(other.key)

    def ends_by_words(self, said: _Known) -> bool:
        """Return whether choices show it, and it ends with a statement about the same thing."""
        return self.is_shown and self.is_about(said) and not self.stands_above(said)

    def ends_by(self, reversal: Reversal) -> bool:
        """Return whether the reversal ends it."""
        return (self.holder, self.key, self.wanted) == (reversal.holder, reversal.key, reversal.wanted)

    def is_same(self, other: _Known) -> bool:
        """Return whether both say the same about the same thing."""
        return (
            self.holder == other.holder
            and self.is_shown == other.is_shown
            and self.wanted == other.wanted
            and (self.key, self.topic, self.scope) == (other.key, other.topic, other.scope)
        )

    def denies(self, other: _Known) -> bool:
        """Return whether the two cannot both hold: one wants what the other does not, or both name a favourite of the
        same kind."""
        if self.holder != other.holder or self.scope != other.scope or not self.is_active:
            return False
        if self.is_shown != other.is_shown:
            return False
        if self.topic and self.topic == other.topic:
            return self.key != other.key
        return self.key == other.key and self.wanted != other.wanted


def store_preferences(
    scope: Scope,
    session: str,
    found: Sequence[NewPreference],
    embedded: Embedded | None,
    *,
    reversals: Sequence[Reversal] = (),
    now: datetime,
) -> StoredPreferences:
    """Store the preferences that their holders do not have. A known one is linked to the turn that repeats it, and one
    that a later one denies ends where that begins. Preferences shown by choices end with `reversals` and with
    statements.

    Call it in the transaction that has `Lock.PREFERENCES`, the session and the turns. `embedded`: the vectors of
    `found`, in their order, perhaps with more after them; None: the worker makes them.
    """
    done = StoredPreferences()
    if not found and not reversals:
        return done
    holders = {one.turn.speaker for one in found} | {one.holder for one in reversals}
    known = _list_known(scope, holders)
    new: list[tuple[int, Memory]] = []
    links: list[MemoryLink] = []
    ends: list[tuple[uuid.UUID, uuid.UUID]] = []
    away = False
    for place, one in enumerate(found):
        said = _compare_as(one)
        same = next((other for other in known if other.is_same(said)), None)
        if said.is_shown and any(not other.is_shown and other.is_about(said) for other in known):
            # People's statements about themselves outweigh their choices.
            continue
        if same is not None:
            done.merged += 1
            away = away or not same.is_active
            links += _link(scope, same.id, one, same.text, now=now)
            continue
        if said.wanted and any(other.stands_above(said) and _is_contrary(other, said) for other in known):
            done.contrary += 1
            continue
        memory = _memory(scope, session, one, identity=said.id, now=now)
        new.append((place, memory))
        links += _link(scope, memory.pk, one, memory.text, now=now)
        if not said.is_shown:
            for other in [other for other in known if other.ends_by_words(said)]:
                known.remove(other)
                if other.is_active:
                    ends.append((other.id, said.id))
        for other in [other for other in known if other.denies(said)]:
            order = _put_in_order(other, said)
            if order is None:
                continue
            older, newer = order
            ends.append((older.id, newer.id))
            known.remove(other)
            known.append(newer)
            said = newer
        if said.id == memory.pk and said not in known:
            known.append(said)
    ends += [
        (other.id, one.turn.pk)
        for one in reversals
        for other in known
        if other.is_shown and other.is_active and other.ends_by(one)
    ]
    kept = embedded.only([place for place, _ in new]) if embedded is not None else None
    insert_derived(scope, session, [memory for _, memory in new], kept)
    MemoryLink.objects.bulk_create(links, ignore_conflicts=True)
    if away:
        # A preference that left search with its turns comes back with this one; one that a person archived does not.
        queue.enqueue(queue.FOLLOW_SOURCES, scope.namespace_id, session)
    done.made = [memory.pk for _, memory in new]
    done.superseded = _end(scope, ends, now=now)
    return done


def record(scope: Scope, session: str, stored: StoredPreferences, read: Mapping[str, Any], *, now: datetime) -> None:
    """Record the result of a batch in figures; `read`: the figures of reading."""
    audit.record(
        scope,
        AuditEvent.PREFERENCES_READ,
        session=session,
        details={
            **read,
            "stored": len(stored.made),
            "merged": stored.merged,
            "superseded": stored.superseded,
            "memory_ids": [str(identity) for identity in stored.made],
        },
        now=now,
    )


def _end(scope: Scope, ends: Sequence[tuple[uuid.UUID, uuid.UUID]], *, now: datetime) -> int:
    """End each older preference where its newer one begins; return how many ended."""
    if not ends:
        return 0
    access = system_access(ACTOR)
    rows = lock_memories(access, sorted({one for pair in ends for one in pair}), terms=AS_IT_COMES)
    lock_in_transaction(Lock.SUPERSEDE, scope.namespace_id)
    ended = 0
    for older_id, newer_id in ends:
        older = rows[older_id]
        if older.superseded_by is None:
            store_change(
                access, older, end_memory(older, rows[newer_id], _CHANGED, 1.0, ACTOR, now=now), terms=AS_IT_COMES,
                now=now,
            )  # fmt: skip
            ended += 1
    return ended


def _put_in_order(known: _Known, said: _Known) -> tuple[_Known, _Known] | None:
    """Return the one that ends and the one that holds, of two that deny each other; None if both hold."""
    older, newer = (known, said) if known.since <= said.since else (said, known)
    if not older.stands_above(newer):
        return older, newer
    # Stating both a liking and an allergy does less harm than stating the liking alone.
    return (newer, older) if newer.wanted else None


def _is_contrary(known: _Known, said: _Known) -> bool:
    """Return whether the newer `said` would end `known`."""
    if known.is_shown:
        return known.is_active and known.is_about(said) and known.wanted != said.wanted
    return known.denies(said) and known.since <= said.since


def _list_known(scope: Scope, holders: set[str]) -> list[_Known]:
    """Return the preferences of the holders that hold, and archived ones, so that one that a person removed is not
    stored again when it is repeated."""
    rows = Memory.objects.in_scope(scope).preferences().filter(speaker__in=holders, superseded_by=None)
    found = []
    for row in rows.order_by("-pk").only(*_COMPARED_BY)[:_COMPARED]:
        said = row.metadata.get(PREFERENCE_KEY)
        if isinstance(said, dict) and (key := find_key(said)) is not None:
            found.append(
                _Known(
                    row.pk, row.text, row.speaker, key, str(said.get("topic", "")),
                    str(said.get("scope", "")), bool(said.get("wanted")), row.holds_from,
                    row.state == MemoryState.ACTIVE, said.get("shown_by") == PreferenceSource.CHOICES,
                    said.get("by") == "model", said.get("attitude") == Attitude.CONSTRAINT,
                )
            )  # fmt: skip
    return found


def _compare_as(new: NewPreference) -> _Known:
    stated = new.stated
    return _Known(
        new_id(),
        stated.text,
        new.turn.speaker,
        stated.key,
        stated.topic,
        stated.scope,
        stated.wanted,
        new.turn.occurred_at,
        is_shown=bool(new.evidence),
        by_model=new.by_model,
        is_constraint=stated.attitude == Attitude.CONSTRAINT,
    )


def _memory(scope: Scope, session: str, new: NewPreference, *, identity: uuid.UUID, now: datetime) -> Memory:
    stated, turn = new.stated, new.turn
    said: dict[str, Any] = {
        "attitude": stated.attitude.value,
        "object": stated.object,
        "wanted": stated.wanted,
        "scope": stated.scope,
        "strength": stated.strength,
        "topic": stated.topic,
        "key": sorted(stated.key),
        "by": "model" if new.by_model else "rules",
        "shown_by": PreferenceSource.CHOICES.value if new.evidence else PreferenceSource.STATEMENT.value,
    }
    return Memory(
        id=identity,
        namespace_id=scope.namespace_id,
        session=session,
        role=turn.role,
        speaker=turn.speaker,
        text=stated.text,
        metadata={PREFERENCE_KEY: said},
        occurred_at=turn.occurred_at,
        created_at=now,
        content_hash=content_hash(stated.text),
        tokens=count_tokens(stated.text, settings.MEMOS_TOKENIZER),
        is_preference=True,
    )


def _link(scope: Scope, preference_id: uuid.UUID, new: NewPreference, text: str, *, now: datetime) -> list[MemoryLink]:
    """Link a preference to its turns. A turn without all words of the preference does not support it alone, so that it
    goes when the turn that has them is erased. No choice supports a preference alone: when one is erased, the others
    are read again."""
    says_all = not new.evidence and (text == new.stated.text or bears(text, new.stated.object, turn_of(new.turn)))
    return [
        MemoryLink(
            namespace_id=scope.namespace_id,
            memory_id=preference_id,
            kind=LinkKind.DERIVED_FROM,
            other_id=turn.pk,
            reason=_CHOSEN if new.evidence else _REASON,
            confidence=ALONE if says_all else TOGETHER,
            actor=ACTOR,
            created_at=now,
        )
        for turn in new.turns
    ]
