"""Measures answers for `manage.py evaluate`: the arguments, the run, and the printed report."""

from __future__ import annotations

import json
from argparse import _ArgumentGroup
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.utils import timezone
from tqdm import tqdm

from memory.enums import ModelPurpose
from memory.evaluation.answers import (
    FIGURES,
    AnswerResult,
    AnswerRun,
    compare_results,
    figures,
    read_results,
    run_answers,
)
from memory.evaluation.bootstrap import Interval
from memory.evaluation.published import PublishedSet, read_published
from memory.management import arguments
from memory.providers.chat.registry import find_chat_model
from memory.providers.llm_answer_judge import AnswerJudge, read_prompts
from memory.services.answers.models import choose_model

# Defaults of the number of hits and of tokens, the same as in bench/answers.py.
DEFAULT_HITS = 10
DEFAULT_TOKENS: Final = 60
DEFAULT_MODEL_TOKENS: Final = 300
ANSWER_OPTIONS: Final = (
    "answers", "out", "model", "judge", "judge_prompts", "max_tokens", "hits", "limit", "types", "compare_results",
)  # fmt: skip
_HEADINGS: Final = {"right": "right", "f1": "F1", "contained": "held", "abstained": "abstained"}


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """The result of a run of answers. `differences` compare it with an earlier run."""

    head: dict[str, Any]
    notes: list[str]
    results: Sequence[AnswerResult]
    differences: dict[str, Interval]
    out: Path

    def to_json(self) -> str:
        """Return everything except the answers as a JSON object."""
        return json.dumps(
            {
                **self.head,
                "notes": self.notes,
                "questions": len(self.results),
                "overall": figures(self.results),
                "by_type": {
                    kind: {"questions": len(rows), **figures(rows)} for kind, rows in _by_type(self.results).items()
                },
                "usage": _usage(self.results),
                "differences": {name: asdict(one) for name, one in self.differences.items()},
                "results": str(self.out),
            },
            ensure_ascii=False,
        )

    def to_text(self) -> str:
        """Return the figures in percent, with a line for each type of question."""
        judged = f", judged by {self.head['judge']}" if self.head["judge"] else ""
        lines = [f"{self.head['set']} ({self.head['format']}), answered by {self.head['model']}{judged}"]
        lines += [f"  note: {note}" for note in self.notes]
        kinds = _by_type(self.results)
        rows = [("all", self.results), *(kinds.items() if len(kinds) > 1 else ())]
        width = max(len(name) for name, _ in rows)
        lines.append("  ".join([" " * width, "questions", *(_HEADINGS[name].rjust(9) for name in FIGURES)]))
        for name, results in rows:
            found = figures(results)
            shown = ("–" if found[one] is None else f"{100 * (found[one] or 0):.1f}" for one in FIGURES)
            lines.append("  ".join([name.ljust(width), str(len(results)).rjust(9), *(one.rjust(9) for one in shown)]))
        usage = _usage(self.results)
        lines.append(
            f"\ntokens   {usage['prompt_tokens']:,} read ({usage['cached_tokens']:,} of them cached), "
            f"{usage['completion_tokens']:,} written; cost {_dollars(usage)}"
        )
        for name, one in self.differences.items():
            difference, low, high = (100 * value for value in (one.difference, one.low, one.high))
            lines.append(f"{_HEADINGS[name]:9}{difference:+6.2f} points (95 %: {low:+.2f} to {high:+.2f})")
        return "\n".join([*lines, f"results  {self.out}"])


def add_answer_arguments(parser: _ArgumentGroup) -> None:
    """Add the arguments that only --answers uses."""
    parser.add_argument("--out", type=Path, metavar="FILE", help="results, a JSON line each; goes on where it ends")
    parser.add_argument("--model", help="`provider/model` or `extractive`; default: the configured one for answers")
    parser.add_argument("--judge", help="`provider/model` or `none`; default: the configured one that judges")
    parser.add_argument("--judge-prompts", type=Path, metavar="FILE", help="prompts by criterion, in place of ours")
    parser.add_argument("--max-tokens", type=arguments.whole_number(10, 4_000), help="of an answer")
    parser.add_argument(
        "--hits", type=arguments.whole_number(1, 100), default=DEFAULT_HITS, help="memories to answer from"
    )
    parser.add_argument("--limit", type=arguments.whole_number(1, 1_000_000), default=0, help="only so many questions")
    parser.add_argument("--compare-results", type=Path, metavar="FILE", help="earlier results to compare with")


