"""SQL of namespaces, and of who calls: names and ids, keys and shares, quotas and policies."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import date, datetime
from typing import Any

from memory.models.arrays import number_array
from memory.models.sql import fetch

BY_NAME = "SELECT id FROM memory_namespace WHERE name = %(name)s"
_NAME_OF = "SELECT name FROM memory_namespace WHERE id = %(id)s"
# Finds namespaces, and keeps them from going before the transaction ends. Statements that store rows begin with it, and
# store nothing when a namespace is missing: a caller who waits for a model first may come too late, and not every table
# has a foreign key.
KEEP_NAMESPACES = """
SELECT id FROM memory_namespace WHERE id = ANY (%(namespace_ids)s::bigint[]) ORDER BY id FOR KEY SHARE
"""


def find_namespace_id(name: str) -> int | None:
    """Finds the id of a namespace, before PostgreSQL is told whose rows may be touched."""
    rows = fetch(BY_NAME, {"name": name}, prepared=True, of_tenants=False)
    return int(rows[0][0]) if rows else None


def find_namespace_name(namespace_id: int) -> str | None:
    """Finds the name of a namespace, as `find_namespace_id` does."""
    rows = fetch(_NAME_OF, {"id": namespace_id}, prepared=True, of_tenants=False)
    return str(rows[0][0]) if rows else None


def keep_namespaces(namespace_ids: Collection[int]) -> int:
    """Keeps namespaces from going until the transaction ends; returns how many of them there are."""
    return len(fetch(KEEP_NAMESPACES, {"namespace_ids": number_array(sorted(namespace_ids))}, prepared=True))


# Reads the newest policy of each namespace, and counts where it sets a limit.
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
    """Lists quotas (None: of all namespaces) of which `share` is used, the fullest first: (name, key, used, limit).

    `keys` and `defaults`: the policy's names of the two quotas, of memories and of a day, and their values elsewhere.
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
    """Lists namespaces (None: all) with their newest policy: (name, version, overrides, actor, moment)."""
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
    """Finds an API key by its prefix.

    Returns (id, digest, scopes, whether it reaches all namespaces, requests a minute, expiry, revocation, last use,
    owner, default namespace, namespaces).
    """
    rows = fetch(_KEY, {"prefix": prefix}, prepared=True, of_tenants=False)
    return rows[0] if rows else None


def list_shared(user_id: uuid.UUID, *, now: datetime) -> list[tuple[int, str]]:
    """Lists what is shared with a user now: (namespace id, level). Reads rows of every namespace."""
    return fetch(_SHARED, {"user_id": user_id, "now": now}, prepared=True)
