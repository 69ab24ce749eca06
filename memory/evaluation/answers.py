"""Answers the questions of a published set as the product does, and scores the answers.

Each conversation is ingested into a namespace that is deleted before a model is called. Results are written to a file
as soon as they are known, one line per question, so that an interrupted run continues where it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from memory.enums import AnswerCriterion, AnswerMode
from memory.errors import InvalidInput, LLMUnavailable
from memory.evaluation.answer_metrics import containment, find_letter, token_f1
from memory.evaluation.bootstrap import Interval, estimate_intervals
from memory.evaluation.published import GoldQuestion, PublishedSet, QuestionHistory
from memory.postgresql import statistics
from memory.providers.chat.model import ChatModel
from memory.providers.llm_answer_judge import AnswerJudge
from memory.services.answers.answer import complete
from memory.services.answers.cited_answer import CitedAnswer
from memory.services.answers.sources import AnswerSources, AnswerTerms, find_sources
from memory.services.entities.extract import index_namespace
from memory.services.evaluation.scratch import embed_batches, scratch_namespace
from memory.services.memories.settle import settle_namespace
from memory.services.recall.search import Ask

SESSION = "evaluation"
# Figures in display order; `right` needs a judge, except for choices and abstentions.
FIGURES = ("right", "f1", "contained", "abstained")

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """The way to answer questions: by `model` (None: quotes) from `top_k` hits in at most `max_tokens`.

    `judge` marks the answers. `types` selects types of questions (empty: all), and `limit` the first ones (0: all).
    """

    model: ChatModel | None
    judge: AnswerJudge | None
    top_k: int
    max_tokens: int
    types: tuple[str, ...] = ()
    limit: int = 0

    def describe(self, published: PublishedSet) -> dict[str, Any]:
        """Return what results must have in common to belong to one run."""
        return {
            "set": published.name,
            "format": published.format,
            "digest": published.digest,
            "model": f"{self.model.provider}/{self.model.name}" if self.model else AnswerMode.EXTRACTIVE.value,
            "judge": self.judge.name if self.judge else "",
            "top_k": self.top_k,
            "max_tokens": self.max_tokens,
        }


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """The result for one question; `right` is None if nothing can tell, and `reason` is the judge's.

    Tokens and `cost` (dollars) are those of the answer, None if unknown; `milliseconds` is its time.
    """

    id: str
    type: str
    answer: str
    abstained: bool
    right: bool | None
    reason: str
    f1: float
    contained: float
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    milliseconds: int


class ResultFile:
    """Results in a file of JSON lines, the first of which describes the run."""

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        """Load existing results. Raise InvalidInput if the file is of another run or can't be written."""
        self.path = path
        self.results: dict[str, AnswerResult] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            content = path.read_bytes()
        except OSError as error:
            raise _unusable(path, f"it cannot be written ({error.strerror})") from error
        # An incomplete line that a killed process left is written again.
        whole = content[: content.rfind(b"\n") + 1]
        if whole:
            self.results = read_results(path, whole, head=head)
        os.truncate(path, len(whole))
        if not whole:
            self._append(head)

    def add(self, result: AnswerResult) -> None:
        """Store a result; it is on the disk when this returns."""
        self._append(asdict(result))
        self.results[result.id] = result

    def _append(self, line: Mapping[str, Any]) -> None:
        with self.path.open("ab") as file:
            file.write(orjson.dumps(line) + b"\n")
            file.flush()
            os.fsync(file.fileno())


def read_results(path: Path, content: bytes, *, head: Mapping[str, Any] | None = None) -> dict[str, AnswerResult]:
    """Return the results in the `content` of the file by question.

    Raise InvalidInput for a file of another kind, or of another run than `head` describes.
    """
    try:
        first, *lines = [orjson.loads(line) for line in content.splitlines()]
        results = {line["id"]: AnswerResult(**line) for line in lines}
    except (ValueError, TypeError, KeyError) as error:
        raise _unusable(path, "it holds no results of this command") from error
    other = [f"{name} is {first.get(name)!r} there" for name, value in (head or {}).items() if first.get(name) != value]
    if other:
        raise _unusable(path, f"it is of another run: {', '.join(other)}. Name another file to start over")
    return results


def run_answers(
    published: PublishedSet,
    run: AnswerRun,
    *,
    out: Path,
    now: Clock,
    progress: Callable[[int, int], None],
) -> list[AnswerResult]:
    """Answer the questions without a result in `out`; return all results in the order of the set.

    Raise InvalidInput for a file of another run, LLMUnavailable or EmbeddingUnavailable if a model is away; a repeated
    run continues.
    """
    file = ResultFile(out, run.describe(published))
    wanted = [question.id for history in _select_questions(published, run) for question in history.questions]
    if not wanted:
        raise InvalidInput(f"No question of {published.name!r} is of these types.", detail={"field": "types"})
    for number, history in enumerate(_select_questions(published, run)):
        left = [one for one in history.questions if one.id not in file.results]
        for question, sources in _search(history, left, run, number=number, now=now):
            file.add(_result(question, sources, run))
            progress(len(file.results), len(wanted))
    return [file.results[identity] for identity in wanted]


