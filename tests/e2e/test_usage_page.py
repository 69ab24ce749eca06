"""Usage in the browser: figures, charts, tables and budgets, and the page of who calls no model."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import MATRIX, check
from tests.ops.test_usage_page import used  # noqa: F401 - the same world as its page tests


@pytest.mark.parametrize(("theme", "width"), MATRIX)
def test_the_page(open_page, root, used, theme, width):  # noqa: F811
    page = open_page("/ops/usage/", client=root, theme=theme, width=width)
    expect(page.get_by_role("heading", name="By purpose")).to_be_visible()
    expect(page.get_by_text("Spent").first).to_be_visible()
    check(page, f"usage-{theme}-{width}")


@pytest.mark.parametrize(("theme", "width"), MATRIX)
def test_without_calls(open_page, root, world, theme, width):
    page = open_page("/ops/usage/", client=root, theme=theme, width=width)
    expect(page.get_by_text("No model was called over the network")).to_be_visible()
    check(page, f"usage-empty-{theme}-{width}")
