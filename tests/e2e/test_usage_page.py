"""Usage in the browser: figures, charts, tables and budgets, and a page without calls of models."""

from __future__ import annotations

from tests.e2e.conftest import check_looks
from tests.ops.test_usage_page import used  # noqa: F401 - the same world as its page tests


def test_the_page(open_page, root, used):  # noqa: F811
    page = open_page("/ops/usage/", client=root)
    check_looks(page, "usage", page.get_by_role("heading", name="By purpose"), page.get_by_text("Spent").first)


def test_without_calls(open_page, root, world):
    page = open_page("/ops/usage/", client=root)
    check_looks(page, "usage-empty", page.get_by_text("No model was called over the network"))