def figures(results: Sequence[AnswerResult]) -> dict[str, float | None]:
    """Return the means of FIGURES as shares, None without a value."""
    return {name: _mean([getattr(one, name) for one in results]) for name in FIGURES}


def compare_results(base: Mapping[str, AnswerResult], run: Mapping[str, AnswerResult]) -> dict[str, Interval]:
    """Return the difference of each figure on the common questions (`run` − `base`) with its interval.

    Figures that only one of them has are left out. Raise InvalidInput if there is no common question.
    """
    common = sorted(base.keys() & run.keys())
    if not common:
        raise InvalidInput("The two results have no question in common.", detail={"field": "compare"})
    found = {}
    for name in FIGURES:
        pairs = [(getattr(base[key], name), getattr(run[key], name)) for key in common]
        known = [(float(left), float(right)) for left, right in pairs if left is not None and right is not None]
        if known:
            columns = np.array(known, dtype=float)
            (found[name],) = estimate_intervals(columns[:, :1], columns[:, 1:])
    return found


def _select_questions(published: PublishedSet, run: AnswerRun) -> Iterator[QuestionHistory]:
    left = run.limit or published.total
    for history in published.histories():
        questions = [one for one in history.questions if not run.types or one.type in run.types][:left]
        left -= len(questions)
        if questions:
            yield QuestionHistory(history.name, history.memories, questions)


def _search(
    history: QuestionHistory, questions: Sequence[GoldQuestion], run: AnswerRun, *, number: int, now: Clock
) -> list[tuple[GoldQuestion, AnswerSources]]:
    """Return the sources for each question, from a temporary namespace with the history."""
    if not questions:
        return []
    embedded = embed_batches(history.memories)
    with scratch_namespace(
        f"answers-{number}-{history.name}",
        memories=history.memories,
        embedded=embedded,
        actor="command:evaluate",
        keep=False,
        now=now(),
    ) as scope:
        index_namespace(scope, now=now())
        settle_namespace(scope, now=now())
        statistics.refresh(memories=len(history.memories))
        found = []
        for one in questions:
            ask = Ask(one.text, run.top_k, one.asked_at or now(), dry_run=True)
            terms = AnswerTerms(run.max_tokens, run.model, question=_with_options(one) if run.model else "")
            found.append((one, find_sources(scope, ask, session=SESSION, terms=terms)))
        return found


def _with_options(question: GoldQuestion) -> str:
    if not question.options:
        return question.text
    options = "\n".join(question.options)
    return f"{question.text}\n\nWhich of these fits best? Answer with its letter in brackets.\n{options}"


def _result(question: GoldQuestion, sources: AnswerSources, run: AnswerRun) -> AnswerResult:
    started = time.monotonic()
    answered = complete(sources)
    milliseconds = round((time.monotonic() - started) * 1000)
    abstained = answered.no_answer is not None
    if run.model and answered.mode != AnswerMode.MODEL and not abstained:
        raise LLMUnavailable(
            f"{run.model.provider}/{run.model.name} did not answer the question {question.id!r} "
            f"({', '.join(answered.degraded)}). Run the same command again when it does: it goes on from there."
        )
    gold = _find_gold_text(question)
    right, reason = _mark(question, answered, run)
    said = "" if abstained else answered.text
    return AnswerResult(
        id=question.id,
        type=question.type,
        answer=answered.text,
        abstained=abstained,
        right=right,
        reason=reason,
        f1=round(token_f1(gold, said), 6),
        contained=round(containment(gold, said), 6),
        prompt_tokens=answered.usage.prompt,
        cached_tokens=answered.usage.cached,
        completion_tokens=answered.usage.completion,
        cost=answered.cost,
        milliseconds=milliseconds,
    )


def _find_gold_text(question: GoldQuestion) -> str:
    """Return the text of the expected answer, which for a choice is an option."""
    if question.criterion != AnswerCriterion.CHOICE:
        return question.gold
    return next((one for one in question.options if one.lower().startswith(f"({question.gold})")), question.gold)


def _mark(question: GoldQuestion, answered: CitedAnswer, run: AnswerRun) -> tuple[bool | None, str]:
    """Return whether the answer is right, and the reason; None if nothing can tell."""
    abstained = answered.no_answer is not None
    if question.criterion == AnswerCriterion.CHOICE:
        return (find_letter(answered.text) == question.gold, "") if run.model else (None, "")
    if question.criterion == AnswerCriterion.ABSTAIN and (abstained or run.judge is None):
        return abstained, ""
    if run.judge is None:
        return None, ""
    if abstained:
        return False, ""
    mark = run.judge.mark(question.criterion, question=question.text, gold=question.gold, answer=answered.text)
    return mark.correct, mark.reason


def _mean(values: Sequence[float | bool | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return round(sum(known) / len(known), 6) if known else None


def _unusable(path: Path, reason: str) -> InvalidInput:
    return InvalidInput(f"The results {path.name!r} cannot be used: {reason}.", detail={"field": "out"})
