"""Restores names from a cube's file, with people's decisions about them, and their mentions in memories.

Names and mentions that are not restored are found when the memories are read in the background.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory.gate.fields import judge_fields
from memory.kinds import SESSION_PREFIX
from memory.models import (
    Entity,
    EntityAlias,
    EntityMention,
    EntityPending,
    EntityRelation,
    EntityWatermark,
    Memory,
)
from memory.models.keys import new_id
from memory.models.locks import Lock, lock_in_transaction
from memory.models.queries import entities as queries
from memory.services.tenancy.policy import in_force
from memory.types import Scope

Key = tuple[str, int]
Mention = tuple[str, int, int, int, bool]


@dataclass(slots=True)
class ArrivingNames:
    """The names in a memory of a file: `mentions` are (key, variant, start, end, pinned); `relations` refer to two of
    them by their positions in the list, with their other columns."""

    memory_id: uuid.UUID
    session: str
    turn: int
    occurred_at: datetime
    active: bool
    read: bool = False
    mentions: Sequence[Mention] = ()
    relations: Sequence[tuple[int, int, dict[str, Any]]] = field(default_factory=tuple)


def take_over_names(scope: Scope, names: Sequence[tuple[EntityAlias, Entity, Entity]]) -> tuple[int, int, int]:
    """Store new names, each with its home and its entity; return how many are new, how many exist, and how many the
    gate refuses. Inside the caller's transaction."""
    lock_in_transaction(Lock.ENTITY_NAMES, scope.namespace_id)
    known = _find_names(scope, {alias.key for alias, _, _ in names})
    gate = in_force(scope.namespace_id).gate
    fresh = [one for one in names if (one[0].key, one[0].variant) not in known]
    kept = [
        (alias, home, entity)
        for alias, home, entity in fresh
        if all(
            verdict.decision.lets_in and verdict.values["name"] == name
            for name in {alias.name, home.name, entity.name}
            for verdict in [judge_fields({"name": name}, policy=gate)]
        )
    ]
    entities = {one.id: one for _, home, entity in kept for one in (home, entity)}
    Entity.objects.bulk_create(entities.values(), ignore_conflicts=True, batch_size=500)
    EntityAlias.objects.bulk_create([alias for alias, _, _ in kept], ignore_conflicts=True, batch_size=500)
    return len(kept), len(names) - len(fresh), len(fresh) - len(kept)


def take_over_mentions(scope: Scope, arrivals: Sequence[ArrivingNames]) -> None:
    """Store the mentions in memories that were just restored. Inside the caller's transaction.

    A memory with a mention whose name does not exist here is read again in the background.
    """
    lock_in_transaction(Lock.ENTITY_NAMES, scope.namespace_id)
    aliases = _find_names(scope, {key for one in arrivals for key, *_ in one.mentions})
    mentions: list[EntityMention] = []
    relations: list[EntityRelation] = []
    waiting: list[uuid.UUID] = []
    for one in arrivals:
        if not one.read or any((key, variant) not in aliases for key, variant, *_ in one.mentions):
            waiting.append(one.memory_id)
            continue
        own = [_mention(scope, one, aliases[mention[:2]], mention) for mention in one.mentions]
        mentions += own
        relations += [
            EntityRelation(
                namespace_id=scope.namespace_id,
                id=new_id(),
                memory_id=one.memory_id,
                subject_mention=own[subject].id,
                object_mention=own[other].id,
                subject=own[subject].alias,
                object=own[other].alias,
                active=one.active,
                **columns,
            )
            for subject, other, columns in one.relations
        ]
    EntityMention.objects.bulk_create(mentions, batch_size=1000, ignore_conflicts=True)
    EntityRelation.objects.bulk_create(relations, batch_size=1000, ignore_conflicts=True)
    EntityPending.objects.bulk_create(
        [EntityPending(namespace_id=scope.namespace_id, memory_id=one) for one in waiting], ignore_conflicts=True
    )
    _move_marks(scope, arrivals)


def mark_documents_read(scope: Scope, versions: Iterable[tuple[uuid.UUID, int]]) -> None:
    """Record that the chunks of these document versions were read; waiting chunks are read one by one."""
    EntityWatermark.objects.bulk_create(
        [
            EntityWatermark(namespace_id=scope.namespace_id, session=f"{SESSION_PREFIX}{identity}", turn=version)
            for identity, version in versions
        ],
        ignore_conflicts=True,
    )


def _find_names(scope: Scope, keys: Collection[str]) -> dict[Key, uuid.UUID]:
    rows = EntityAlias.objects.in_scope(scope).filter(key__in=keys).values_list("key", "variant", "id")
    return {(key, variant): identity for key, variant, identity in rows}


def _mention(scope: Scope, arrival: ArrivingNames, alias: uuid.UUID, mention: Mention) -> EntityMention:
    _, _, start, end, pinned = mention
    return EntityMention(
        namespace_id=scope.namespace_id,
        id=new_id(),
        memory_id=arrival.memory_id,
        alias=alias,
        start=start,
        end=end,
        occurred_at=arrival.occurred_at,
        active=arrival.active,
        pinned=pinned,
    )


def _move_marks(scope: Scope, arrivals: Sequence[ArrivingNames]) -> None:
    """Record how far sessions were read: every restored memory was read, or waits individually.

    A session with earlier unread turns keeps its mark, and is read from there.
    """
    ends: dict[str, tuple[int, int]] = {}
    for one in arrivals:
        if one.turn > 0:
            first, last = ends.get(one.session, (one.turn, one.turn))
            ends[one.session] = min(first, one.turn), max(last, one.turn)
    marks = dict(EntityWatermark.objects.in_scope(scope).filter(session__in=ends).values_list("session", "turn"))
    read = {}
    for name, (first, last) in ends.items():
        mark = marks.get(name, 0)
        between = Memory.objects.in_scope(scope).in_session(name).filter(turn__gt=mark, turn__lt=first)
        if mark >= first - 1 or not between.exists():
            read[name] = last
    queries.move_watermarks(scope.namespace_id, read)
