"""Decides which names of a namespace stand for the same entity. Called inside the transaction that locks its names.

Two full names are never joined. A name that could be short for two full ones stays separate, and is separated again
when the second one appears. A person's decision (link `staff`) is not changed.
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

# The most mentions of a full name, newest first, that are searched for a session that also has the short one.
_LOOKED_AT = 500


@dataclass(frozen=True, slots=True)
class Stated:
    """A memory's statement that `name` (a key) is another name of `other` (a key)."""

    name: str
    other: str
    memory_id: uuid.UUID


def link_stated(statements: Sequence[Stated], aliases: dict[str, EntityAlias]) -> list[EntityAlias]:
    """Assign names to the entity that a memory says they name; return the changed ones.

    `aliases` has the first variant of each key. A name that memories assign to different entities stays separate.
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
    """Assign first and last names to the only full name they can be short for; return the changed ones.

    Both must occur in one session. A speaker's name is only short for another speaker's name: a John who speaks is not
    a John who is mentioned.
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