def evaluate_answers(
    *,
    answers: Path,
    out: Path | None,
    model: str | None,
    judge: str | None,
    judge_prompts: Path | None,
    max_tokens: int | None,
    hits: int,
    limit: int,
    types: tuple[str, ...],
    compare_results: Path | None,
) -> AnswersReport:
    """Answer the questions in the file `answers`. Raises MemosError for an unusable file or an unavailable model."""
    published = read_published(answers)
    chat = choose_model(model)
    run = AnswerRun(
        model=chat,
        judge=_judge(judge, judge_prompts),
        top_k=hits,
        max_tokens=max_tokens or (DEFAULT_MODEL_TOKENS if chat else DEFAULT_TOKENS),
        types=types,
        limit=limit,
    )
    head = run.describe(published)
    target = out or _usual_file(published, head)
    with tqdm(unit="question", disable=None) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        results = run_answers(published, run, out=target, now=timezone.now, progress=progress)
    return AnswersReport(head, _notes(run), results, _differences(compare_results, results), target)


def _judge(name: str | None, prompts: Path | None) -> AnswerJudge | None:
    chat = None
    if name is None:
        chat = find_chat_model(ModelPurpose.JUDGE)
    elif name != "none":
        chat = choose_model(name)
    return AnswerJudge(chat, read_prompts(prompts) if prompts else {}) if chat else None


def _usual_file(published: PublishedSet, head: dict[str, Any]) -> Path:
    name = "-".join([published.name, head["model"], *([f"by-{head['judge']}"] if head["judge"] else [])])
    return Path(settings.MEMOS_DATA_DIR) / "evaluations" / f"{name.replace('/', '-')}.jsonl"


def _notes(run: AnswerRun) -> list[str]:
    notes = []
    if run.model is None:
        notes.append("no model answers: the answers are quotes of what is remembered")
    if run.judge is None:
        notes.append("no model judges: F1 and content words held only compare words; only abstentions are marked right")
    elif run.model and run.judge.name == f"{run.model.provider}/{run.model.name}":
        notes.append("the judge is the model that answered: models.judge of MEMOS_POLICY or --judge names another")
    return notes


def _differences(base: Path | None, results: Sequence[AnswerResult]) -> dict[str, Interval]:
    if base is None:
        return {}
    content = base.read_bytes() if base.is_file() else b""
    return compare_results(read_results(base, content), {one.id: one for one in results})


def _by_type(results: Sequence[AnswerResult]) -> dict[str, list[AnswerResult]]:
    kinds: dict[str, list[AnswerResult]] = {}
    for one in results:
        kinds.setdefault(one.type, []).append(one)
    return dict(sorted(kinds.items()))


def _usage(results: Sequence[AnswerResult]) -> dict[str, Any]:
    """Return sums over the results.

    `cost` is in dollars, or None if no answer has a known price. `unpriced` counts the answers without one.
    """
    priced = [one.cost for one in results if one.cost is not None]
    return {
        "prompt_tokens": sum(one.prompt_tokens or 0 for one in results),
        "cached_tokens": sum(one.cached_tokens or 0 for one in results),
        "completion_tokens": sum(one.completion_tokens or 0 for one in results),
        "cost": round(sum(priced), 6) if priced else None,
        "unpriced": sum(one.cost is None and one.completion_tokens is not None for one in results),
    }


def _dollars(usage: dict[str, Any]) -> str:
    if usage["cost"] is None:
        return "not known" if usage["unpriced"] else "none"
    return f"${usage['cost']:.4f}" + (
        f", and {usage['unpriced']} answers of no known price" if usage["unpriced"] else ""
    )
