"""Defines the SQL for what a memory `m` said at a moment: its text by `as_of`, and which statements of it no longer
held."""

from __future__ import annotations

# A change keeps the text that it replaced: the first one kept after a moment is the text of that moment.
TEXT_THEN = """coalesce((
    SELECT v.text FROM memory_memoryversion v
    WHERE v.namespace_id = m.namespace_id AND v.memory_id = m.id AND v.replaced_at > %(as_of)s::timestamptz
    ORDER BY v.replaced_at LIMIT 1
), m.text)"""


# A statement `r` that had been retired.
WAS_RETIRED = """coalesce(r.retired_at <= %(as_of)s::timestamptz, true)
      AND r.valid_to <= coalesce(%(valid_at)s::timestamptz, %(as_of)s::timestamptz)
      AND (r.withdrawn_at IS NULL OR r.withdrawn_at > %(as_of)s::timestamptz)"""

# A former text (see above) is read whole: the places of its retired statements are not recorded.
RETIRED_THEN = f"""(
    SELECT array_agg(place ORDER BY r.start, place)
    FROM memory_retiredstatement r, unnest(ARRAY[r.start, r."end"]) place
    WHERE r.namespace_id = m.namespace_id AND r.memory_id = m.id
      AND {WAS_RETIRED}
      AND NOT EXISTS (
          SELECT FROM memory_memoryversion v
          WHERE v.namespace_id = m.namespace_id AND v.memory_id = m.id AND v.replaced_at > %(as_of)s::timestamptz)
)"""  # noqa: S608 - put together from constants
