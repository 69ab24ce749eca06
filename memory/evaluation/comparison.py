"""Compares two runs on the questions that both asked."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from memory.enums import EvaluationStatus
from memory.errors import InvalidInput
from memory.evaluation import metrics
from memory.evaluation.bootstrap import CONFIDENCE, RESAMPLES, Interval, estimate_intervals
from memory.models import EvaluationResult, EvaluationRun
from memory.services.evaluation.runs import find
from memory.types import Access

# A run that is worse in one of these is a regression.
DECISIVE = ("R@10", "MRR")


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """One figure in both runs, and the interval of `run` − `base`."""

    base: float
    run: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs on the `questions` that both asked with the same evidence; the others are only counted.

    `same_content` means that both measured exactly the same documents, questions and judgements. `regressions` are
    those of DECISIVE whose whole interval lies below −tolerance.
    """

    base: EvaluationRun
    run: EvaluationRun
    questions: int
    only_in_base: int
    only_in_run: int
    same_content: bool
    figures: Mapping[str, FigureComparison]
    regressions: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for clients."""
        return {
            "base": str(self.base.pk),
            "run": str(self.run.pk),
            "questions": self.questions,
            "only_in_base": self.only_in_base,
            "only_in_run": self.only_in_run,
            "same_content": self.same_content,
            "confidence": CONFIDENCE,
            "resamples": RESAMPLES,
            "metrics": {
                name: {"base": one.base, "run": one.run, **asdict(one.interval)} for name, one in self.figures.items()
            },
            "regressions": self.regressions,
        }


def compare(access: Access, *, base_id: uuid.UUID, run_id: uuid.UUID, tolerance: float = 0.0) -> Comparison:
    """Compare two finished runs that the caller reaches; `tolerance` is a share (0.01: one point).

    Raise NotFound, or InvalidInput for an unfinished run or without a common question.
    """
    base, run = find(access, run_id=base_id), find(access, run_id=run_id)
    of_base, of_run = _scores(base), _scores(run)
    common = sorted(of_base.keys() & of_run.keys())
    if not common:
        raise InvalidInput("The two runs have no question with the same evidence in common.", detail={"field": "base"})
    left, right = (
        np.array([[scores[key][name] for name in metrics.NAMES] for key in common], dtype=float)
        for scores in (of_base, of_run)
    )
    intervals = estimate_intervals(left, right)
    means = zip(left.mean(axis=0), right.mean(axis=0), strict=True)
    figures = {
        name: FigureComparison(round(float(of_left), 6), round(float(of_right), 6), interval)
        for name, (of_left, of_right), interval in zip(metrics.NAMES, means, intervals, strict=True)
    }
    return Comparison(
        base=base,
        run=run,
        questions=len(common),
        only_in_base=len(of_base) - len(common),
        only_in_run=len(of_run) - len(common),
        same_content=base.content_digest == run.content_digest,
        figures=figures,
        regressions=[name for name in DECISIVE if figures[name].interval.high < -tolerance],
    )


def _scores(run: EvaluationRun) -> dict[str, dict[str, float]]:
    if run.status != EvaluationStatus.FINISHED:
        raise InvalidInput(
            f"Evaluation {run.pk} is {run.status}: only finished ones can be compared.", detail={"field": "id"}
        )
    rows = EvaluationResult.objects.filter(namespace_id=run.namespace_id, run_id=run.pk)
    # The fingerprint alone isn't enough, because a set may ask the same question twice.
    return {
        f"{fingerprint} {query_id}": figures
        for fingerprint, query_id, figures in rows.values_list("fingerprint", "query_id", "metrics")
    }


@dataclass(frozen=True, slots=True)
class QuestionMovement:
    """One question in two runs, with its figure in both."""

    query_id: str
    group: str
    type: str
    base: float
    run: float


def list_moved(comparison: Comparison, *, name: str) -> list[QuestionMovement]:
    """Return the questions of both runs whose figure `name` differs, by decreasing change."""
    rows = (
        EvaluationResult.objects.filter(namespace_id=one.namespace_id, run_id=one.pk).values_list(
            "fingerprint", "query_id", "group", "type", "metrics"
        )
        for one in (comparison.base, comparison.run)
    )
    of_base, of_run = ({(row[0], row[1]): row for row in found} for found in rows)
    found = [
        QuestionMovement(row[1], row[2], row[3], of_base[key][4][name], row[4][name])
        for key, row in of_run.items()
        if key in of_base and of_base[key][4][name] != row[4][name]
    ]
    return sorted(found, key=lambda one: (-abs(one.run - one.base), one.query_id))
