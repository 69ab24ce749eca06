"""Stores people's judgements of hits, relevant or not for a question, which form a namespace's own test set."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from memory import audit
from memory.enums import AuditEvent
from memory.errors import NotFound
from memory.models import Memory, RelevanceJudgement
from memory.models.evaluation import normal_question, query_hash
from memory.models.keys import new_id
from memory.models.paging import narrow
from memory.models.sql import fetch
from memory.services.memories import usage
from memory.types import Access, ListFilter, Scope


@dataclass(frozen=True, slots=True)
class Mark:
    """A memory, and whether it answers the question."""

    memory_id: uuid.UUID
    relevant: bool


def judge(scope: Scope, *, query_text: str, marks: Sequence[Mark], now: datetime) -> list[uuid.UUID]:
    """Store judgements of one question's hits, all or none; a new judgement of a memory replaces its former one.

    Returns the judgements' ids in the order of `marks`. If a memory is named twice, the last mark counts. Raises
    NotFound when the namespace does not have one of the memories.
    """
    latest = {mark.memory_id: mark.relevant for mark in marks}
    digest = query_hash(query_text)
    with transaction.atomic():
        # Lock them until the marks are stored: a concurrent reset waits, and deletes the marks too.
        held = Memory.objects.in_scope(scope).filter(pk__in=latest).order_by("pk").select_for_update(no_key=True)
        missing = sorted(map(str, latest.keys() - set(held.values_list("pk", flat=True))))
        if missing:
            raise NotFound(f"The namespace {scope.namespace!r} has no memory {missing[0]}.", detail={"field": "marks"})
        RelevanceJudgement.objects.bulk_create(
            [
                RelevanceJudgement(
                    id=new_id(),
                    namespace_id=scope.namespace_id,
                    query_text=query_text,
                    query_hash=digest,
                    memory_id=memory_id,
                    relevant=relevant,
                    actor=scope.actor,
                    created_at=now,
                )
                for memory_id, relevant in sorted(latest.items())
            ],
            update_conflicts=True,
            unique_fields=["namespace", "query_hash", "memory"],
            update_fields=["relevant", "actor", "created_at"],
        )
        usage.note_marked(scope, memory_ids=latest)
        stored = dict(
            RelevanceJudgement.objects.in_scope(scope)
            .filter(query_hash=digest, memory_id__in=latest)
            .values_list("memory_id", "id")
        )
        audit.record(
            scope,
            AuditEvent.MEMORY_JUDGE,
            subject=audit.hash_words(scope, "question", normal_question(query_text)),
            details={
                "relevant": [str(memory_id) for memory_id, relevant in latest.items() if relevant],
                "not_relevant": [str(memory_id) for memory_id, relevant in latest.items() if not relevant],
            },
            now=now,
        )
    return [stored[mark.memory_id] for mark in marks]


def list_judgements(access: Access, *, wanted: ListFilter) -> list[dict[str, Any]]:
    """Return the newest judgements of the namespaces that the caller reaches. Raises NotFound for one it does not
    reach."""
    rows = narrow(RelevanceJudgement.objects.reachable_by(access), access, wanted).select_related("namespace")
    return [
        {
            "id": str(row.pk),
            "namespace": row.namespace.name,
            "query": row.query_text,
            "memory_id": str(row.memory_id),
            "relevant": row.relevant,
            "actor": row.actor,
            "created_at": row.created_at.isoformat(),
        }
        for row in rows[: wanted.limit]
    ]


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question with its judgements: the numbers of relevant and irrelevant memories, and the last judge."""

    namespace: str
    query_hash: str
    text: str
    relevant: int
    not_relevant: int
    actor: str
    marked_at: datetime


_QUESTIONS = """
SELECT n.name, j.query_hash, (array_agg(j.query_text ORDER BY j.id DESC))[1], count(*) FILTER (WHERE j.relevant),
       count(*) FILTER (WHERE NOT j.relevant), (array_agg(j.actor ORDER BY j.created_at DESC))[1], max(j.created_at)
FROM memory_relevancejudgement j JOIN memory_namespace n ON n.id = j.namespace_id
WHERE %(everywhere)s::bool OR j.namespace_id = ANY(%(namespaces)s::bigint[])
GROUP BY 1, 2 ORDER BY 7 DESC, 2 LIMIT %(limit)s
"""


def questions(access: Access, *, limit: int) -> list[JudgedQuestion]:
    """Return the most recently judged questions, with the numbers of their judgements."""
    parameters = {"everywhere": access.all_namespaces, "namespaces": sorted(access.namespace_ids), "limit": limit}
    return [JudgedQuestion(*row) for row in fetch(_QUESTIONS, parameters, prepared=False)]


def marks(access: Access) -> tuple[int, int]:
    """Return the numbers of judged questions, and of judgements."""
    rows = RelevanceJudgement.objects.reachable_by(access)
    return rows.order_by().values("namespace_id", "query_hash").distinct().count(), rows.count()


def question_texts(scope: Scope, *, hashes: Iterable[str]) -> dict[str, str]:
    """Return the texts of a namespace's questions by hash, as far as they are still judged."""
    rows = RelevanceJudgement.objects.in_scope(scope).filter(query_hash__in=list(hashes))
    return dict(rows.values_list("query_hash", "query_text"))


def read_judged_questions(scope: Scope) -> dict[str, tuple[str, dict[str, float]]]:
    """Return each question with a relevant memory, by its hash: its text, and the grade (1 or 0) of each judged memory.

    Archived memories are left out, because retrieval does not return them on purpose.
    """
    questions: dict[str, tuple[str, dict[str, float]]] = {}
    rows = (
        RelevanceJudgement.objects.in_scope(scope)
        .filter(memory_id__in=Memory.objects.in_scope(scope).active().values("pk"))
        .order_by("query_hash", "memory_id")
    )
    for digest, text, memory_id, relevant in rows.values_list("query_hash", "query_text", "memory_id", "relevant"):
        questions.setdefault(digest, (text, {}))[1][str(memory_id)] = float(relevant)
    return {digest: entry for digest, entry in questions.items() if any(entry[1].values())}
