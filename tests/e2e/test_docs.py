"""/docs: the API's documentation works under the policy of all pages, from files of this server."""

from __future__ import annotations


def test_the_routes_are_shown_and_nothing_is_blocked(open_page):
    page = open_page("/docs")

    page.get_by_text("/v1/ingest", exact=True).first.wait_for(timeout=20_000)
    page.locator("#operations-v1-query").or_(page.get_by_text("/v1/query", exact=True).first).first.click()
    page.get_by_role("button", name="Try it out").first.wait_for()
