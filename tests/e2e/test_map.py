"""The map and the page about decay as people use them: by pointer, by keyboard, without WebGL and without scripts."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memory.models import Memory
from memory.services.projection import fit
from tests.e2e.conftest import ARGUMENTS, CHROMIUM, check, check_looks, in_looks, log_in, watch
from tests.ops.conftest import turns

URL = "/ops/map/?ns=harbour"


@pytest.fixture
def drawn(world):
    for session, said in (("cargo", "Ship number{} unloads cargo."), ("ovens", "Oven number{} bakes sourdough.")):
        turns(world.harbour, session, *(said.format(one) for one in range(40)))
    Memory.objects.across_namespaces().filter(session="ovens").update(occurred_at=timezone.now() - timedelta(days=90))
    fit.project(world.harbour, now=timezone.now())
    return world


def ready(page):
    expect(page.locator("[data-map]")).to_have_attribute("data-ready", "84")
    return page.locator("[data-canvas]")


def test_the_map(open_page, root, drawn):
    page = open_page(URL, client=root)
    for theme, width in in_looks(page):
        page.reload()
        ready(page)
        expect(page.get_by_text("84 / 84")).to_be_visible()
        check(page, f"map-{theme}-{width}")


def test_no_map_yet(open_page, root, world):
    page = open_page(URL, client=root)
    check_looks(page, "map-empty", page.get_by_text("No map of this namespace yet"))


def test_a_lasso_opens_the_list_of_what_it_holds(open_page, root, drawn):
    page = open_page(URL, client=root)
    canvas = ready(page)
    page.get_by_role("button", name="Lasso").click()
    box = canvas.bounding_box()
    corners = [(2, 2), (box["width"] - 2, 2), (box["width"] - 2, box["height"] - 2), (2, box["height"] - 2)]
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    page.mouse.up()
    expect(page.get_by_role("heading", name="84 selected")).to_be_visible()
    page.get_by_role("button", name="Open in the admin").click()
    page.wait_for_url(re.compile("pk__in="))
    expect(page.locator("#result_list tbody tr")).to_have_count(50)
    expect(page.locator("#changelist")).to_contain_text("84")


def test_a_cluster_is_selected_and_archived_with_a_reason(open_page, root, drawn):
    page = open_page(URL, client=root)
    ready(page)
    row = page.locator(".clumps tbody tr").first
    size = int(row.locator("td a").inner_text())
    row.get_by_role("button", name="Select on the map").click()
    expect(page.get_by_role("heading", name=f"{size} selected")).to_be_visible()
    page.get_by_text("Archive them here").click()
    page.get_by_label("Why").fill("no longer of use")
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("archived")
    assert Memory.objects.across_namespaces().filter(state="archived").count() == size


def test_counts_of_the_legend_open_what_they_count(open_page, root, drawn):
    page = open_page(URL, client=root)
    ready(page)
    page.get_by_label("Colour").select_option("session")
    page.get_by_role("link", name="40: open them in the admin").first.click()
    page.wait_for_url(re.compile("pk__in="))
    expect(page.locator("#changelist")).to_contain_text("40")
    turns(drawn.harbour, "fog", *(f"Fog horn number{one} sounds." for one in range(30)))
    fit.project(drawn.harbour, now=timezone.now())
    page.goto(URL)
    page.locator("[data-visible]").get_by_role("button", name="114: open them in the admin").click()
    page.wait_for_url(re.compile("picked=selection"))
    expect(page.locator("#changelist")).to_contain_text("114")


def test_by_keyboard_from_point_to_point_and_into_one(open_page, root, drawn):
    page = open_page(URL, client=root)
    canvas = ready(page)
    canvas.focus()
    page.keyboard.press("ArrowRight")
    status = page.locator("[data-status]")
    expect(status).to_contain_text("of 84")
    first = status.inner_text()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert re.match(r"Point \d+ of 84", status.inner_text())
    assert first
    page.keyboard.press("Enter")
    expect(page.locator("#drawer [data-near]")).to_have_count(8)
    check(page, "map-memory")
    page.keyboard.press("Escape")
    expect(page.locator("#drawer")).to_be_hidden()
    canvas.focus()
    page.keyboard.press(" ")
    expect(page.get_by_role("heading", name="1 selected")).to_be_visible()


def test_words_time_and_colours(open_page, root, drawn):
    page = open_page(URL, client=root)
    ready(page)
    page.get_by_label("Words to highlight").fill("sourdough")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_text("40 points have these words")).to_be_visible()
    assert "sourdough" not in page.url
    page.get_by_label("Colour").select_option("session")
    expect(page.locator("[data-legend]")).to_contain_text("ovens")
    page.locator("[data-to]").fill("300")
    expect(page.locator("[data-visible]")).to_have_text(re.compile(r"^\d+ / 84$"))
    page.get_by_role("button", name=re.compile("^cargo")).click()
    expect(page.get_by_role("button", name=re.compile("^cargo"))).to_have_attribute("aria-pressed", "false")
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").click()
    assert saved.value.suggested_filename == "map-harbour.png"


def test_three_dimensions_without_turning_for_who_wants_stillness(open_page, root, drawn):
    page = open_page(URL, client=root, reduced_motion="reduce")
    ready(page)
    page.get_by_role("button", name="3-D").click()
    space = page.locator("[data-canvas-3d]")
    expect(space).to_be_visible()
    page.wait_for_timeout(800)
    first = space.screenshot()
    page.wait_for_timeout(500)
    assert space.screenshot() == first
    page.get_by_role("button", name="2-D").click()
    expect(page.locator("[data-canvas]")).to_be_visible()


def test_without_webgl_it_stays_flat_and_says_so(browser_type, live_server, root, drawn, watched):
    browser = browser_type.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, "--disable-3d-apis"])
    try:
        context = browser.new_context(base_url=live_server.url, viewport={"width": 1400, "height": 900})
        log_in(context, root, live_server.url)
        page = context.new_page()
        watch(page, watched, live_server.url)
        page.goto(URL)
        ready(page)
        page.get_by_role("button", name="3-D").click()
        expect(page.get_by_text("cannot draw in three dimensions")).to_be_visible()
        expect(page.locator("[data-canvas]")).to_be_visible()
    finally:
        browser.close()


def test_without_scripts_the_clusters_are_a_table_with_links(open_page, root, drawn):
    page = open_page(URL, client=root, java_script_enabled=False)
    expect(page.locator(".toolbar")).to_be_hidden()
    row = page.locator(".clumps tbody tr").first
    size = row.locator("td a").inner_text()
    row.locator("td a").click()
    expect(page.locator("#changelist")).to_contain_text(size)


def test_points_that_do_not_come_are_said(open_page, root, drawn, watched):
    watched.expected.append("503")
    page = open_page("/ops/", client=root)
    page.route("**/map/points/**", lambda route: route.fulfill(status=503))
    page.goto(URL)
    expect(page.get_by_text("The points could not be loaded.")).to_be_visible()
