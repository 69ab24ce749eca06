"""Decides in which time zone a request's days are: the request's own, its user's, or the namespace's."""

from __future__ import annotations

import uuid
from datetime import tzinfo

from django.conf import settings

from memory.caches import Cache, for_seconds
from memory.models import User
from memory.postgresql import reach
from memory.services.tenancy.policy import in_force
from memory.text.zones import problem_of_zone, read_zone

# The key of a user's preferences that names the zone.
PREFERENCE = "timezone"
# The time for which a process uses a user's zone after another process has changed it.
KNOWN_SECONDS = 2.0

# Zones by user; '' for a user without one.
_zones: Cache[uuid.UUID, str] = for_seconds(KNOWN_SECONDS)


def find_zone(namespace_id: int | None, *, user_id: uuid.UUID | None = None, asked: tzinfo | None = None) -> tzinfo:
    """Return the zone that the request asks for, else that of the key's user, else that of the policy.

    Without a namespace the policy is the server's.
    """
    if asked is not None:
        return asked
    if user_id is not None and (name := _find_name(user_id)):
        return read_zone(name)
    return zone_of(namespace_id)


def zone_of(namespace_id: int | None) -> tzinfo:
    """Return the zone of the namespace's policy; without a namespace, the server's."""
    if namespace_id is None:
        return read_zone(str(settings.MEMOS_POLICY["timezone"]))
    return read_zone(in_force(namespace_id).policy.timezone)


def _find_name(user_id: uuid.UUID) -> str:
    known = _zones.get(user_id)
    if known is not None:
        return known
    # The user is the caller, and may belong to a namespace that the key does not reach.
    with reach.across_namespaces():
        rows = User.objects.across_namespaces().filter(pk=user_id)
        name = rows.values_list(f"preferences__{PREFERENCE}", flat=True).first()
    return _zones.put(user_id, "" if problem_of_zone(name) else str(name))
