"""Runs an evaluation of retrieval, without a language model or stored packs, and leaves only the run behind."""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

import orjson

from memory.errors import InvalidInput, MemosError
from memory.evaluation.configuration import snapshot
from memory.evaluation.dataset import EVERY_GROUP, AskedQuestion, Dataset, read_dataset
from memory.evaluation.measure import EvaluationTally, QuestionGroup, ask_group
from memory.models import EvaluationRun
from memory.postgresql import statistics
from memory.retrieval.question import Question
from memory.services.entities.extract import index_namespace
from memory.services.evaluation import judgements, runs
from memory.services.evaluation.runs import Measured, Options
from memory.services.evaluation.scratch import embed_batches, scratch_namespace
from memory.services.index.embedding_model import active_model
from memory.services.memories.settle import settle_namespace
from memory.services.preferences.read import read_namespace
from memory.services.recall.search import Ask, questions
from memory.types import Scope

log = logging.getLogger("memos.evaluation")

_EMBED_BATCH = 256

Progress = Callable[[int, int], None]
Clock = Callable[[], datetime]


def run_dataset(
    dataset: Dataset,
    *,
    options: Options,
    label: str,
    actor: str,
    keep: bool,
    now: Clock,
    progress: Progress,
) -> EvaluationRun:
    """Evaluate `dataset` in temporary namespaces and store the run.

    Raise InvalidInput, EmbeddingUnavailable, or Conflict while the same dataset is evaluated elsewhere.
    """
    choose_groups(dataset, options)
    run = runs.create(None, dataset=dataset.name, options=options, label=label, actor=actor, now=now())
    return _claim_and_carry_out(run, lambda: dataset, keep=keep, now=now, progress=progress)


def run_namespace(scope: Scope, *, options: Options, label: str, now: Clock, progress: Progress) -> EvaluationRun:
    """Evaluate a namespace by its own judgements, which are only read, like the namespace itself; store the run.

    Raise InvalidInput if nothing is marked relevant there, EmbeddingUnavailable, or Conflict while it is evaluated
    elsewhere.
    """
    build_judged_dataset(scope)
    run = runs.create(scope, dataset="", options=options, label=label, actor=scope.actor, now=now())
    return _claim_and_carry_out(run, lambda: build_judged_dataset(scope), keep=False, now=now, progress=progress)


def run_requested(*, namespace_id: int, run_id: uuid.UUID, now: Clock, progress: Progress) -> bool:
    """Carry out a queued run; return False if there is nothing to do (it is over, or another process runs it)."""
    run = EvaluationRun.objects.filter(namespace_id=namespace_id, pk=run_id).first()
    if run is None:
        return False

    def read() -> Dataset:
        if run.namespace_id:
            return build_judged_dataset(Scope(run.namespace_id, run.namespace, run.actor))
        return read_dataset(runs.dataset_folder(run.dataset))

    with runs.claim(run, now=now()) as mine:
        if mine:
            try:
                _carry_out(run, read, keep=False, now=now, progress=progress)
            except MemosError as error:
                # The run itself has the reason; the job is done.
                log.warning("evaluation failed", extra={"run": str(run.pk), "reason": error.message})
        return mine


def build_judged_dataset(scope: Scope) -> Dataset:
    """Return the namespace's judged questions. Raise InvalidInput if none has a memory marked relevant."""
    judged = judgements.read_judged_questions(scope)
    if not judged:
        raise InvalidInput(
            f"In {scope.namespace!r} no active memory is marked relevant to a question: use POST /v1/judgements.",
            detail={"field": "namespace"},
        )
    questions = [AskedQuestion(digest, "", text, "", grades) for digest, (text, grades) in judged.items()]
    digest = hashlib.sha256(orjson.dumps([[one.id, sorted(one.grades.items())] for one in questions])).hexdigest()
    return Dataset(scope.namespace, digest, questions=questions)


