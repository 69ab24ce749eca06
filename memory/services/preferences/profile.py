"""Builds a user's profile: the stored preferences of the user, each with its evidence."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from memory.enums import PreferenceSource
from memory.kinds import PREFERENCE_KEY
from memory.models import Memory, UserNamespace
from memory.models.paging import page_of
from memory.services.facts.sources import sources_of
from memory.services.memories.change import state_of
from memory.services.tenancy.users import find_user
from memory.text import choices
from memory.types import Access

# Each further turn that states a preference adds this to its strength.
SAID_AGAIN = 0.05
# The strength of a preference whose metadata do not state one.
USUAL_STRENGTH = 0.5


@dataclass(frozen=True, slots=True)
class ProfileFilter:
    """The wanted preferences, `limit` a page. `current`: True for preferences that hold now, False for others, None for
    both."""

    limit: int
    current: bool | None = True
    attitude: str | None = None
    cursor: uuid.UUID | None = None


def read_profile(access: Access, *, user_id: uuid.UUID, wanted: ProfileFilter, now: datetime) -> dict[str, Any]:
    """Return the preferences of a user, newest first, from the user's namespaces that the caller reaches.

    A preference belongs to the user if its speaker has the user's name or display name or, in the user's other
    namespaces, no name. Raises NotFound for a user whom the caller does not see.
    """
    user = find_user(access, user_id=user_id)
    names = [name for name in (user.name, user.display_name) if name]
    others = UserNamespace.objects.reachable_by(access).filter(user_id=user.pk).values_list("namespace_id", flat=True)
    own = Q(namespace_id=user.namespace_id, speaker__in=names) | Q(
        namespace_id__in=list(others), speaker__in=[*names, ""]
    )
    rows = Memory.objects.reachable_by(access).preferences().active().filter(own)
    if wanted.current is not None:
        holds = Q(valid_to=None) | Q(valid_to__gt=now)
        rows = rows.filter(holds if wanted.current else ~holds)
    if wanted.attitude is not None:
        rows = rows.filter(**{f"metadata__{PREFERENCE_KEY}__attitude": wanted.attitude})
    if wanted.cursor is not None:
        rows = rows.filter(pk__lte=wanted.cursor)
    page, following = page_of(rows.order_by("-pk").select_related("namespace"), wanted.limit)
    sources = sources_of({row.namespace_id for row in page}, [row.pk for row in page])
    turns = Memory.objects.reachable_by(access).active().filter(pk__in=[one for own in sources.values() for one in own])
    holding = set(turns.filter(superseded_by=None).values_list("pk", flat=True))
    return {
        "user_id": str(user.pk),
        "name": user.name,
        "preferences": [_line(row, sources.get(row.pk, []), holding) for row in page],
        "next_cursor": str(following.pk) if following else None,
    }


def find_source(said: Mapping[str, Any]) -> PreferenceSource:
    """Return how a preference was found, by its record in the metadata; without an entry it was stated."""
    by_choices = said.get("shown_by") == PreferenceSource.CHOICES
    return PreferenceSource.CHOICES if by_choices else PreferenceSource.STATEMENT


def _line(memory: Memory, evidence: Sequence[uuid.UUID], holding: Collection[uuid.UUID]) -> dict[str, Any]:
    """Return a preference with the turns that it rests on, oldest first; the ones in `holding` strengthen it."""
    said = memory.metadata.get(PREFERENCE_KEY)
    said = said if isinstance(said, dict) else {}
    strength = said.get("strength")
    strength = float(strength) if isinstance(strength, int | float) else USUAL_STRENGTH
    further = max(0, sum(one in holding for one in evidence) - 1)
    source = find_source(said)
    if source == PreferenceSource.CHOICES:
        strength = min(choices.MOST, strength + choices.STEP * further)
    else:
        strength += SAID_AGAIN * further
    standing = state_of(memory)
    return {
        "memory_id": str(memory.pk),
        "namespace": memory.namespace.name,
        "text": memory.live,
        "attitude": str(said.get("attitude", "")),
        "object": str(said.get("object", "")),
        "wanted": bool(said.get("wanted")),
        "scope": str(said.get("scope", "")),
        "strength": round(max(0.0, min(1.0, strength)), 4),
        "shown_by": source.value,
        "evidence": [str(identity) for identity in evidence],
        "valid_from": memory.holds_from.isoformat(),
        "valid_to": standing["valid_to"],
        "superseded_by": standing["superseded_by"],
        "revision": memory.revision,
    }
