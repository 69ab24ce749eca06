"""Evaluations in the browser: all runs, one run, a comparison of two, marked questions, and starting a run."""

from __future__ import annotations

from playwright.sync_api import expect

from memory.models import EvaluationRun
from tests.e2e.conftest import check_looks
from tests.ops.test_evaluation_page import marked, measured  # noqa: F401 - the same world as its page tests


def test_runs_one_run_and_a_comparison(open_page, root, marked):  # noqa: F811
    base, run = measured(marked.harbour, arms=True), measured(marked.harbour)
    page = open_page("/ops/evaluation/", client=root)
    one = page.locator(f'input[name="base"][value="{base.pk}"]')
    other = page.locator(f'input[name="run"][value="{run.pk}"]')
    compare = page.get_by_role("button", name="Compare the two marked")
    trend = page.locator(".chart-title", has_text="Trend of harbour")
    check_looks(page, "evaluation", trend, pressed=[one, other, compare])
    one.check()
    other.check()
    compare.click()
    check_looks(page, "evaluation-compare", page.get_by_role("heading", name="Two runs compared"))
    page.goto(f"/ops/evaluation/{base.pk}/")
    check_looks(page, "evaluation-run", page.get_by_role("heading", name="With parts of the search"))


def test_empty_and_masked(open_page, marked, grant_console):  # noqa: F811
    clerk = grant_console("harbour")
    page = open_page("/ops/evaluation/", client=clerk)
    check_looks(page, "evaluation-empty", page.get_by_text("Nothing was measured yet"))
    page.goto("/ops/evaluation/judgements/")
    expect(page.get_by_text("Who boards")).to_have_count(0)
    check_looks(page, "evaluation-judgements")


def test_a_run_is_started(open_page, root, marked):  # noqa: F811
    page = open_page("/ops/evaluation/?ns=harbour", client=root)
    page.get_by_label("A label of your own").fill("by hand")
    page.get_by_role("button", name="Start").press("Enter")
    expect(page.get_by_role("heading", name="harbour · by hand")).to_be_visible()
    expect(page.get_by_text("No figures yet")).to_be_visible()
    assert EvaluationRun.objects.across_namespaces().get().label == "by hand"