def _claim_and_carry_out(
    run: EvaluationRun, read: Callable[[], Dataset], *, keep: bool, now: Clock, progress: Progress
) -> EvaluationRun:
    with runs.claim(run, now=now()) as mine:
        assert mine
        return _carry_out(run, read, keep=keep, now=now, progress=progress)


def _carry_out(
    run: EvaluationRun, read: Callable[[], Dataset], *, keep: bool, now: Clock, progress: Progress
) -> EvaluationRun:
    try:
        measured = _measure(run, read(), keep=keep, now=now, progress=progress)
        return runs.finish(run, measured, now=now())
    except BaseException as error:
        # This includes Ctrl-C and a job's timeout: a run must not look as if it continued.
        runs.fail(run, reason=_reason(error), now=now())
        raise


def _reason(error: BaseException) -> str:
    if isinstance(error, MemosError):
        return error.message
    return "Interrupted." if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: see the server's log."


def _measure(run: EvaluationRun, dataset: Dataset, *, keep: bool, now: Clock, progress: Progress) -> Measured:
    groups = (
        [QuestionGroup("", dataset.questions, None)] if run.namespace_id else choose_groups(dataset, Options.of(run))
    )
    total = sum(len(group.questions) for group in groups)
    asked = embed_questions(groups, now=now())
    tally = EvaluationTally()
    for number, group in enumerate(groups, start=1):
        with _namespace_of(run, group, number, keep=keep, now=now) as scope:
            for _ in ask_group(scope, run=run, group=group, asked=asked, tally=tally):
                progress(len(tally.results), total)
    return Measured(
        digest=dataset.digest,
        configuration=snapshot(active_model(), weights=tally.mean_weights()),
        metrics={"groups": len(groups), **tally.figures()},
        notes=dataset.notes,
        results=tally.results,
    )


def choose_groups(dataset: Dataset, options: Options) -> list[QuestionGroup]:
    """Return the groups that have questions. Raise InvalidInput for types and groups that the dataset lacks."""
    kinds = {question.type for question in dataset.questions}
    for name, wanted, known in (("types", options.types, kinds), ("groups", options.groups, set(dataset.groups))):
        unknown = sorted(set(wanted) - known)
        if unknown:
            raise InvalidInput(
                f"{dataset.name!r} has no questions of the {name} {', '.join(unknown)}. "
                f"It has: {', '.join(sorted(known))[:500]}.",
                detail={"field": name},
            )
    questions = [one for one in dataset.questions if not options.types or one.type in options.types]
    groups = [
        QuestionGroup(name, [one for one in questions if one.group in (name, EVERY_GROUP)], memories)
        for name, memories in dataset.groups.items()
        if not options.groups or name in options.groups
    ]
    asked = [group for group in groups if group.questions]
    if not asked:
        raise InvalidInput("No question is left of these types and groups.", detail={"field": "types"})
    return asked


def embed_questions(groups: Sequence[QuestionGroup], *, now: datetime) -> Mapping[str, Question]:
    """Return every question's text as the retrievers take it; each is embedded once, whichever groups ask it."""
    texts = list(dict.fromkeys(question.text for group in groups for question in group.questions))
    batches = (texts[start : start + _EMBED_BATCH] for start in range(0, len(texts), _EMBED_BATCH))
    return {
        question.text: question for batch in batches for question in questions([Ask(text, 1, now) for text in batch])
    }


@contextmanager
def _namespace_of(run: EvaluationRun, group: QuestionGroup, number: int, *, keep: bool, now: Clock) -> Iterator[Scope]:
    if group.memories is None:
        yield Scope(run.namespace_id, run.namespace, run.actor)
        return
    # Embed before the transaction of the scratch namespace is opened.
    embedded = embed_batches(group.memories)
    with scratch_namespace(
        f"{run.pk}-{number}-{group.name}",
        memories=group.memories,
        embedded=embedded,
        actor=run.actor,
        keep=keep,
        now=now(),
    ) as scope:
        # The worker does the same within a minute.
        index_namespace(scope, now=now())
        settle_namespace(scope, now=now())
        read_namespace(scope, now=now())
        statistics.refresh(memories=len(group.memories))
        yield scope
