"""Asks questions with the product's own search, and sums up the results."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson
from django.conf import settings
from django.db.models import Count, Sum

from memory.enums import ARMS
from memory.evaluation import metrics
from memory.evaluation.dataset import AskedQuestion
from memory.models import EvaluationResult, EvaluationRun, Memory
from memory.retrieval.fusion import SIGNALS
from memory.retrieval.hits import Hit
from memory.retrieval.pipeline import Retrieval, retrieve
from memory.retrieval.question import Question
from memory.retrieval.render import WindowMessages, render_pack
from memory.services.evaluation.runs import Options
from memory.services.index.embedding_model import active_model
from memory.services.recall.search import fit_to_namespace
from memory.text.tokens import count_tokens
from memory.types import NewMemory, Scope

# The default number of hits of a query.
PACK_HITS = 6
_LOOKUP_BATCH = 10_000
# Runs with each retriever alone, with both but without any signal, and with everything but one signal.
ABLATIONS = {
    **{arm: (arm,) for arm in ARMS},
    " + ".join(ARMS): ARMS,
    **{f"without {name}": tuple({*ARMS, *SIGNALS} - {name}) for name in SIGNALS},
}


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """Questions for one namespace. If `memories` is None, it exists already and is only read."""

    name: str
    questions: Sequence[AskedQuestion]
    memories: Sequence[NewMemory] | None


@dataclass(slots=True)
class EvaluationTally:
    """Sums over the groups; `results` are the rows to store, one for each question asked."""

    results: list[EvaluationResult] = field(default_factory=list)
    arms: dict[str, list[dict[str, float]]] = field(default_factory=lambda: defaultdict(list))
    weights: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    documents: int = 0
    history_tokens: int = 0
    hits: int = 0
    foreign: int = 0

    def mean_weights(self) -> dict[str, float]:
        """Return each retriever's mean weight over the questions."""
        return {arm: weight / len(self.results) for arm, weight in self.weights.items()}

    def figures(self) -> dict[str, Any]:
        """Return the `metrics` that a run stores. Tokens are means over the questions."""
        results = self.results
        context = sum(result.context_tokens for result in results)
        figures: dict[str, Any] = {
            "documents": self.documents,
            "questions": len(results),
            "overall": metrics.mean([result.metrics for result in results]),
            "by_type": metrics.by_type([(result.type, result.metrics) for result in results]),
            "tokens": {
                "hits": PACK_HITS,
                "context": round(context / len(results), 1),
                "history": round(self.history_tokens / len(results), 1),
                "savings": round(max(0.0, 1 - context / self.history_tokens), 6) if self.history_tokens else 0.0,
            },
            "pollution": {
                "hits": self.hits,
                "foreign": self.foreign,
                "rate": self.foreign / self.hits if self.hits else 0.0,
            },
            "retrieval_ms": metrics.percentiles([result.milliseconds for result in results]),
        }
        if self.arms:
            figures["arms"] = {arm: metrics.mean(scores) for arm, scores in self.arms.items()}
        return figures


def ask_group(
    scope: Scope, *, run: EvaluationRun, group: QuestionGroup, asked: Mapping[str, Question], tally: EvaluationTally
) -> Iterator[None]:
    """Ask the group's questions in the scope's namespace one after the other, and yield after each."""
    options = Options.of(run)
    history = Memory.objects.in_scope(scope).active().aggregate(documents=Count("pk"), tokens=Sum("tokens"))
    tally.documents += history["documents"]
    returned: list[uuid.UUID] = []
    model = active_model()
    for one in group.questions:
        question = fit_to_namespace(scope, asked[one.text], model)
        started = time.perf_counter()
        found = _retrieve(scope, question, top_k=options.top_k)
        milliseconds = (time.perf_counter() - started) * 1000
        returned += [hit.id for hit in found.hits]
        tally.results.append(
            EvaluationResult(
                namespace_id=run.namespace_id,
                run_id=run.pk,
                number=len(tally.results) + 1,
                group=group.name,
                query_id=one.id,
                type=one.type,
                fingerprint=_fingerprint(group, one),
                metrics=_score(group, one, found),
                context_tokens=_count_context_tokens(found.hits),
                milliseconds=round(milliseconds, 3),
            )
        )
        tally.history_tokens += history["tokens"] or 0
        for arm, weight in found.weights.items():
            tally.weights[arm] += weight
        for name, arms in ABLATIONS.items() if options.arms else ():
            part = _retrieve(scope, question, top_k=options.top_k, arms=arms)
            returned += [hit.id for hit in part.hits]
            tally.arms[name].append(_score(group, one, part))
        yield
    tally.hits += len(returned)
    tally.foreign += foreign_hits(scope, returned)


def _retrieve(scope: Scope, question: Question, **options: Any) -> Retrieval:
    return retrieve(scope, question, **options)


def foreign_hits(scope: Scope, memory_ids: Sequence[uuid.UUID]) -> int:
    """Count the returned ids that aren't stored in the scope's namespace, according to the database."""
    own: set[uuid.UUID] = set()
    distinct = list(set(memory_ids))
    for start in range(0, len(distinct), _LOOKUP_BATCH):
        stored = Memory.objects.in_scope(scope).filter(pk__in=distinct[start : start + _LOOKUP_BATCH])
        own.update(stored.values_list("pk", flat=True))
    return sum(identity not in own for identity in memory_ids)


def _score(group: QuestionGroup, question: AskedQuestion, found: Retrieval) -> dict[str, float]:
    of_dataset = group.memories is not None
    # A hit from another namespace has no document: its own id is used, and counts as pollution.
    ids = (str(hit.metadata.get("doc_id", hit.id) if of_dataset else hit.id) for hit in found.hits)
    return metrics.score(list(dict.fromkeys(ids)), question.grades)


def _count_context_tokens(hits: Sequence[Hit]) -> int:
    """Count the tokens that an agent reads; neither window nor summary belong to the question."""
    return render_pack(
        procedural={"prompt": None, "tools": []},
        card=None,
        window=WindowMessages(),
        hits=hits[:PACK_HITS],
        max_tokens=None,
        tokenizer=settings.MEMOS_TOKENIZER,
        count=partial(count_tokens, tokenizer=settings.MEMOS_TOKENIZER),
    ).tokens


def _fingerprint(group: QuestionGroup, question: AskedQuestion) -> str:
    content = [group.name, question.text, sorted(question.grades.items())]
    return hashlib.sha256(orjson.dumps(content)).hexdigest()
