"""SQL of namespaces and callers: names and ids, keys and shares, quotas and policies."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import date, datetime
from typing import Any

from memory.models.arrays import number_array
from memory.models.sql import fetch

BY_NAME = "SELECT id FROM memory_namespace WHERE name = %(name)s"
_NAME_OF = "SELECT name FROM memory_namespace WHERE id = %(id)s"
# Locks namespaces against deletion until the transaction ends. Statements that store rows begin with it, and store
# nothing if a namespace is missing, because a caller may have waited for a model meanwhile, and not every table has a
# foreign key.
KEEP_NAMESPACES = """
SELECT id FROM memory_namespace WHERE id = ANY (%(namespace_ids)s::bigint[]) ORDER BY id FOR KEY SHARE
"""


def find_namespace_id(name: str) -> int | None:
    """Returns the id of a namespace, or None; runs before row-level security is told the namespaces in reach."""
    rows = fetch(BY_NAME, {"name": name}, prepared=True, of_tenants=False)
    return int(rows[0][0]) if rows else None


def find_namespace_name(namespace_id: int) -> str | None:
    """Returns the name of a namespace, or None, as `find_namespace_id` does."""
    rows = fetch(_NAME_OF, {"id": namespace_id}, prepared=True, of_tenants=False)
    return str(rows[0][0]) if rows else None


def keep_namespaces(namespace_ids: Collection[int]) -> int:
    """Locks namespaces against deletion until the transaction ends; returns the number that exist."""
    return len(fetch(KEEP_NAMESPACES, {"namespace_ids": number_array(sorted(namespace_ids))}, prepared=True))


# Reads the newest policy of each namespace, and the usage of the quotas that it sets.
_NEARLY_USED = """
WITH limits AS (
    SELECT n.id, n.name, coalesce((p.overrides ->> %(memories)s)::bigint, %(memories_anywhere)s) AS memories,
           coalesce((p.overrides ->> %(writes)s)::bigint, %(writes_anywhere)s) AS writes
    FROM memory_namespace n
    LEFT JOIN LATERAL (
        SELECT overrides FROM memory_namespacepolicy p WHERE p.namespace_id = n.id ORDER BY version DESC LIMIT 1
    ) p ON true
    WHERE %(everywhere)s::bool OR n.id = ANY(%(reached)s::bigint[])
), used AS (
    SELECT l.name, %(memories)s AS key, l.memories AS most,
           (SELECT coalesce(sum(s.memories), 0) FROM memory_namespacestat s WHERE s.namespace_id = l.id) AS used
    FROM limits l WHERE l.memories > 0
    UNION ALL
    SELECT l.name, %(writes)s, l.writes, w.memories
    FROM limits l JOIN memory_writesofday w ON w.namespace_id = l.id AND w.day = %(today)s WHERE l.writes > 0
)
SELECT name, key, used, most FROM used WHERE used >= %(share)s::float8 * most ORDER BY used / most DESC, name
LIMIT %(limit)s
"""
_STANDINGS = """
SELECT n.name, coalesce(p.version, 0), coalesce(p.overrides, '{}')::text,
       coalesce(p.updated_by, ''), p.updated_at
FROM memory_namespace n
LEFT JOIN LATERAL (
    SELECT * FROM memory_namespacepolicy p WHERE p.namespace_id = n.id ORDER BY p.version DESC LIMIT 1
) p ON true
WHERE %(everywhere)s::bool OR n.id = ANY(%(namespaces)s::bigint[])
ORDER BY n.name LIMIT %(limit)s
"""


def list_nearly_used(
    namespaces: Collection[int] | None,
    *,
    keys: tuple[str, str],
    defaults: tuple[int, int],
    today: date,
    share: float,
    limit: int,
) -> list[tuple[str, str, int, int]]:
    """Lists quotas (None: of all namespaces) used to at least `share`, fullest first: (name, key, used, limit).

    `keys`: the policy keys of the quotas of memories and of daily writes. `defaults`: their values for namespaces that
    do not override them.
    """
    parameters = {
        "memories": keys[0],
        "memories_anywhere": defaults[0],
        "writes": keys[1],
        "writes_anywhere": defaults[1],
        "everywhere": namespaces is None,
        "reached": sorted(namespaces or ()),
        "today": today,
        "share": share,
        "limit": limit,
    }
    return fetch(_NEARLY_USED, parameters, prepared=False)


def list_policies(
    namespaces: Collection[int] | None, *, limit: int
) -> list[tuple[str, int, str, str, datetime | None]]:
    """Lists namespaces (None: all) with their newest policy: (name, version, overrides as JSON, actor, time)."""
    parameters: dict[str, Any] = {
        "everywhere": namespaces is None,
        "namespaces": sorted(namespaces or ()),
        "limit": limit,
    }
    return fetch(_STANDINGS, parameters, prepared=False)


_KEY = """
SELECT k.id, k.digest, k.scopes, k.all_namespaces, k.requests_per_minute, k.expires_at, k.revoked_at, k.last_used_at,
       k.owner_id, k.default_namespace,
       ARRAY(SELECT n.namespace_id FROM memory_apikey_namespaces n WHERE n.apikey_id = k.id)
FROM memory_apikey k WHERE k.prefix = %(prefix)s
"""
_SHARED = """
SELECT namespace_id, level FROM memory_cubeshare
WHERE user_id = %(user_id)s AND (expires_at IS NULL OR expires_at > %(now)s)
ORDER BY namespace_id
"""


def find_key(prefix: str) -> tuple[Any, ...] | None:
    """Finds an API key by its prefix; returns None if there is none.

    Returns (id, digest, scopes, whether it reaches all namespaces, requests a minute, expiry, revocation, last use,
    owner, default namespace, ids of namespaces).
    """
    rows = fetch(_KEY, {"prefix": prefix}, prepared=True, of_tenants=False)
    return rows[0] if rows else None


def list_shared(user_id: uuid.UUID, *, now: datetime) -> list[tuple[int, str]]:
    """Lists the shares of a user that are in force: (namespace id, level). It reads rows of all namespaces."""
    return fetch(_SHARED, {"user_id": user_id, "now": now}, prepared=True)
