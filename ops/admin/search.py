"""Finds memories for staff: by words through the postings, by id, by session, by speaker."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import QuerySet

from memory.models import Namespace, Session
from memory.text.analysis import terms

CAP = 10_000
MAX_TERMS = 32
MAX_SESSIONS = 1000


@dataclass(frozen=True, slots=True)
class Found:
    """The narrowed rows, and what staff should know about them."""

    rows: QuerySet
    note: str = ""


def search(rows: QuerySet, text: str, *, namespace_ids: list[int] | None, archived: bool) -> Found:
    """Memories of `rows` that have all words of `text` (newest CAP), or the id, `session:NAME` or `speaker:NAME`.

    The postings hold searchable memories only; with `archived` the stored terms of the rows are read instead.
    """
    text = text.strip().replace("\0", "")
    try:
        return Found(rows.filter(pk=uuid.UUID(text)))
    except ValueError:
        pass
    prefix, _, rest = text.partition(":")
    if prefix == "session" and rest:
        return Found(_in_session(rows, rest.strip(), namespace_ids))
    speaker = rest.strip() if prefix == "speaker" and rest else ""
    wanted = list(dict.fromkeys(terms(speaker or text)))[:MAX_TERMS]
    if speaker:
        rows = rows.filter(speaker=speaker)
    if not wanted:
        return Found(rows.none(), "There is no word in it to search for: very common words are not in the index.")
    if archived:
        return Found(rows.filter(terms__contains=wanted))
    ids = with_all_terms(wanted, namespace_ids=namespace_ids)
    if len(ids) > CAP:
        return Found(rows.filter(pk__in=ids), f"More than {CAP:,} memories match: these are among the newest {CAP:,}.")
    note = "" if ids else "Nothing matches. Archived memories are searched when the list is filtered by that state."
    return Found(rows.filter(pk__in=ids), note)


# The key of the postings, (namespace, term, memory), is read backwards from the newest memory of the rarest term; the
# other terms are looked up for each. So a search costs what its rarest word costs, and never more than CAP matches.
_MATCHING = """
SELECT found.memory_id
FROM unnest(%(namespace_ids)s::bigint[]) AS n (id)
CROSS JOIN LATERAL (
    SELECT p.memory_id FROM memory_posting p
    WHERE p.namespace_id = n.id AND p.term = %(rarest)s
      AND (SELECT count(*) FROM memory_posting o
           WHERE o.namespace_id = n.id AND o.term = ANY(%(others)s) AND o.memory_id = p.memory_id) = %(other_count)s
    ORDER BY p.memory_id DESC LIMIT %(limit)s
) AS found
ORDER BY found.memory_id DESC LIMIT %(limit)s
"""

_COUNTS = """
SELECT t.term, (
    SELECT count(*) FROM (
        SELECT 1 FROM unnest(%(namespace_ids)s::bigint[]) AS n (id)
        JOIN memory_posting p ON p.namespace_id = n.id AND p.term = t.term
        LIMIT %(limit)s
    ) AS counted
)
FROM unnest(%(terms)s::text[]) AS t (term)
"""


def with_all_terms(wanted: Sequence[str], *, namespace_ids: list[int] | None) -> list[uuid.UUID]:
    """Searchable memories that have every term, newest first: CAP of them, and one more if there are more."""
    if namespace_ids is None:
        namespace_ids = list(Namespace.objects.order_by().values_list("pk", flat=True))
    limit = CAP + 1
    with connection.cursor() as cursor:
        rarest = wanted[0]
        if len(wanted) > 1:
            cursor.execute(_COUNTS, {"namespace_ids": namespace_ids, "terms": list(wanted), "limit": limit})
            rarest, _ = min(cursor.fetchall(), key=lambda row: row[1])
        others = [term for term in wanted if term != rarest]
        cursor.execute(
            _MATCHING,
            {
                "namespace_ids": namespace_ids,
                "rarest": rarest,
                "others": others,
                "other_count": len(others),
                "limit": limit,
            },
        )
        return [memory_id for (memory_id,) in cursor.fetchall()]


def _in_session(rows: QuerySet, name: str, namespace_ids: list[int] | None) -> QuerySet:
    sessions = Session.objects.filter(name=name)
    if namespace_ids is not None:
        sessions = sessions.filter(namespace_id__in=namespace_ids)
    holding = list(sessions.values_list("namespace_id", flat=True)[:MAX_SESSIONS])
    return rows.filter(namespace_id__in=holding, session=name)
