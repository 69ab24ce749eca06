"""The radar as people use it: by mouse, by keyboard, on a phone, in the dark theme."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from memory.errors import RedisAway
from memory.models import RelevanceJudgement
from memory.stores import probes
from tests.e2e.conftest import check, check_looks, in_looks
from tests.ops.conftest import scope_of, turns

QUESTION = "When does the harbour pilot board?"


def ask(page, text=QUESTION, namespace="harbour"):
    page.get_by_label("Question").fill(text)
    page.get_by_label("Namespace").last.select_option(namespace)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_url(re.compile("/radar/p/"))


@pytest.fixture
def busy(world):
    turns(world.harbour, "day shift", *[f"The harbour pilot boards boat {number} at noon." for number in range(14)])
    turns(world.harbour, "a session with quite a long name", "The pilot asks for tea.", "The harbour is calm.")
    return world


def test_a_question_and_its_plot(open_page, root, busy):
    page = open_page("/ops/radar/", client=root)
    fields = [page.get_by_label("Question"), page.get_by_label("Namespace").last]
    check_looks(page, "radar-form", pressed=[*fields, page.get_by_role("button", name="Ask", exact=True)])
    ask(page)
    expect(page.get_by_role("heading", name="Candidates")).to_be_visible()
    expect(page.locator(".blip")).to_have_count(page.locator(".scores tbody tr[id]").count())
    for theme, width in in_looks(page):
        assert page.locator(".scores").evaluate("table => table.scrollWidth <= table.parentElement.clientWidth"), width
        check(page, f"radar-{theme}-{width}")


def test_two_settings_and_nothing_found(open_page, root, busy):
    page = open_page("/ops/radar/", client=root)
    expect(page.get_by_text("Setting B")).to_be_hidden()
    both = page.get_by_label("Compare with a second setting")
    both.check()
    second = page.get_by_role("group", name="Setting B")
    for _look in in_looks(page):
        both.click(trial=True)
        second.get_by_text("Filters and moments").click(trial=True)
    second.get_by_text("Filters and moments").click()
    second.get_by_label("Speaker").fill("Nobody")
    ask(page)
    differs = page.get_by_role("heading", name="What differs: A → B")
    check_looks(page, "radar-compare", differs, page.get_by_text("Nothing was found"))


def test_without_permission_and_without_text(open_page, world, watched, grant_console):
    watched.expected.append("403")
    page = open_page("/ops/radar/", client=grant_console("harbour"))
    expect(page.get_by_text("Can search in the console")).to_be_visible()
    prober = open_page("/ops/radar/", client=grant_console("harbour", permissions=("ops.run_probe",)), width=390)
    ask(prober)
    expect(prober.get_by_text("What memories say is masked")).to_be_visible()
    assert "buoy seven" not in prober.content()
    check(prober, "radar-masked-390")


def test_redis_away_keeps_what_was_typed(open_page, root, world, watched, monkeypatch):
    watched.expected.append("503")

    def away(*args, **kwargs):
        raise RedisAway("away")

    monkeypatch.setattr(probes, "keep", away)
    page = open_page("/ops/radar/", client=root)
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    expect(page.get_by_label("Question")).to_have_value(QUESTION)
    check(page, "radar-redis-away")


def test_the_plot_by_keyboard(open_page, root, busy):
    page = open_page("/ops/radar/", client=root)
    ask(page)
    dots = page.locator(".blip")
    expect(page.locator(".blip[tabindex='0']")).to_have_count(1)
    page.locator(".blip[data-place='1']").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".blip[data-place='2']")).to_be_focused()
    expect(page.locator(".scores tr.is-pointed")).to_have_count(1)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(f".blip[data-place='{dots.count()}']")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog", name="Details")
    expect(drawer.get_by_role("heading", name="Place 1")).to_be_visible()
    check(page, "radar-drawer")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(page.locator(".blip[data-place='1']")).to_be_focused()


def test_from_the_radar_to_why_not_to_a_mark(open_page, root, busy):
    page = open_page("/ops/radar/", client=root)
    ask(page)
    page.get_by_label("Id of a memory").fill(str(busy.ids[1]))
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#why").get_by_role("status")).to_contain_text(re.compile("candidate|No arm|came back"))
    assert "buoy" not in page.url
    page.locator(".score-text button").first.click()
    page.get_by_role("dialog", name="Details").get_by_role("button", name="Relevant", exact=True).click()
    expect(page.get_by_text("Marked as relevant.")).to_be_visible()
    expect(page.get_by_text("marked relevant").first).to_be_visible()
    assert RelevanceJudgement.objects.across_namespaces().get().query_text == QUESTION


def test_hostile_text_does_nothing(open_page, root, world):
    scope = scope_of("harbour")
    turns(scope, "<img src=x onerror=alert(1)>", "harbour \u202e reversed \x1b[31m red [x](javascript:alert(1))")
    turns(scope, "long", "harbour " + "w" * 50_000)
    page = open_page("/ops/radar/", client=root, width=390)
    ask(page, text="<script>alert(2)</script> harbour memory w")
    expect(page.locator(".blip").first).to_be_visible()
    check(page, "radar-hostile-390")


def test_it_works_without_script_and_in_forced_colours(open_page, root, busy):
    page = open_page("/ops/radar/", client=root, java_script_enabled=False, forced_colors="active")
    ask(page)
    place = page.locator(".blip[data-place='2']")
    expect(page.locator(place.get_attribute("href"))).to_have_count(1)
