from __future__ import annotations

import json
import uuid
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from tqdm import tqdm

from memory.errors import MemosError
from memory.evaluation import metrics
from memory.evaluation.comparison import Comparison, compare
from memory.evaluation.dataset import read_dataset
from memory.evaluation.measure import ABLATIONS
from memory.evaluation.runner import run_dataset, run_namespace
from memory.management import arguments
from memory.management.answers import ANSWER_OPTIONS, add_answer_arguments, evaluate_answers
from memory.models import EvaluationRun
from memory.services.evaluation.runs import DEFAULT_TOP_K, Options, find, to_dict
from memory.services.evaluation.scratch import PREFIX
from memory.services.tenancy.namespaces import scope_of_existing
from memory.types import system_access

ACTOR = "command:evaluate"
# Exit status if the run is worse than the one it was compared with, or if hits came from another namespace.
NOT_GOOD_ENOUGH = 3
MAX_LABEL_CHARS = 100


class Command(BaseCommand):
    help = (
        "Measures retrieval on a dataset (a folder with corpus.jsonl, queries.jsonl, qrels.tsv), in namespaces that "
        "nobody else sees and that are gone afterwards; or on the judgements of a namespace. Keeps the run. Exit "
        f"status {NOT_GOOD_ENOUGH}: a regression against --compare, or a hit from another namespace."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("dataset", type=Path, nargs="?", metavar="DATASET_DIR")
        what.add_argument("--namespace", type=arguments.name, help="by the marks of its hits (POST /v1/judgements)")
        what.add_argument(
            "--answers",
            type=Path,
            metavar="FILE",
            help="answers instead of hits: a file of LoCoMo, LongMemEval, PrefEval or PersonaMem, as it is published",
        )
        parser.add_argument("--types", type=_names, default=(), metavar="A,B", help="only questions of these types")
        parser.add_argument("--groups", type=_names, default=(), metavar="A,B", help="only these groups")
        parser.add_argument("--top-k", type=arguments.whole_number(20, 100), default=DEFAULT_TOP_K, help="default: 50")
        parser.add_argument("--arms", action="store_true", help="measure every search arm alone as well")
        parser.add_argument("--compare", type=uuid.UUID, metavar="RUN_ID", help="an earlier run to compare with")
        parser.add_argument(
            "--tolerance", type=_points, default=0.0, metavar="POINTS", help="that it may be worse by (default: 0)"
        )
        parser.add_argument("--label", type=_label, default="", help="a name of your own for the run")
        parser.add_argument("--keep", action="store_true", help="keep the namespaces of the dataset to look at")
        add_answer_arguments(parser.add_argument_group("with --answers"))
        parser.add_argument("--json", action="store_true", help="print everything as one JSON object")

    def handle(self, *, compare: uuid.UUID | None, tolerance: float, keep: bool, **options: Any) -> None:
        if options["answers"]:
            self._answer(**options)
            return
        access = system_access(ACTOR)
        try:
            if compare:
                find(access, run_id=compare)
            run = self._run(keep=keep, **options)
            comparison = _compare_runs(access, compare, run, tolerance) if compare else None
        except KeyboardInterrupt:
            left = "Namespaces of finished groups are kept." if keep else "No namespace is left."
            raise CommandError(f"Interrupted. {left}", returncode=130) from None
        except MemosError as error:
            raise CommandError(error.message) from error
        if options["json"]:
            found = {**to_dict(run), "comparison": comparison.to_dict() if comparison else None}
            self.stdout.write(json.dumps(found, ensure_ascii=False))
        else:
            self._print(run, comparison)
            if keep and not run.namespace_id:
                self.stdout.write(f"The namespaces {PREFIX}{run.pk}-… are kept.")
        self._judge(run, comparison)

    def _answer(self, **options: Any) -> None:
        try:
            report = evaluate_answers(**{name: options[name] for name in ANSWER_OPTIONS})
        except KeyboardInterrupt:
            raise CommandError("Interrupted. The same command goes on from here.", returncode=130) from None
        except MemosError as error:
            raise CommandError(error.message) from error
        self.stdout.write(report.to_json() if options["json"] else report.to_text())

    def _run(
        self,
        *,
        dataset: Path | None,
        namespace: str | None,
        types: tuple[str, ...],
        groups: tuple[str, ...],
        top_k: int,
        arms: bool,
        label: str,
        keep: bool,
        **_: Any,
    ) -> EvaluationRun:
        wanted = Options(top_k, types, groups, arms)
        # disable=None draws the bar only on a terminal.
        with tqdm(unit="question", disable=None) as bar:

            def progress(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            if dataset is None:
                scope = scope_of_existing(namespace or "", actor=ACTOR)
                return run_namespace(scope, options=wanted, label=label, now=timezone.now, progress=progress)
            return run_dataset(
                read_dataset(dataset),
                options=wanted,
                label=label,
                actor=ACTOR,
                keep=keep,
                now=timezone.now,
                progress=progress,
            )

    def _print(self, run: EvaluationRun, comparison: Comparison | None) -> None:
        found = run.metrics
        write = self.stdout.write
        write(f"run {run.pk}: {run.dataset or run.namespace}, {found['documents']} memories in {found['groups']} "
              f"namespace{'' if found['groups'] == 1 else 's'}")  # fmt: skip
        for note in run.notes:
            write(f"  note: {note}")
        rows = [("all", found["questions"], found["overall"])]
        if len(found["by_type"]) > 1:
            rows += [(kind or "(no type)", one["questions"], one) for kind, one in sorted(found["by_type"].items())]
        write(_table(rows))
        if "arms" in found:
            write("\nEach search arm alone, both without any signal, all but one signal, and all together:")
            alone = [(name, found["questions"], found["arms"][name]) for name in ABLATIONS]
            write(_table([*alone, ("together", found["questions"], found["overall"])]))
        tokens, pollution, took = found["tokens"], found["pollution"], found["retrieval_ms"]
        write(f"\ntokens      {tokens['context']:,.0f} handed over ({tokens['hits']} hits) of {tokens['history']:,.0f} "
              f"in the namespace: {tokens['savings']:.1%} saved")  # fmt: skip
        write(f"pollution   {pollution['foreign']} of {pollution['hits']:,} hits from another namespace")
        write(f"retrieval   {took['p50']:.1f} ms median, {took['p95']:.1f} ms at the 95th percentile")
        if comparison:
            write(_difference(comparison))

    def _judge(self, run: EvaluationRun, comparison: Comparison | None) -> None:
        """Raise CommandError with the exit status if the run is not good enough."""
        faults = []
        if foreign := run.metrics["pollution"]["foreign"]:
            faults.append(f"{foreign} hits came from another namespace than the one that was asked.")
        if comparison and comparison.regressions:
            faults.append(f"Worse than run {comparison.base.pk}: {', '.join(comparison.regressions)}.")
        if faults:
            raise CommandError(" ".join(faults), returncode=NOT_GOOD_ENOUGH)


def _compare_runs(access: Any, base: uuid.UUID, run: EvaluationRun, tolerance: float) -> Comparison:
    return compare(access, base_id=base, run_id=run.pk, tolerance=tolerance / 100)


def _table(rows: list[tuple[str, int, dict[str, float]]]) -> str:
    """Return a table of the figures in percent, one line each."""
    width = max(len(name) for name, _, _ in rows)
    lines = ["  ".join(["".ljust(width), "questions", *(name.rjust(7) for name in metrics.NAMES)])]
    for name, count, figures in rows:
        cells = (f"{100 * figures[one]:.1f}".rjust(7) for one in metrics.NAMES)
        lines.append("  ".join([name.ljust(width), str(count).rjust(9), *cells]))
    return "\n".join(lines)


def _difference(comparison: Comparison) -> str:
    lines = [f"\nAgainst run {comparison.base.pk} on the {comparison.questions} questions that both asked, in points:"]
    for name, one in comparison.figures.items():
        difference, low, high = (
            100 * value for value in (one.interval.difference, one.interval.low, one.interval.high)
        )
        sure = "worse" if high < 0 else "better" if low > 0 else "same" if low == high else "not sure"
        lines.append(
            f"{name:8}{100 * one.base:6.1f} → {100 * one.run:5.1f}  {difference:+6.2f}  "
            f"(95 %: {low:+.2f} to {high:+.2f})  {sure}"
        )
    left_out = comparison.only_in_base + comparison.only_in_run
    if left_out:
        lines.append(f"{left_out} questions are of one run only, or have other evidence there: not compared.")
    if not comparison.same_content:
        lines.append("The runs measured different contents: a difference may come from that.")
    return "\n".join(lines)


def _names(value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


def _label(value: str) -> str:
    if len(value) > MAX_LABEL_CHARS or "\0" in value:
        raise ArgumentTypeError(f"a label has up to {MAX_LABEL_CHARS} characters")
    return value


def _points(value: str) -> float:
    try:
        points = float(value)
    except ValueError:
        raise ArgumentTypeError(f"{value!r} is not a number") from None
    if not 0 <= points <= 100:
        raise ArgumentTypeError(f"{value} is outside 0..100")
    return points
