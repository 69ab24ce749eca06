"""Selects the memories that a number of the console counts, by a value in the address of the admin's list: `?picked=…`.

    cluster:3                               a cluster of the namespace's map
    selection:k3v…                          a selection on the map, kept in the login session
    fading:at=…;age=7..30;strength=0..0.1   a cell of the decay grid; without a band, a total of it
    fading:at=…;due=1;floor=0.1             the memories that a sweep would archive then, under this policy

All except a selection belong to the namespace in the same address (`namespace=`).
"""

from __future__ import annotations

import base64
import math
import secrets
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.sessions.backends.base import SessionBase
from django.urls import reverse

from memory.errors import InvalidInput
from memory.models import Memory
from memory.models.memory import MemoryQuerySet
from memory.services.projection import read
from memory.services.retention import forecast
from memory.services.retention.forecast import Band
from memory.services.tenancy.policy import governing
from memory.types import Access, Scope
from ops.moments import read_moment
from ops.what_if import policy_with, read_changes

PARAMETER = "picked"
# Proxies accept request lines of 4,000 characters or more. Larger lists of ids are stored as a selection.
MAX_IN_ADDRESS = 100
MAX_SELECTED = 10_000
_KEPT_SELECTIONS = 3
_SELECTIONS = "ops-selections"


class NotPicked(ValueError):
    """Raised for a malformed value, or for a selection that is no longer kept."""


def link(scope: Scope, value: str) -> str:
    """Return the admin's list of the memories that `value` selects in the namespace."""
    return f"{reverse('admin:memory_memory_changelist')}?{urlencode({'namespace': scope.namespace, PARAMETER: value})}"


def link_of_ids(session: SessionBase, ids: Sequence[uuid.UUID]) -> str:
    """Return the admin's list of these memories: by id, or as a selection if they are many."""
    query = (
        {"pk__in": ",".join(one.hex for one in ids)}
        if len(ids) <= MAX_IN_ADDRESS
        else {PARAMETER: f"selection:{keep(session, ids)}"}
    )
    return f"{reverse('admin:memory_memory_changelist')}?{urlencode(query, safe=',')}"


def keep(session: SessionBase, ids: Sequence[uuid.UUID]) -> str:
    """Store a selection in a login session, together with the latest few; return its key."""
    key = secrets.token_urlsafe(9)
    kept = dict(list(session.get(_SELECTIONS, {}).items())[-(_KEPT_SELECTIONS - 1) :])
    kept[key] = base64.b85encode(b"".join(one.bytes for one in ids[:MAX_SELECTED])).decode()
    session[_SELECTIONS] = kept
    return key


def cluster(number: int) -> str:
    return f"cluster:{number}"


def cell(at: datetime, age: Band | None = None, strength: Band | None = None) -> str:
    """Return the value for a cell of the grid: with one band a row or column, without bands the whole."""
    bands = {"age": age, "strength": strength}
    parts = [f"at={at.isoformat()}", *(f"{name}={_write_band(band)}" for name, band in bands.items() if band)]
    return f"fading:{';'.join(parts)}"


def due_at(at: datetime, changed: Mapping[str, object] | None = None) -> str:
    """Return the value for memories that are due. `changed` are policy values to try, by name in `what_if.FIELDS`."""
    parts = [f"at={at.isoformat()}", "due=1", *(f"{name}={value}" for name, value in (changed or {}).items())]
    return f"fading:{';'.join(parts)}"


def memories(value: str, *, scope: Scope | None, session: SessionBase, access: Access) -> MemoryQuerySet:
    """Return the memories that `value` selects. `scope` is the namespace in the address. Raises NotPicked."""
    what, _, which = value.partition(":")
    if what == "selection":
        stored = session.get(_SELECTIONS, {}).get(which)
        if stored is None:
            raise NotPicked(value)
        every = base64.b85decode(stored)
        ids = [uuid.UUID(bytes=every[start : start + 16]) for start in range(0, len(every), 16)]
        chosen: MemoryQuerySet = Memory.objects.reachable_by(access).filter(pk__in=ids)
        return chosen
    if scope is None:
        raise NotPicked(value)
    if what == "cluster" and which.isdecimal():
        return read.of_cluster(scope, number=min(int(which), 32_767))
    if what == "fading":
        try:
            return _fading(scope, dict(part.split("=", 1) for part in which.split(";")))
        except (ValueError, KeyError, InvalidInput) as error:
            raise NotPicked(value) from error
    raise NotPicked(value)


def _fading(scope: Scope, parts: Mapping[str, str]) -> MemoryQuerySet:
    governs = governing(scope.namespace_id)
    at = read_moment(parts["at"])
    return forecast.rows(
        scope,
        policy_with(governs, read_changes(governs, parts)),
        now=at,
        age=_read(parts["age"]) if "age" in parts else None,
        strength=_read(parts["strength"]) if "strength" in parts else None,
        is_due="due" in parts,
    )


def _write_band(band: Band) -> str:
    return f"{band[0]}..{'' if band[1] is None else band[1]}"


def _read(text: str) -> Band:
    low, high = text.split("..")
    band = (float(low), float(high) if high else None)
    if not all(math.isfinite(end) for end in band if end is not None):
        raise ValueError(text)
    return band
