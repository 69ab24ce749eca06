"""Repairs replies of earlier versions, which were remembered without links to their sources.

A reply that quotes memories of its namespace is linked to them. A reply that quotes memories erased since, or words of
another namespace, is erased: today's version does not remember it.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from memory.enums import LinkKind, Role
from memory.models import ErasedMemory, Memory, MemoryLink
from memory.postgresql import reach
from memory.services.erasure import requests
from memory.services.erasure.requests import Target
from memory.services.ingestion.replies import link_reply, read_named
from memory.text.verbatim import is_quoted
from memory.types import Scope

REASON = "It quotes what was erased, or what another namespace holds."
LINKED, ERASED = "linked", "erased"
_AT_ONCE = 500


def repair_replies(scope: Scope, *, now: datetime, dry_run: bool = False) -> Counter[str]:
    """Link or erase the replies of the namespace that have no sources; return how many of each. Idempotent.

    Raises Conflict when a reply to be erased is under a legal hold; the links made before remain.
    """
    done: Counter[str] = Counter()
    gone: list[uuid.UUID] = []
    for replies in _list_unlinked(scope):
        named = {reply.pk: read_named(reply.metadata) for reply in replies}
        ids = {identity for own in named.values() for identity in own}
        own = {row.pk: row for row in Memory.objects.in_scope(scope).filter(pk__in=ids)}
        others = _read_others(scope, ids - own.keys())
        erased = _list_erased(ids - own.keys())
        for reply in replies:
            if _is_of_others(reply, named[reply.pk], others, erased):
                gone.append(reply.pk)
            elif quoted := [one for one in named[reply.pk] if one in own and _quotes(reply, own[one].text)]:
                done[LINKED] += 1
                if not dry_run:
                    _link(scope, reply.pk, quoted, now=now)
    done[ERASED] = len(gone)
    for start in range(0, 0 if dry_run else len(gone), requests.MAX_MEMORIES):
        target = Target(memory_ids=tuple(gone[start : start + requests.MAX_MEMORIES]))
        requests.request(scope, target=target, reason=REASON, now=now)
    return done


def _list_unlinked(scope: Scope) -> Iterator[list[Memory]]:
    links = MemoryLink.objects.filter(
        namespace_id=OuterRef("namespace_id"), memory_id=OuterRef("pk"), kind=LinkKind.DERIVED_FROM
    )
    rows = Memory.objects.in_scope(scope).filter(~Exists(links), role=Role.AGENT, metadata__has_key="answer")
    rows = rows.order_by("pk").only("namespace_id", "text", "metadata")
    batch = list(rows[:_AT_ONCE])
    while batch:
        yield batch
        batch = list(rows.filter(pk__gt=batch[-1].pk)[:_AT_ONCE])


def _read_others(scope: Scope, ids: set[uuid.UUID]) -> Mapping[uuid.UUID, str]:
    """Read the texts of memories of other namespaces."""
    with reach.across_namespaces():
        rows = Memory.objects.across_namespaces().filter(pk__in=ids).exclude(namespace_id=scope.namespace_id)
        return dict(rows.values_list("pk", "text"))


def _list_erased(ids: set[uuid.UUID]) -> set[uuid.UUID]:
    with reach.across_namespaces():
        rows = ErasedMemory.objects.across_namespaces().filter(memory_id__in=ids)
        return set(rows.values_list("memory_id", flat=True))


def _is_of_others(
    reply: Memory, named: Sequence[uuid.UUID], others: Mapping[uuid.UUID, str], erased: set[uuid.UUID]
) -> bool:
    """Return whether the reply quotes another namespace, or an erased memory, whose words are gone."""
    return any(one in others and _quotes(reply, others[one]) for one in named) or (
        _is_quotation(reply) and not erased.isdisjoint(named)
    )


def _quotes(reply: Memory, source: str) -> bool:
    return _is_quotation(reply) or is_quoted(source, reply.text)


def _is_quotation(reply: Memory) -> bool:
    """Return whether the reply is made of quotes, so that it repeats words of every memory that it names."""
    return "model" not in reply.metadata["answer"]


def _link(scope: Scope, reply: uuid.UUID, quoted: Sequence[uuid.UUID], *, now: datetime) -> None:
    with transaction.atomic():
        rows = Memory.objects.in_scope(scope).filter(pk__in=[reply, *quoted]).order_by("pk")
        there = set(rows.select_for_update(no_key=True, of=("self",)).values_list("pk", flat=True))
        if reply in there:
            link_reply(scope, reply, [one for one in quoted if one in there], now=now)
