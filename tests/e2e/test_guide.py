"""/guide/ in a browser: the policy blocks nothing, the palette changes, and the search works in both languages."""

from __future__ import annotations

import pytest

from tests.docs.test_guide import built

pytestmark = built


def test_the_guide_is_readable_and_nothing_is_blocked(open_page):
    page = open_page("/guide/")

    page.get_by_role("heading", name="MemOS", level=1).wait_for()
    page.locator("label[for=__palette_1]:not([hidden]), label[for=__palette_0]:not([hidden])").first.click()
    page.goto(page.url + "guides/console/")
    page.get_by_role("heading", name="Why did this not come back?").wait_for()


@pytest.mark.parametrize(
    ("path", "words", "found"),
    [
        ("", "erase", "Erase a person"),
        ("", "forget a person", "Erase a person"),
        ("", "reset password", "Troubleshooting"),
        ("zh/", "删除", "彻底删除一个人"),
        ("zh/", "忘记一个人", "彻底删除一个人"),
        ("zh/", "命名空间", "命名空间、会话、说话人"),
    ],
)
def test_the_search_finds_pages(open_page, path, words, found):
    page = open_page(f"/guide/{path}")

    page.keyboard.press("f")
    page.locator(".md-search__input").fill(words)
    page.locator(".md-search-result").get_by_text(found).first.wait_for(timeout=20_000)
