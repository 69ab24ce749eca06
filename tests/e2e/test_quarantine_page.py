"""The review queue in the browser: figures, masked texts, and deciding a contradiction."""

from __future__ import annotations

from playwright.sync_api import expect

from memory.models import Memory
from tests.e2e.conftest import check_looks
from tests.ops.test_quarantine_page import doubtful  # noqa: F401 - the same world as its page tests


def test_the_queue(open_page, root, doubtful):  # noqa: F811
    page = open_page("/ops/quarantine/", client=root)
    review = page.get_by_role("link", name="Review 3 items")
    check_looks(page, "quarantine", review, page.get_by_text("Both cannot hold."))


def test_empty_and_masked(open_page, doubtful, grant_console):  # noqa: F811
    page = open_page("/ops/quarantine/", client=grant_console("harbour"))
    expect(page.get_by_text("Both cannot hold.")).to_have_count(0)
    check_looks(page, "quarantine-masked")
    page = open_page("/ops/quarantine/", client=grant_console())
    check_looks(page, "quarantine-empty", page.get_by_text("Nothing was kept apart"))


def test_a_contradiction_is_superseded_by_keyboard(open_page, root, doubtful):  # noqa: F811
    page = open_page("/ops/quarantine/?review=contradiction", client=root)
    page.get_by_role("textbox", name="Why").fill("The pilot said so")
    page.get_by_role("button", name="The later one holds").press("Enter")
    expect(page.get_by_text("Superseded: the other memory holds in its place.")).to_be_visible()
    expect(page.get_by_text("No memory is in doubt")).to_be_visible()
    assert "review=contradiction" in page.url
    assert Memory.objects.across_namespaces().get(pk=doubtful.ids[0]).superseded_by == doubtful.ids[1]
