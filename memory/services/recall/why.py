"""Explains why a question did not find a memory, or where it ranked. Stores nothing and counts nothing."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson

from memory.enums import MemoryState, Verdict
from memory.errors import NotFound, SearchTimedOut
from memory.models import Memory, MemoryVector
from memory.postgresql.time_limit import limit_statements
from memory.retrieval.arms import ArmStanding, dense, lexical
from memory.retrieval.candidate_features import DENSE_POOL, LEXICAL_POOL
from memory.retrieval.explain import differences, parts, reason
from memory.retrieval.filters import Filter, entries, to_json
from memory.retrieval.hits import Hit
from memory.retrieval.left_out import Dropped
from memory.retrieval.pipeline import Retrieval, retrieve
from memory.retrieval.predicate import meets, predicate
from memory.retrieval.question import Question
from memory.retrieval.rerank import pool_size
from memory.services.index.embedding_model import active_model
from memory.services.memories import unsure_pairs
from memory.services.recall.search import Ask, fit_to_namespace, questions
from memory.services.tenancy.policy import in_force
from memory.types import Scope

NO_VECTOR = "no_vector"
# The most parts that a sentence names as the difference.
_MOST_NAMED = 3
# The most characters of a filter that a sentence quotes; `details` has all of it.
_SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The decision of a search for the question about a memory.

    `rank`: among the hits for RETURNED, else among the candidates; `score` and `parts` (see `explain.parts`): for
    candidates only. `details`: numbers that belong to the verdict. `notes`: NO_VECTOR while the memory has no vector of
    the active model and is found only by its words. `degraded`: components that did not work fully.
    """

    memory_id: uuid.UUID
    verdict: Verdict
    reason: str
    rank: int | None = None
    score: float | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)


def why(scope: Scope, ask: Ask, *, memory_id: uuid.UUID, of_read_share: bool = False) -> Diagnosis:
    """Answer the question as `search` does, and return the verdict about the memory. Always a dry run.

    `of_read_share`: an archived memory counts as missing, and no judgement of it is shown. Raises NotFound when the
    namespace has no such memory, EmbeddingUnavailable, SearchTimedOut.
    """
    memory = Memory.objects.in_scope(scope).filter(pk=memory_id).values("state", "created_at", *_TIMES).first()
    if memory is None or (of_read_share and memory["state"] != MemoryState.ACTIVE):
        raise NotFound(
            f"There is no memory {memory_id} in the namespace {scope.namespace!r}.", detail={"field": "memory_id"}
        )
    if memory["state"] != MemoryState.ACTIVE:
        return Diagnosis(memory_id, Verdict.ARCHIVED, f"It is {memory['state']}: only active memories are searched.")
    if ask.as_of is not None and memory["created_at"] > ask.as_of:
        return _diagnose_recorded_later(memory_id, memory["created_at"], ask.as_of)
    if untrue := _not_holding(memory, ask):
        untrue += "" if of_read_share else _explain_judgement(scope, memory_id, memory["superseded_by"])
        return Diagnosis(memory_id, Verdict.NOT_HOLDING, untrue, details=_times(memory))
    if ask.where is not None and (failed := _list_failed(scope, memory_id, ask.where)):
        return _diagnose_filtered(memory_id, failed)
    (asked,) = questions([replace(ask, dry_run=True)])
    asked = fit_to_namespace(scope, asked, active_model(choose=False))
    collapse = in_force(scope.namespace_id).policy.collapse_duplicates
    with limit_statements():
        retrieval = retrieve(scope, asked, top_k=ask.top_k, show_dropped=sys.maxsize, collapse=collapse)
    hit = next((hit for hit in retrieval.hits if hit.id == memory_id), None)
    dropped = next((dropped for dropped in retrieval.dropped if dropped.candidate.memory_id == memory_id), None)
    if hit:
        found = _diagnose_returned(hit, retrieval)
    elif dropped:
        found = _diagnose_dropped(dropped, retrieval)
    else:
        found = _no_candidate(scope, asked, memory_id, retrieval)
    vectors = MemoryVector.objects.in_scope(scope).filter(model_id=asked.model_id, memory_id=memory_id)
    notes = [] if vectors.exists() else [NO_VECTOR]
    return replace(found, notes=notes, degraded=retrieval.degraded)


def _diagnose_recorded_later(memory_id: uuid.UUID, recorded: datetime, as_of: datetime) -> Diagnosis:
    details = {"created_at": recorded.isoformat(), "as_of": as_of.isoformat()}
    told = f"It was recorded at {details['created_at']}, after the {details['as_of']} that `as_of` asks for."
    return Diagnosis(memory_id, Verdict.RECORDED_LATER, told, details=details)


_TIMES = ("occurred_at", "valid_from", "valid_to", "superseded_by", "superseded_at")


def _not_holding(memory: Mapping[str, Any], ask: Ask) -> str:
    """Explain why the memory does not hold at the requested time; '' when it does."""
    moment = ask.valid_at or ask.as_of or ask.now
    begins = memory["valid_from"] or memory["occurred_at"]
    if ask.valid_at is not None and begins > ask.valid_at:
        return f"It holds from {begins.isoformat()} on, after the {ask.valid_at.isoformat()} that `valid_at` asks for."
    if memory["valid_to"] is None or memory["valid_to"] > moment:
        return ""
    if ask.as_of is not None and memory["superseded_at"] is not None and memory["superseded_at"] > ask.as_of:
        return ""
    by = f": {memory['superseded_by']} superseded it" if memory["superseded_by"] else ""
    return f"It held until {memory['valid_to'].isoformat()}{by}. Ask with `valid_at` or `as_of` for what held before."


