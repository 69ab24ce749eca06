"""The page Decay in a browser: the grid by keyboard, trying values, and actions on memories that leave soon."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memory.models import Memory, NamespacePolicy
from tests.e2e.conftest import check_looks

URL = "/ops/decay/?ns=harbour"


@pytest.fixture
def faded(world):
    """Give the memories several ages, and make the hostile one weak."""
    now = timezone.now()
    for memory_id, days in zip(world.ids, (2, 40, 200, 2000), strict=True):
        Memory.objects.across_namespaces().filter(pk=memory_id).update(created_at=now - timedelta(days=days))
    return world


def test_decay(open_page, root, faded):
    page = open_page(f"{URL}&said=90&floor=0.1", client=root)
    assert "alert(" not in page.title()
    check_looks(page, "decay", page.get_by_role("heading", name="Age and strength"))


def test_a_choice_of_namespaces(open_page, root, faded):
    page = open_page("/ops/decay/", client=root)
    chosen = page.get_by_role("link", name="harbour")
    check_looks(page, "decay-choose", pressed=[chosen])
    chosen.click()
    page.wait_for_url(re.compile("ns=harbour"))


def test_the_grid_by_keyboard_leads_to_the_rows(open_page, root, faded):
    page = open_page(URL, client=root)
    links = page.locator("[data-heat] a")
    expect(page.locator('[data-heat] a[tabindex="0"]')).to_have_count(1)
    assert links.count() >= 3
    links.first.focus()
    page.keyboard.press("ArrowDown")
    count = page.evaluate("document.activeElement.textContent")
    assert page.evaluate("document.activeElement.closest('[data-heat]') !== null")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("picked=fading"))
    expect(page.locator("#result_list tbody tr")).to_have_count(int(count))


def test_a_slider_shows_what_it_would_do_and_saves_nothing(open_page, root, faded):
    page = open_page(URL, client=root)
    before = page.locator(".verdict-number a").inner_text()
    slider = page.get_by_label("Floor of strength")
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator(".verdict-number a")).not_to_have_text(before)
    expect(slider).to_be_focused()
    assert "floor=0.4" in page.url
    archived = page.locator(".verdict-number a").inner_text()
    page.reload()
    expect(page.locator(".verdict-number a")).to_have_text(archived)
    page.locator(".verdict-number a").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(int(archived))
    assert not NamespacePolicy.objects.across_namespaces().exists()
    assert Memory.objects.across_namespaces().filter(state="active").count() == 5


def test_what_leaves_is_pinned(open_page, root, faded):
    page = open_page(URL, client=root)
    page.get_by_label("Select all that are shown").check()
    page.get_by_label("Why").fill("we still need it")
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("1 memory was pinned.")
    assert Memory.objects.across_namespaces().get(pk=faded.hostile).pinned
    expect(page.get_by_text("Nothing leaves soon")).to_be_visible()
