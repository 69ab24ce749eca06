from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memory.evaluation import measure
from memory.models import EvaluationRun, Memory, Namespace
from tests.evaluation.conftest import write_dataset

pytestmark = pytest.mark.django_db


def evaluated(*arguments: object) -> str:
    out = StringIO()
    call_command("evaluate", *map(str, arguments), stdout=out)
    return out.getvalue()


def run_of(*arguments: object) -> dict:
    return json.loads(evaluated(*arguments, "--json"))


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Write a dataset of twenty questions, each of which one memory answers word for word."""
    things = [f"thing{n}" for n in range(20)]
    return write_dataset(
        tmp_path / "things",
        corpus=[
            {"_id": thing, "group": "g", "text": f"The {thing} lies in drawer {n}."} for n, thing in enumerate(things)
        ],
        queries=[{"_id": f"q-{thing}", "group": "g", "text": f"Where lies {thing}?"} for thing in things],
        qrels=[(f"q-{thing}", thing, 1) for thing in things],
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "one of the arguments DATASET_DIR --namespace --answers is required"),
        (["nowhere"], r"corpus\.jsonl cannot be read"),
        (["--namespace", "nobody"], "no namespace 'nobody'"),
        (["x", "--top-k", "19"], "outside 20..100"),
        (["x", "--tolerance", "-1"], r"outside 0\.\.100"),
        (["x", "--compare", "abc"], "invalid UUID"),
        (["x", "--label", "x" * 101], "up to 100 characters"),
        (["x", "--compare", "01a1f915-2054-75a1-9f3a-d010f79b72ce"], "no evaluation 01a1f915"),
    ],
)
def test_refusals(arguments: list[str], problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        evaluated(*arguments)
    assert not EvaluationRun.objects.across_namespaces().exists()


def test_it_prints_what_was_measured_and_leaves_nothing(dataset: Path) -> None:
    out = evaluated(dataset, "--arms", "--label", "first")
    run = EvaluationRun.objects.across_namespaces().get()

    assert out.startswith(f"run {run.pk}: things, 20 memories in 1 namespace\n")
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    assert lines["questions"][1:] == ["R@1", "R@5", "R@10", "R@20", "all@10", "Hit@10", "MRR", "nDCG@10"]
    assert lines["lexical"] == ["lexical", "20", *["100.0"] * 8]
    assert lines["pollution"][1] == "0"
    assert {"all", "dense", "together", "tokens", "retrieval"} <= lines.keys()
    assert run.label == "first"
    assert not Memory.objects.across_namespaces().exists()


def test_the_same_twice_is_no_regression(dataset: Path) -> None:
    first = run_of(dataset)
    second = run_of(dataset, "--compare", first["id"])

    assert second["comparison"]["questions"] == 20
    assert second["comparison"]["regressions"] == []
    assert {one["difference"] for one in second["comparison"]["metrics"].values()} == {0}
    assert "MRR      100.0 → 100.0   +0.00  (95 %: +0.00 to +0.00)  same" in evaluated(
        dataset, "--compare", first["id"]
    )


def test_a_clear_regression_ends_with_a_status_of_its_own(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run_of(dataset)
    honest = measure.retrieve

    def turned(*given, **named):
        found = honest(*given, **named)
        found.hits.reverse()
        return found

    monkeypatch.setattr(measure, "retrieve", turned)
    with pytest.raises(CommandError, match=f"Worse than run {first['id']}: .*MRR") as refused:
        evaluated(dataset, "--compare", first["id"])
    assert refused.value.returncode == 3
    # A difference within the tolerance is no regression.
    evaluated(dataset, "--compare", first["id"], "--tolerance", "100")


def test_pollution_ends_with_a_status_of_its_own(dataset: Path, alice, remember, monkeypatch) -> None:
    memory_id = remember(alice, "mine")
    honest = measure.foreign_hits
    monkeypatch.setattr(
        measure,
        "foreign_hits",
        lambda scope, ids: honest(scope, [*ids, Memory.objects.across_namespaces().get(pk=memory_id).pk]),
    )
    with pytest.raises(CommandError, match="1 hits came from another namespace") as refused:
        evaluated(dataset)
    assert refused.value.returncode == 3


def test_ctrl_c_ends_with_130_and_leaves_no_namespace(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "retrieve", interrupted)
    with pytest.raises(CommandError, match="Interrupted") as refused:
        evaluated(dataset)
    assert refused.value.returncode == 130
    assert not Namespace.objects.exists()
    assert EvaluationRun.objects.across_namespaces().get().error == "Interrupted."


def test_kept_namespaces_are_named(dataset: Path) -> None:
    out = evaluated(dataset, "--keep")

    [namespace] = Namespace.objects.all()
    assert f"evaluation-{EvaluationRun.objects.across_namespaces().get().pk}-… are kept." in out
    assert namespace.name.endswith("-1-g")


def test_a_namespaces_own_judgements(alice, remember) -> None:
    marks = [{"memory_id": remember(alice, "Green tea."), "relevant": True}]
    alice.post("/v1/judgements", {"namespace": "alice", "query": "Which tea?", "marks": marks})

    assert run_of("--namespace", "alice")["metrics"]["overall"]["MRR"] == 1