def _explain_judgement(scope: Scope, memory_id: uuid.UUID, newer_id: uuid.UUID | None) -> str:
    """Return a language model's reason as a sentence to append; '' when no model judged."""
    if newer_id is None:
        return ""
    said = unsure_pairs.explanations([(scope.namespace_id, memory_id, newer_id)]).get((memory_id, newer_id, None), "")
    return f" {unsure_pairs.in_words(said)}" if said else ""


def _times(memory: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else str(value) if value else None
        for name, value in ((name, memory[name]) for name in _TIMES)
    }


def _list_failed(scope: Scope, memory_id: uuid.UUID, where: Filter) -> list[dict[str, Any]]:
    """Return the entries of the filter that the memory does not meet."""
    failed = []
    for entry in entries(where):
        condition = predicate(entry)
        assert condition is not None
        if not meets(scope, memory_id, condition):
            failed.append(to_json(entry))
    return failed


def _diagnose_filtered(memory_id: uuid.UUID, failed: list[dict[str, Any]]) -> Diagnosis:
    shown = ", ".join(orjson.dumps(entry).decode() for entry in failed)
    if len(shown) > _SHOWN_CHARS:
        shown = shown[:_SHOWN_CHARS] + "…"
    return Diagnosis(memory_id, Verdict.FILTERED, f"The filter leaves it out by {shown}.", details={"failed": failed})


def _diagnose_returned(hit: Hit, retrieval: Retrieval) -> Diagnosis:
    return Diagnosis(
        hit.id,
        Verdict.RETURNED,
        f"It came back as hit {hit.rank} of {len(retrieval.hits)}. {reason(hit, considered=retrieval.considered)}",
        rank=hit.rank,
        score=hit.score,
        parts=parts(hit.candidate, retrieval.weights),
        details={
            "considered": retrieval.considered,
            "relevance": round(hit.relevance, 4),
            "restated_by": [str(other) for other in hit.restated_by],
        },
    )


def _diagnose_dropped(dropped: Dropped, retrieval: Retrieval) -> Diagnosis:
    candidate, last = dropped.candidate, retrieval.hits[-1]
    more = differences(last.candidate, candidate)
    sentence = f"It is candidate {dropped.rank} of {retrieval.considered}. {dropped.reason}"
    if dropped.verdict is Verdict.OUTRANKED:
        named = [f"{name} {more[name]:+.4f}" for name in list(more)[:_MOST_NAMED] if more[name] > 0]
        sentence += (
            f" What the last hit has more: {', '.join(named)}." if named else " Of equals the newer comes first."
        )
    return Diagnosis(
        candidate.memory_id,
        dropped.verdict,
        sentence,
        rank=dropped.rank,
        score=candidate.score,
        parts=parts(candidate, retrieval.weights),
        details={
            "considered": retrieval.considered,
            "other": str(dropped.other) if dropped.other else None,
            "last_hit": {"id": str(last.id), "rank": last.rank, "score": last.score},
            "missing": last.score - candidate.score,
            "differences": more,
        },
    )


def _no_candidate(scope: Scope, asked: Question, memory_id: uuid.UUID, retrieval: Retrieval) -> Diagnosis:
    try:
        with limit_statements():
            near = dense.rank_of(scope, asked, memory_id)
            worded = lexical.rank_of(scope, asked, memory_id)
    except SearchTimedOut:
        return Diagnosis(
            memory_id,
            Verdict.NOT_A_CANDIDATE,
            "No arm has it among its best. How far from them it is would take longer to find out than a search may.",
            details={"considered": retrieval.considered},
        )
    pools = {"dense": max(DENSE_POOL, pool_size()), "lexical": max(LEXICAL_POOL, pool_size())}
    by_meaning = (
        f"by meaning it is number {near.rank} of {near.of} (cosine {near.score:.4f}; the best {pools['dense']} are "
        f"candidates{_explain_overlooked(near, pools['dense'])})"
        if near
        else "it has no vector yet"
    )
    by_words = (
        f"by its words number {worded.rank} of {worded.of} (BM25 {worded.score:.4f}; the best {pools['lexical']} are"
        f"{_explain_overlooked(worded, pools['lexical'])})"
        if worded
        else "it shares no word with the question"
    )
    return Diagnosis(
        memory_id,
        Verdict.NOT_A_CANDIDATE,
        f"No arm has it among its best: {by_meaning}; {by_words}.",
        details={
            "considered": retrieval.considered,
            "dense": _figures(near, pools["dense"]),
            "lexical": _figures(worded, pools["lexical"]),
        },
    )


def _explain_overlooked(standing: ArmStanding, pool: int) -> str:
    """Explain why a memory among the best was no candidate; '' for a memory that ranks too low."""
    return "; the approximate search of a large namespace overlooked it" if standing.rank <= pool else ""


def _figures(standing: ArmStanding | None, pool: int) -> dict[str, float | None]:
    if standing is None:
        return {"raw": None, "rank": None, "of": None, "pool": pool}
    return {"raw": standing.score, "rank": standing.rank, "of": standing.of, "pool": pool}
