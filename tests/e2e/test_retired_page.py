"""Retired statements in the browser: on the Overview, reinstated, retired again, and in detail."""

from __future__ import annotations

from playwright.sync_api import expect

from memory.models import Memory
from tests.e2e.conftest import check_looks
from tests.ops.test_retired import corrected  # noqa: F401 - the same world as its page tests


def test_the_pages(open_page, root, corrected):  # noqa: F811
    page = open_page("/ops/retired/", client=root)
    expect(page.get_by_role("button", name="Both hold")).to_have_count(3)
    check_looks(page, "retired", pressed=page.get_by_role("button", name="Both hold").all()[:1])
    page.goto("/ops/?ns=harbour")
    check_looks(page, "retired-overview", page.get_by_text("2 corrections were carried out in the last 7 days"))
    page.goto(f"/admin/memory/memory/{corrected[0]}/change/")
    # Similar memories are fetched when the section comes into view.
    page.locator("[data-similar]").scroll_into_view_if_needed()
    check_looks(page, "retired-memory", page.get_by_role("heading", name="What holds no longer"))
    page.goto("/ops/sessions/one/?ns=harbour&session=talk")
    check_looks(page, "retired-session", page.get_by_text("1 part retired").first)


def test_empty_and_masked(open_page, corrected, grant_console):  # noqa: F811
    clerk = grant_console("harbour", permissions=("memory.change_memory",))
    page = open_page("/ops/retired/", client=clerk)
    expect(page.get_by_text("chess")).to_have_count(0)
    check_looks(page, "retired-masked")
    page = open_page("/ops/retired/", client=grant_console())
    check_looks(page, "retired-empty", page.get_by_text("Nothing was retired lately"))


def test_both_hold_from_the_overview_and_back_again(open_page, root, corrected):  # noqa: F811
    old, whole, _ = corrected
    page = open_page("/ops/?ns=harbour", client=root)
    pair = page.locator("li", has_text="I love chess problems.").last
    pair.get_by_role("button", name="Both hold").press("Enter")

    expect(page.get_by_text("Both hold: search finds it again.")).to_be_visible()
    expect(page.get_by_text("1 correction was carried out in the last 7 days")).to_be_visible()
    assert "ns=harbour" in page.url
    assert Memory.objects.across_namespaces().get(pk=old).retired_spans == []

    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: it is out of search again.")).to_be_visible()
    expect(page.get_by_text("2 corrections were carried out in the last 7 days")).to_be_visible()
    assert Memory.objects.across_namespaces().get(pk=old).retired_spans == [0, 22]

    page.get_by_role("link", name="Show all").click()
    page.locator("li", has_text="I love rye bread.").get_by_role("link", name="Older memory").click()
    page.get_by_role("button", name="Let all of it hold again").click()
    expect(page.get_by_text("It holds again: search finds it.")).to_be_visible()
    expect(page.get_by_role("heading", name="What holds no longer")).to_have_count(0)
    assert Memory.objects.across_namespaces().get(pk=whole).superseded_by is None
