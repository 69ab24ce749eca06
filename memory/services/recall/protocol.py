"""Implements the three-tier protocol: content passes the gate; questions are answered from hot and cold memory."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from memory import audit
from memory.enums import AuditEvent, GateDecision, Role
from memory.postgresql.time_limit import limit_statements
from memory.retrieval.arms import dense
from memory.retrieval.excerpts import excerpt_texts
from memory.services.ingestion.documents import put_document
from memory.services.ingestion.ingest import ingest
from memory.services.recall.search import Ask, questions
from memory.services.recall.working_memory import newest_ids, texts_of, why_asked
from memory.stores.working import RepeatedAsking
from memory.text.excerpts import MAX_HIT_CHARS
from memory.types import Idempotency, NewDocument, NewMemory, Scope

SESSION = "default"
HOT, COLD = "hot", "cold"
HOT_ITEMS = 10
COLD_ITEMS = 5


@dataclass(frozen=True, slots=True)
class TakenIn:
    """The result of storing a content: a `memory_id` for a turn, a `document_id` for a document, neither if it was
    rejected.

    The `memory_id` of quarantined content is that of its item in the quarantine.
    """

    accepted: bool
    verdict: GateDecision
    memory_id: uuid.UUID | None
    document_id: str | None
    reasons: list[dict[str, str]]
    degraded: list[str]


@dataclass(frozen=True, slots=True)
class Recalled:
    """One remembered text; of a long one, the part that answers.

    `score` is 1 for hot memories, and 1 − cosine distance for cold ones. `why` gives the origin of the text.
    """

    content: str
    source: str
    score: float
    why: str


def take_in(scope: Scope, *, content: str, now: datetime, idempotency: Idempotency | None = None) -> TakenIn:
    """Remember a content in the session SESSION: as a turn, or as a document if it is longer than a hit may be.

    Raises what `ingest` and `put_document` raise.
    """
    if len(content) > MAX_HIT_CHARS:
        document = NewDocument(text=content, session=SESSION)
        stored = put_document(scope, document=document, now=now, idempotency=idempotency)
        verdict = GateDecision(stored.verdict)
        return TakenIn(
            stored.accepted,
            verdict,
            uuid.UUID(stored.quarantine_id) if stored.quarantine_id else None,
            None if verdict == GateDecision.REJECT else stored.document_id,
            stored.reasons,
            stored.degraded,
        )
    memory = NewMemory(session=SESSION, role=Role.USER.value, text=content)
    done = ingest(scope, memory=memory, now=now, idempotency=idempotency)
    [outcome] = done.outcomes
    return TakenIn(outcome.accepted, outcome.verdict, outcome.memory_id, None, outcome.reasons, done.degraded)


def recall(scope: Scope, *, query: str, now: datetime) -> list[Recalled]:
    """Return the newest memories of working memory, then the nearest other memories by meaning.

    Without Redis, working memory is empty. An audit event records the question. Raises EmbeddingUnavailable,
    SearchTimedOut.
    """
    [question] = questions([Ask(query, COLD_ITEMS, now)])
    named = newest_ids(scope, now=now)
    with limit_statements():
        nearest = dense.search(scope, question, limit=HOT_ITEMS + COLD_ITEMS)
    cold = {uuid.UUID(str(hit.memory_id)): float(hit.score) for hit in nearest}
    texts = texts_of(scope, {*named, *cold}, now=now)
    hot = [identity for identity in named if identity in texts][:HOT_ITEMS]
    found = [(identity, HOT, 1.0) for identity in hot]
    left = [(identity, COLD, score) for identity, score in cold.items() if identity not in hot and identity in texts]
    found += left[:COLD_ITEMS]
    details = {
        "top_k": COLD_ITEMS,
        "l2_hits": len(found) - len(hot),
        "rerank": "",
        "retrieved": len(found),
        "l1_window": len(hot),
        "condensation_cache_hit": False,
        "condensation_enqueued": False,
        "hits": len(found),
        "hot": len(hot),
        "memory_ids": [str(identity) for identity, _, _ in found],
    }
    audit.record_read(scope, AuditEvent.QUERY, details=details, now=now)
    with limit_statements():
        parts = excerpt_texts(scope, question, {str(identity): texts[identity] for identity, _, _ in found})
    asked = why_asked(scope) if hot else {}
    return [
        Recalled(
            parts[str(identity)].text if str(identity) in parts else texts[identity],
            source,
            round(score, 6),
            _why(source, asked.get(identity)),
        )
        for identity, source, score in found
    ]


def _why(source: str, asked: RepeatedAsking | None) -> str:
    if source == COLD:
        return "nearest by meaning"
    if asked is None:
        return "new"
    return f"asked for {asked.times} times in session {asked.session}, last at {asked.at:%Y-%m-%dT%H:%M:%SZ}"
