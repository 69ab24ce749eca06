"""SQL of usage: the sums of each day, and their totals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from typing import Any

from memory.enums import UsageGroup
from memory.models.sql import change_rows, fetch
from memory.models.usage import ModelCall

# The column or expression by which each group is formed.
_COLUMNS: dict[UsageGroup, str] = {
    UsageGroup.DAY: "u.day::text",
    UsageGroup.KEY: "coalesce('key:' || k.prefix, '')",
    UsageGroup.NAMESPACE: "coalesce(n.name, '')",
    UsageGroup.PURPOSE: "u.purpose",
    UsageGroup.MODEL: "u.provider || '/' || u.model",
}
_TOTALS = """
SELECT * FROM (
    SELECT ARRAY[{columns}]::text[] AS parts, sum(calls), sum(failed), sum(unpriced), sum(prompt_tokens),
           sum(cached_tokens), sum(completion_tokens), sum(cost)
    FROM memory_usageday u
    LEFT JOIN memory_namespace n ON n.id = u.namespace_id
    LEFT JOIN memory_apikey k ON k.id = u.key_id
    WHERE u.day >= %(since)s AND u.day <= %(until)s
      AND (%(everywhere)s::bool OR u.namespace_id = ANY(%(namespaces)s::bigint[]))
    GROUP BY 1
) AS totals
WHERE %(after)s::text[] IS NULL OR parts COLLATE "C" > %(after)s::text[] COLLATE "C"
ORDER BY parts COLLATE "C" LIMIT %(limit)s
"""
_ADD = """
INSERT INTO memory_usageday AS d (namespace_id, day, key_id, purpose, kind, provider, model, calls, failed, unpriced,
                                  prompt_tokens, cached_tokens, completion_tokens, cost)
VALUES (%s, %s, %s, %s, %s, %s, %s, 1, %s, %s, %s, %s, %s, %s)
ON CONFLICT (namespace_id, day, key_id, purpose, kind, provider, model) DO UPDATE SET
    calls = d.calls + 1,
    failed = d.failed + excluded.failed,
    unpriced = d.unpriced + excluded.unpriced,
    prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
    cached_tokens = d.cached_tokens + excluded.cached_tokens,
    completion_tokens = d.completion_tokens + excluded.completion_tokens,
    cost = d.cost + excluded.cost
"""


def list_totals(
    groups: Sequence[UsageGroup],
    namespaces: Collection[int] | None,
    *,
    since: date,
    until: date,
    after: Sequence[str] | None,
    limit: int,
) -> list[tuple[Any, ...]]:
    """Sums calls by the groups, for some namespaces or for all (None), in the order of the groups' values.

    `after`: the values after which the page begins. Returns (values, calls, failed, unpriced, prompt tokens, cached
    tokens, completion tokens, cost).
    """
    columns = ", ".join(_COLUMNS[group] for group in groups) or "''"
    parameters = {
        "since": since,
        "until": until,
        "everywhere": namespaces is None,
        "namespaces": list(namespaces or ()),
        "after": None if after is None else list(after),
        "limit": limit,
    }
    return fetch(_TOTALS.format(columns=columns), parameters, prepared=False)


def add_call(call: ModelCall, *, day: date, failed: bool) -> None:
    """Adds a call to the sums of its day."""
    change_rows(
        _ADD,
        [
            *(call.namespace_id, day, call.key_id or 0, call.purpose, call.kind, call.provider, call.model),
            *(int(failed), int(call.prompt_tokens is not None and call.cost is None)),
            *(call.prompt_tokens or 0, call.cached_tokens or 0, call.completion_tokens or 0, call.cost or 0),
        ],
    )
