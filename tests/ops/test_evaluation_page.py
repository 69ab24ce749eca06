from __future__ import annotations

import re
import uuid

import pytest

from memory.evaluation.runner import run_namespace
from memory.models import EvaluationResult, EvaluationRun, Job, RelevanceJudgement
from memory.services.evaluation.judgements import Mark, judge
from memory.services.evaluation.runs import Options
from tests.ops.conftest import HOSTILE, NOW, World, scope_of

URL, START, COMPARE = "/ops/evaluation/", "/ops/evaluation/start/", "/ops/evaluation/compare/"
READ = ("ops.view_memory_text",)


def measured(scope, **options) -> EvaluationRun:
    return run_namespace(
        scope, options=Options(**options), label="nightly", now=lambda: NOW, progress=lambda done, total: None
    )


@pytest.fixture
def marked(world: World) -> World:
    """Mark two questions of `harbour` and one of `bakery`."""
    judge(
        world.harbour,
        query_text="Who boards at buoy seven?",
        marks=[Mark(world.ids[0], True), Mark(world.ids[1], False)],
        now=NOW,
    )
    judge(world.harbour, query_text=f"Is crane four in service? {HOSTILE}", marks=[Mark(world.ids[1], True)], now=NOW)
    judge(scope_of("bakery"), query_text="How long does dough rest?", marks=[Mark(world.elsewhere, True)], now=NOW)
    return world


def test_figures_of_the_list_are_those_of_the_run(marked, staff):
    run = measured(marked.harbour)
    page = staff.get(URL).content.decode()
    assert f"{run.metrics['overall']['R@10']:.1%}" in page
    assert f"{run.metrics['overall']['MRR']:.3f}" in page
    assert "3 marked questions, 4 marks" in page
    assert RelevanceJudgement.objects.across_namespaces().count() == 4


def test_the_trend_is_drawn_from_two_runs_on(marked, staff):
    measured(marked.harbour)
    assert "Trend of harbour" not in staff.get(URL).content.decode()
    measured(marked.harbour)
    assert "Trend of harbour" in staff.get(URL).content.decode()
    measured(scope_of("bakery"))
    page = staff.get(URL, {"set": "namespace:harbour"}).content.decode()
    assert "Trend of harbour" in page


def test_only_runs_in_reach_are_shown(marked, grant_console):
    run = measured(marked.harbour)
    dataset = EvaluationRun.objects.create(dataset="public", actor="test")
    clerk = grant_console("bakery", permissions=READ)
    page = clerk.get(URL).content.decode()
    assert "Nothing was measured yet" in page
    assert "1 marked question, 1 marks" in page
    for identity in (run.pk, dataset.pk, uuid.uuid4()):
        assert clerk.get(f"{URL}{identity}/").status_code == 404
    assert clerk.get(COMPARE, {"base": run.pk, "run": dataset.pk}).status_code == 404
    assert "Who boards" not in clerk.get(f"{URL}judgements/").content.decode()
    assert clerk.get(URL, {"ns": "harbour"}).status_code == 404


def test_one_run_shows_parts_weights_and_questions(marked, staff):
    run = measured(marked.harbour, arms=True)
    page = staff.get(f"{URL}{run.pk}/").content.decode()
    assert "R@10 with parts of the search" in page
    assert "without people" in page
    assert "Weights" in page
    tokens = run.metrics["tokens"]
    assert f"{tokens['savings']:.1%}" in page
    assert f"0 of {run.metrics['pollution']['hits']:,} hits" in page


def test_a_run_without_figures_says_so(marked, staff):
    waiting = EvaluationRun.objects.create(dataset="public", actor="test")
    failed = EvaluationRun.objects.create(dataset="other", actor="test", status="failed", error="The folder is gone.")
    assert "No figures yet" in staff.get(f"{URL}{waiting.pk}/").content.decode()
    assert "The folder is gone." in staff.get(f"{URL}{failed.pk}/").content.decode()


