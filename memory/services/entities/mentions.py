"""Stores the names, mentions and relations read in memories. Called inside a transaction that locks the names."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memory.enums import EntityKind, Role
from memory.models import Entity, EntityAlias, EntityMention, EntityRelation
from memory.models.keys import new_id
from memory.services.entities.links import Stated, link_by_rule, link_stated
from memory.text.names import NameMatch, is_wide, name_key
from memory.text.relations import SPEAKER, Alias, RelationMatch, find_aliases, find_relations
from memory.types import Scope

# The name of a user who has none: the subject of "I live in Berlin".
USER = "user"
_SPOKEN = (0, 0)


@dataclass(frozen=True, slots=True)
class MemoryToRead:
    """A memory to be read."""

    id: uuid.UUID
    session: str
    role: str
    speaker: str
    text: str
    content_hash: bytes
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Reading:
    """The content of one memory: its names in order, relations between them, and names for the same entity."""

    source: MemoryToRead
    found: list[NameMatch]
    relations: list[RelationMatch] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)


def reading_of(source: MemoryToRead, found: list[NameMatch]) -> Reading:
    """Find the relations and aliases between the names in a memory. No I/O."""
    relations = find_relations(source.text, found)
    aliases = find_aliases(source.text, found)
    speaks = bool(found) and (found[0].start, found[0].end) == _SPOKEN
    if speaks:
        relations = [_with_speaker(relation) for relation in relations]
        aliases = [alias._replace(other=0 if alias.other == SPEAKER else alias.other) for alias in aliases]
    else:
        aliases = [alias for alias in aliases if alias.other != SPEAKER]
        ours = [relation for relation in relations if SPEAKER in (relation.subject, relation.object)]
        if ours and source.role == Role.USER:
            found = [NameMatch(*_SPOKEN, USER, EntityKind.PERSON, 3), *found]
            relations = [_with_speaker(_shift(relation)) for relation in relations]
            aliases = [Alias(alias.name + 1, alias.other + 1) for alias in aliases]
        else:
            relations = [relation for relation in relations if relation not in ours]
    return Reading(
        source,
        found,
        [relation for relation in relations if relation.subject != relation.object],
        [alias for alias in aliases if alias.name != alias.other],
    )


def _shift(relation: RelationMatch) -> RelationMatch:
    return relation._replace(
        subject=relation.subject + (relation.subject != SPEAKER), object=relation.object + (relation.object != SPEAKER)
    )


def _with_speaker(relation: RelationMatch) -> RelationMatch:
    return relation._replace(subject=max(relation.subject, 0), object=max(relation.object, 0))


def store(scope: Scope, readings: Sequence[Reading], *, now: datetime) -> None:
    """Replace all names stored for the memories by the ones in the readings; pinned mentions keep their name."""
    if not readings:
        return
    aliases = _names(scope, readings, now=now)
    memory_ids = [reading.source.id for reading in readings]
    EntityRelation.objects.in_scope(scope).filter(memory_id__in=memory_ids).delete()
    known = {
        (mention.memory_id, mention.start, mention.end): mention
        for mention in EntityMention.objects.in_scope(scope).filter(memory_id__in=memory_ids)
    }
    here = _find_session_variants(scope, readings, aliases)
    mentions: list[EntityMention] = []
    relations: list[EntityRelation] = []
    used: set[uuid.UUID] = set()
    for reading in readings:
        source = reading.source
        own = [
            _mention(
                scope,
                source,
                named,
                _choose_variant(aliases[name_key(named.name)], here.get(source.session, ())),
                known.get((source.id, named.start, named.end)),
            )
            for named in reading.found
        ]
        mentions.extend(own)
        used.update(mention.id for mention in own)
        relations.extend(_relation(scope, reading, relation, own) for relation in reading.relations)
    former = {mention.id for mention in known.values()}
    gone = [mention.id for mention in known.values() if mention.id not in used and not mention.pinned]
    EntityMention.objects.in_scope(scope).filter(id__in=gone).delete()
    EntityMention.objects.bulk_create([mention for mention in mentions if mention.id not in former], batch_size=1000)
    EntityMention.objects.bulk_update([mention for mention in mentions if mention.id in former], ["alias", "active"])
    EntityRelation.objects.bulk_create(relations, batch_size=1000, ignore_conflicts=True)
    _link(scope, readings, aliases)


def _link(scope: Scope, readings: Sequence[Reading], aliases: Mapping[str, list[EntityAlias]]) -> None:
    first = {key: variants[0] for key, variants in aliases.items()}
    statements = [
        Stated(name_key(reading.found[alias.name].name), name_key(reading.found[alias.other].name), reading.source.id)
        for reading in readings
        for alias in reading.aliases
    ]
    EntityAlias.objects.bulk_update(link_stated(statements, first), ["entity", "link", "stated_in"])
    link_by_rule(scope, first.values())


def _names(scope: Scope, readings: Sequence[Reading], *, now: datetime) -> dict[str, list[EntityAlias]]:
    """Return the aliases of every name in the readings, by key, first variant first; new names are stored."""
    best: dict[str, NameMatch] = {}
    spoken: set[str] = set()
    for reading in readings:
        for named in reading.found:
            key = name_key(named.name)
            if key not in best or named.weight > best[key].weight:
                best[key] = named
            if (named.start, named.end) == _SPOKEN:
                spoken.add(key)
    found: dict[str, list[EntityAlias]] = defaultdict(list)
    for alias in EntityAlias.objects.in_scope(scope).filter(key__in=best).order_by("key", "variant"):
        found[alias.key].append(alias)
    _make(scope, {key: named for key, named in best.items() if key not in found}, found, now=now)
    surer, speaking = [], []
    for key, named in best.items():
        alias = found[key][0]
        if named.weight > alias.weight:
            alias.kind, alias.weight = named.kind, named.weight
            surer.append(alias)
        if key in spoken and not alias.spoke:
            alias.spoke = True
            speaking.append(alias)
    EntityAlias.objects.bulk_update(
        {alias.id: alias for alias in [*surer, *speaking]}.values(), ["kind", "weight", "spoke"]
    )
    for alias in surer:
        Entity.objects.in_scope(scope).filter(id=alias.home).update(kind=alias.kind)
    return found


def _make(scope: Scope, names: Mapping[str, NameMatch], found: dict[str, list[EntityAlias]], *, now: datetime) -> None:
    """Create an alias and its entity for each new name, and add it to `found`."""
    entities = {
        key: Entity(namespace_id=scope.namespace_id, id=new_id(), name=named.name, kind=named.kind, created_at=now)
        for key, named in names.items()
    }
    for key, named in names.items():
        words = key.split() if not is_wide(key) else []
        several = len(words) > 1
        found[key].append(
            EntityAlias(
                namespace_id=scope.namespace_id,
                id=new_id(),
                key=key,
                name=named.name,
                kind=named.kind,
                weight=named.weight,
                first_word=words[0] if several else "",
                last_word=words[-1] if several else "",
                home=entities[key].id,
                entity=entities[key].id,
            )
        )
    Entity.objects.bulk_create(entities.values(), batch_size=1000)
    EntityAlias.objects.bulk_create([found[key][0] for key in names], batch_size=1000)


def _find_session_variants(
    scope: Scope, readings: Sequence[Reading], aliases: Mapping[str, list[EntityAlias]]
) -> dict[str, set[uuid.UUID]]:
    """Return which variants of ambiguous names each session of the readings has mentioned."""
    several = [alias.id for variants in aliases.values() if len(variants) > 1 for alias in variants]
    if not several:
        return {}
    sessions = {reading.source.session for reading in readings}
    said: dict[str, set[uuid.UUID]] = defaultdict(set)
    rows = EntityMention.objects.in_scope(scope).filter(alias__in=several, memory__session__in=sessions)
    for session, alias in rows.values_list("memory__session", "alias").distinct():
        said[session].add(alias)
    return said


def _choose_variant(variants: Sequence[EntityAlias], said_here: Collection[uuid.UUID]) -> EntityAlias:
    """Choose, of several entities with one name, the one that the session mentions; else the first."""
    here = [alias for alias in variants if alias.id in said_here]
    return here[0] if len(here) == 1 else variants[0]


def _mention(
    scope: Scope, source: MemoryToRead, named: NameMatch, alias: EntityAlias, mention: EntityMention | None
) -> EntityMention:
    """Return the mention of a name: the known one at its position, or a new one."""
    if mention is None:
        return EntityMention(
            namespace_id=scope.namespace_id,
            id=new_id(),
            memory_id=source.id,
            alias=alias.id,
            start=named.start,
            end=named.end,
            occurred_at=source.occurred_at,
        )
    mention.active = True
    if not mention.pinned:
        mention.alias = alias.id
    return mention


def _relation(
    scope: Scope, reading: Reading, relation: RelationMatch, mentions: Sequence[EntityMention]
) -> EntityRelation:
    subject, object_ = mentions[relation.subject], mentions[relation.object]
    when = reading.source.occurred_at
    return EntityRelation(
        namespace_id=scope.namespace_id,
        id=new_id(),
        memory_id=reading.source.id,
        subject_mention=subject.id,
        object_mention=object_.id,
        subject=subject.alias,
        object=object_.alias,
        predicate=relation.predicate,
        detail=relation.detail,
        valid_from=None if relation.ended else when,
        valid_to=when if relation.ended else None,
    )
