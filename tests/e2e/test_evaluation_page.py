"""Evaluations in the browser: runs, one run, two compared, marked questions, a run that is started."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from memory.models import EvaluationRun
from tests.e2e.conftest import MATRIX, check
from tests.ops.test_evaluation_page import marked, measured  # noqa: F401 - the same world as its page tests


@pytest.mark.parametrize(("theme", "width"), MATRIX)
def test_runs_one_run_and_a_comparison(open_page, root, marked, theme, width):  # noqa: F811
    base, run = measured(marked.harbour, arms=True), measured(marked.harbour)
    page = open_page("/ops/evaluation/", client=root, theme=theme, width=width)
    expect(page.locator(".chart-title", has_text="Trend of harbour")).to_be_visible()
    check(page, f"evaluation-{theme}-{width}")
    page.locator(f'input[name="base"][value="{base.pk}"]').check()
    page.locator(f'input[name="run"][value="{run.pk}"]').check()
    page.get_by_role("button", name="Compare the two marked").click()
    expect(page.get_by_role("heading", name="Two runs compared")).to_be_visible()
    check(page, f"evaluation-compare-{theme}-{width}")
    page.goto(f"/ops/evaluation/{base.pk}/")
    expect(page.get_by_role("heading", name="With parts of the search")).to_be_visible()
    check(page, f"evaluation-run-{theme}-{width}")


@pytest.mark.parametrize(("theme", "width"), MATRIX)
def test_empty_and_masked(open_page, marked, grant_console, theme, width):  # noqa: F811
    clerk = grant_console("harbour")
    page = open_page("/ops/evaluation/", client=clerk, theme=theme, width=width)
    expect(page.get_by_text("Nothing was measured yet")).to_be_visible()
    check(page, f"evaluation-empty-{theme}-{width}")
    page.goto("/ops/evaluation/judgements/")
    expect(page.get_by_text("Who boards")).to_have_count(0)
    check(page, f"evaluation-judgements-{theme}-{width}")


def test_a_run_is_started(open_page, root, marked):  # noqa: F811
    page = open_page("/ops/evaluation/?ns=harbour", client=root)
    page.get_by_label("A label of your own").fill("by hand")
    page.get_by_role("button", name="Start").press("Enter")
    expect(page.get_by_role("heading", name="harbour · by hand")).to_be_visible()
    expect(page.get_by_text("No figures yet")).to_be_visible()
    assert EvaluationRun.objects.across_namespaces().get().label == "by hand"
