"""Decides which names of a namespace stand for one entity. Called inside the transaction that holds its names.

Two full names are never made one. A name that could be short for two full ones stays apart, and comes apart again when
the second one turns up. What a person has decided (link `staff`) is not changed.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from memory.enums import AliasLink, EntityKind
from memory.models import EntityAlias
from memory.models.queries import entities as queries
from memory.types import Scope

# Of a full name, so many of its newest mentions are looked at for a session that has the short one too.
_LOOKED_AT = 500


@dataclass(frozen=True, slots=True)
class Stated:
    """A memory says that `name` (a key) is another name of `other` (a key)."""

    name: str
    other: str
    memory_id: uuid.UUID


def link_stated(statements: Sequence[Stated], aliases: dict[str, EntityAlias]) -> list[EntityAlias]:
    """Lets names stand for the entity that a memory says they name; returns those that changed.

    `aliases` has the first variant of each key. A name that memories give to different entities stays apart.
    """
    changed = []
    for statement in statements:
        alias, other = aliases[statement.name], aliases[statement.other]
        if alias.spoke and not other.spoke:
            alias, other = other, alias
        if alias.link in (AliasLink.STAFF, AliasLink.APART) or alias.entity == other.entity:
            continue
        if alias.link == AliasLink.STATED or (alias.spoke and other.spoke):
            alias.entity, alias.link, alias.stated_in = alias.home, AliasLink.APART, None
        else:
            alias.entity, alias.link, alias.stated_in = other.entity, AliasLink.STATED, statement.memory_id
        changed.append(alias)
    return changed


def link_by_rule(scope: Scope, touched: Iterable[EntityAlias]) -> list[EntityAlias]:
    """Lets first and last names stand for the only full name they can be short for; returns those that changed.

    The two must be said in one session. A speaker's name is short for another speaker's only: a John who speaks is not
    a John who is spoken of.
    """
    words = {
        word
        for alias in touched
        if alias.kind == EntityKind.PERSON
        for word in ((alias.first_word, alias.last_word) if alias.first_word else (alias.key,))
    }
    if not words:
        return []
    people = EntityAlias.objects.in_scope(scope).filter(kind=EntityKind.PERSON)
    full = list(people.filter(Q(first_word__in=words) | Q(last_word__in=words)))
    if not full and not people.filter(key__in=words, link=AliasLink.RULE).exists():
        return []
    changed = []
    for short in people.filter(key__in=words, first_word="", variant=0, link__in=[AliasLink.OWN, AliasLink.RULE]):
        found = [alias for alias in full if short.key in (alias.first_word, alias.last_word)]
        entities = {alias.entity for alias in found}
        target = entities.pop() if len(entities) == 1 else None
        if target is not None and short.entity != target and not _may_be(scope, short, found):
            target = None
        entity, link = (target, AliasLink.RULE) if target is not None else (short.home, AliasLink.OWN)
        if short.entity != entity:
            short.entity, short.link = entity, link
            changed.append(short)
    EntityAlias.objects.bulk_update(changed, ["entity", "link"])
    return changed


def _may_be(scope: Scope, short: EntityAlias, full: Sequence[EntityAlias]) -> bool:
    if short.spoke and not any(alias.spoke for alias in full):
        return False
    return queries.share_session(scope.namespace_id, short.id, [alias.id for alias in full], most=_LOOKED_AT)
