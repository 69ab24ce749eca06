"""Measures the benefit of activation caches by the records of calls: how often a prefix was cached, and the time to
first token."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from memory.models.keys import first_id_of
from memory.models.sql import fetch
from memory.services.activation.use import HIT_SHARE
from memory.types import Scope

DAYS = 30

_FIGURES = """
SELECT count(*) FILTER (WHERE given),
       count(*) FILTER (WHERE hit),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY c.ttft_ms) FILTER (WHERE hit),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY c.ttft_ms) FILTER (WHERE given AND NOT hit),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY c.ttft_ms) FILTER (WHERE NOT given),
       coalesce(sum(c.cached_tokens) FILTER (WHERE hit), 0)
FROM memory_modelcall c,
LATERAL (SELECT c.activation_tokens IS NOT NULL AS given,
                coalesce(c.activation_tokens IS NOT NULL AND c.cached_tokens >= %(share)s * c.activation_tokens, false)
                    AS hit) AS f
WHERE c.namespace_id = %(namespace_id)s AND c.id >= %(oldest)s AND c.provider = 'llamacpp' AND c.purpose = 'answer'
  AND c.status = 'ok' AND (given OR c.ttft_ms IS NOT NULL)
"""


def read_figures(scope: Scope, *, now: datetime) -> dict[str, Any]:
    """Return the figures of the namespace's answers by llama.cpp in the last DAYS, as far as calls are recorded.

    `calls` were given a cache; in `hits` of them the model had nearly all of it (HIT_SHARE). `ttft_ms`: medians in
    milliseconds, including the restoring, for hits, misses and calls without a cache; None without calls.
    """
    days = min(DAYS, settings.MEMOS_MODEL_CALLS_DAYS)
    parameters = {
        "namespace_id": scope.namespace_id, "oldest": first_id_of(now - timedelta(days=days)), "share": HIT_SHARE,
    }  # fmt: skip
    ((calls, hits, hit_ms, miss_ms, without_ms, saved),) = fetch(_FIGURES, parameters, prepared=False)
    return {
        "days": days,
        "calls": calls,
        "hits": hits,
        "hit_rate": round(hits / calls, 4) if calls else None,
        "cached_tokens": int(saved),
        "ttft_ms": {"hit": _whole(hit_ms), "miss": _whole(miss_ms), "without": _whole(without_ms)},
    }


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