def test_two_runs_are_compared_on_what_both_asked(marked, staff):
    base, run = measured(marked.harbour), measured(marked.harbour)
    page = staff.get(COMPARE, {"base": base.pk, "run": run.pk}).content.decode()
    assert "On the 2 questions that both asked." in page
    assert page.count("No clear difference") == 8
    assert "very same content" not in page


def test_questions_that_changed_are_named_and_masked(marked, staff, grant_console):
    base, run = measured(marked.harbour), measured(marked.harbour)
    results = EvaluationResult.objects.filter(namespace_id=base.namespace_id, run_id=base.pk, number=1)
    result = results.get()
    result.metrics = dict.fromkeys(result.metrics, 0.0)
    results.update(metrics=result.metrics)
    text = RelevanceJudgement.objects.across_namespaces().get(query_hash=result.query_id, relevant=True).query_text[:12]
    query = {"base": base.pk, "run": run.pk}
    page = staff.get(COMPARE, query).content.decode()
    assert re.search(r'Questions that got better <span class="count">1<', page)
    assert text in page
    assert "<script>alert(" not in page
    masked = grant_console("harbour").get(COMPARE, query).content.decode()
    assert text not in masked
    assert "•••" in masked


def test_comparing_asks_for_two_runs(marked, staff):
    run = measured(marked.harbour)
    assert staff.get(COMPARE, {"base": run.pk, "run": run.pk}).status_code == 302
    assert staff.get(COMPARE, {"base": "x"}).status_code == 302


def test_starting_queues_a_job_for_those_who_may(marked, staff, grant_console):
    clerk = grant_console("harbour", permissions=READ)
    assert clerk.post(START, {"namespace": "harbour"}).status_code == 403
    assert staff.get(START).status_code == 405
    elsewhere = grant_console("bakery", permissions=("memory.add_evaluationrun",))
    assert elsewhere.post(START, {"namespace": "harbour"}).status_code == 404
    assert not EvaluationRun.objects.across_namespaces().exists()
    answer = staff.post(START, {"namespace": "harbour", "label": "by hand", "arms": "1"})
    run = EvaluationRun.objects.across_namespaces().get()
    assert str(run.pk) in answer.headers["Location"]
    assert (run.actor, run.label, run.options["arms"]) == ("staff:ann", "by hand", True)
    assert Job.objects.across_namespaces().filter(kind="evaluate", arguments__1=str(run.pk)).exists()
    staff.post(START, {"namespace": "harbour"})
    assert EvaluationRun.objects.across_namespaces().count() == 1


def test_a_namespace_without_marks_is_refused_with_the_reason(world, staff):
    staff.post(START, {"namespace": "harbour"})
    assert "no active memory is marked relevant" in staff.get(URL).content.decode()
    assert not EvaluationRun.objects.across_namespaces().exists()


def test_marked_questions_have_their_counts(marked, staff, grant_console):
    page = staff.get(f"{URL}judgements/", {"ns": "harbour"}).content.decode()
    assert re.search(
        r"Who boards at buoy seven\?</bdi></th>.*?<td class=\"number\"[^>]*>1</td><td class=\"number\"[^>]*>1<",
        page,
        re.S,
    )
    assert "<script>alert(" not in page
    masked = grant_console("harbour").get(f"{URL}judgements/").content.decode()
    assert "Who boards" not in masked
    assert "•••" in masked


@pytest.mark.parametrize("rows", [10, 500])
def test_the_pages_ask_as_often_whatever_there_is(marked, staff, django_assert_max_num_queries, rows):
    run = measured(marked.harbour)
    EvaluationRun.objects.bulk_create(
        EvaluationRun(dataset=f"set {number % 7}", actor="test", status="finished", metrics=run.metrics)
        for number in range(rows)
    )
    with django_assert_max_num_queries(14):
        assert staff.get(URL).status_code == 200
    with django_assert_max_num_queries(10):
        assert staff.get(f"{URL}{run.pk}/").status_code == 200
