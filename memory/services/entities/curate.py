"""Merges entities and splits wrongly merged ones. Only names move, so each undoes the other."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from memory import audit
from memory.enums import AliasLink, AuditEvent
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import Entity, EntityAlias, EntityMention, EntityRelation
from memory.models.keys import new_id
from memory.models.locks import Lock, lock_in_transaction
from memory.services.memories.change import check_reason
from memory.types import Scope

MAX_SPLIT = 1_000


def merge(scope: Scope, *, entity_id: uuid.UUID, source_id: uuid.UUID, reason: str, now: datetime) -> Entity:
    """Move every name of `source_id` to `entity_id`; `split` by these names undoes it.

    Idempotent: an existing merge stays as it is. Raises NotFound, Conflict when one of them is merged into a third, and
    InvalidInput.
    """
    reason = check_reason(reason)
    if entity_id == source_id:
        raise InvalidInput("An entity cannot be merged into itself: name two.", detail={"field": "source_id"})
    with transaction.atomic():
        lock_in_transaction(Lock.ENTITY_NAMES, scope.namespace_id)
        target, source = find(scope, entity_id, field="entity_id"), find(scope, source_id, field="source_id")
        if source.merged_into == target.id:
            return target
        for entity, field in ((target, "entity_id"), (source, "source_id")):
            if entity.merged_into is not None:
                raise Conflict(
                    f"The entity {entity.id} is merged into {entity.merged_into}: name that one.",
                    detail={"field": field, "merged_into": str(entity.merged_into)},
                )
        moved = list(EntityAlias.objects.in_scope(scope).filter(entity=source.id).values_list("id", flat=True))
        EntityAlias.objects.in_scope(scope).filter(id__in=moved).update(
            entity=target.id, link=AliasLink.STAFF, stated_in=None
        )
        Entity.objects.in_scope(scope).filter(id=source.id).update(merged_into=target.id)
        audit.record(
            scope,
            AuditEvent.ENTITY_MERGE,
            subject=str(target.id),
            details={"reason": reason, "source": str(source.id), "aliases": [str(identity) for identity in moved]},
            now=now,
        )
    return target


def split(
    scope: Scope,
    *,
    entity_id: uuid.UUID,
    alias_ids: Sequence[uuid.UUID],
    mention_ids: Sequence[uuid.UUID],
    reason: str,
    now: datetime,
) -> Entity:
    """Split names, or single mentions, off an entity; return the entity that they get.

    Names return to the entity that they were merged from, if there is one. Mentions keep their assignment when their
    memory is read again; new mentions of the same name go to the entity that their session mentions.

    Raises NotFound, and InvalidInput when nothing would be left or nothing is named.
    """
    reason = check_reason(reason)
    if bool(alias_ids) == bool(mention_ids):
        raise InvalidInput("Name either alias_ids or mention_ids.", detail={"field": "alias_ids"})
    with transaction.atomic():
        lock_in_transaction(Lock.ENTITY_NAMES, scope.namespace_id)
        entity = find(scope, entity_id, field="entity_id")
        aliases = list(EntityAlias.objects.in_scope(scope).filter(entity=entity.id).order_by("id"))
        if alias_ids:
            apart = _split_aliases(scope, entity, aliases, set(alias_ids), now=now)
        else:
            apart = _split_mentions(scope, aliases, set(mention_ids), now=now)
        _name_again(scope, entity)
        audit.record(
            scope,
            AuditEvent.ENTITY_SPLIT,
            subject=str(entity.id),
            details={
                "reason": reason,
                "into": str(apart.id),
                "aliases": sorted(map(str, alias_ids)),
                "mentions": sorted(map(str, mention_ids)),
            },
            now=now,
        )
    return apart


def find(scope: Scope, entity_id: uuid.UUID, *, field: str) -> Entity:
    """Return the entity, merged or not. Raises NotFound."""
    entity = Entity.objects.in_scope(scope).filter(id=entity_id).first()
    if entity is None:
        raise NotFound(f"There is no entity {entity_id} in the namespace {scope.namespace!r}.", detail={"field": field})
    return entity


def _split_aliases(
    scope: Scope, entity: Entity, aliases: Sequence[EntityAlias], wanted: set[uuid.UUID], *, now: datetime
) -> Entity:
    chosen = [alias for alias in aliases if alias.id in wanted]
    if len(chosen) < len(wanted):
        raise NotFound("The entity has no such name.", detail={"field": "alias_ids"})
    if len(chosen) == len(aliases):
        raise InvalidInput("Leave the entity at least one name.", detail={"field": "alias_ids"})
    former = next((alias.home for alias in chosen if alias.home != entity.id), None)
    if former is None:
        apart = _create_entity(scope, chosen[0], now=now)
    else:
        apart = Entity.objects.in_scope(scope).get(id=former)
        Entity.objects.in_scope(scope).filter(id=former).update(merged_into=None)
        apart.merged_into = None
    for alias in chosen:
        alias.entity, alias.link, alias.stated_in = apart.id, AliasLink.STAFF, None
        if alias.home == entity.id:
            alias.home = apart.id
    EntityAlias.objects.bulk_update(chosen, ["entity", "link", "stated_in", "home"])
    return apart


def _split_mentions(scope: Scope, aliases: Sequence[EntityAlias], wanted: set[uuid.UUID], *, now: datetime) -> Entity:
    by_id = {alias.id: alias for alias in aliases}
    chosen = list(EntityMention.objects.in_scope(scope).filter(id__in=wanted, alias__in=by_id))
    if len(chosen) < len(wanted):
        raise NotFound("The entity has no such mention.", detail={"field": "mention_ids"})
    if not EntityMention.objects.in_scope(scope).filter(alias__in=by_id).exclude(id__in=wanted).exists():
        raise InvalidInput("Leave the entity at least one mention.", detail={"field": "mention_ids"})
    used = sorted({mention.alias for mention in chosen})
    apart = _create_entity(scope, by_id[used[0]], now=now)
    for identity in used:
        twin = _twin(scope, by_id[identity], apart)
        moved = [mention.id for mention in chosen if mention.alias == identity]
        EntityMention.objects.in_scope(scope).filter(id__in=moved).update(alias=twin.id, pinned=True)
        relations = EntityRelation.objects.in_scope(scope)
        relations.filter(subject=identity, subject_mention__in=moved).update(subject=twin.id)
        relations.filter(object=identity, object_mention__in=moved).update(object=twin.id)
    return apart


def _create_entity(scope: Scope, alias: EntityAlias, *, now: datetime) -> Entity:
    return Entity.objects.create(
        namespace_id=scope.namespace_id, id=new_id(), name=alias.name, kind=alias.kind, created_at=now
    )


def _twin(scope: Scope, alias: EntityAlias, entity: Entity) -> EntityAlias:
    """Create another alias with the same name for `entity`."""
    variants = EntityAlias.objects.in_scope(scope).filter(key=alias.key).values_list("variant", flat=True)
    return EntityAlias.objects.create(
        namespace_id=scope.namespace_id,
        id=new_id(),
        key=alias.key,
        variant=max(variants) + 1,
        name=alias.name,
        kind=alias.kind,
        weight=alias.weight,
        spoke=alias.spoke,
        first_word=alias.first_word,
        last_word=alias.last_word,
        home=entity.id,
        entity=entity.id,
        link=AliasLink.STAFF,
    )


def _name_again(scope: Scope, entity: Entity) -> None:
    """Rename the entity to one of its remaining names, if it lost its own."""
    names = list(
        EntityAlias.objects.in_scope(scope).filter(entity=entity.id).order_by("id").values_list("name", flat=True)
    )
    if entity.name not in names:
        Entity.objects.in_scope(scope).filter(id=entity.id).update(name=names[0])
