"""The frame and the Overview as people see them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memory.models import Memory, RequestMinute
from memory.services.monitoring import health, request_log
from tests.e2e.conftest import check, check_looks


@pytest.fixture
def traffic(transactional_db):
    """Record half an hour of requests."""
    now = timezone.now().replace(second=0, microsecond=0)
    for minute in range(1, 31):
        for route, count, took in (("v1/ingest", 5 + minute % 7, 12), ("v1/query", 9 + minute % 4, 4 + minute % 30)):
            latency = [0] * (len(request_log.BOUNDS) + 1)
            latency[request_log.bucket_of(took)] = count
            RequestMinute.objects.create(
                namespace_id=0,
                minute=now - timedelta(minutes=minute),
                route=route,
                count=count,
                errors=0,
                empty_recalls=minute % 2 if route == "v1/query" else 0,
                latency=latency,
            )


def test_overview_with_data(open_page, root, world, traffic):
    Memory.objects.across_namespaces().filter(pk=world.ids[0]).update(review="contradiction")
    page = open_page("/ops/?window=1h", client=root)
    assert "alert(" not in page.title()
    heading = page.get_by_role("heading", name="Overview", level=1)
    check_looks(page, "overview", heading, page.get_by_text("1 memory contradicts another"))


def test_overview_of_an_empty_server(open_page, root):
    page = open_page("/ops/", client=root)
    check_looks(page, "overview-empty", page.get_by_text("0 of 5 done"))


def test_overview_without_permission(open_page, world, watched, django_user_model):
    from django.test import Client

    client = Client()
    client.force_login(django_user_model.objects.create_user("clerk", is_staff=True))
    watched.expected.append("403")
    page = open_page("/ops/", client=client)
    check_looks(page, "forbidden", page.get_by_text("Can open the console"))


def test_the_theme_is_chosen_remembered_and_shared_with_the_admin(open_page, root):
    page = open_page("/ops/", client=root)
    page.get_by_label("Theme, language, account").click()
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.goto("/admin/")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.goto("/ops/")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_language_is_chosen_and_kept(open_page, root):
    page = open_page("/ops/?window=7d", client=root)
    page.get_by_label("Theme, language, account").click()
    page.get_by_role("button", name="简体中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    assert "window=7d" in page.url


def test_the_navigation_of_a_phone_works_by_keyboard(open_page, root):
    page = open_page("/ops/", client=root, width=390)
    drawer = page.locator("#nav-drawer")
    expect(drawer).to_be_hidden()
    page.get_by_label("Open the navigation").focus()
    page.keyboard.press("Enter")
    expect(drawer).to_be_visible()
    check(page, "navigation-390")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_a_namespace_is_chosen_and_every_link_keeps_it(open_page, root, world):
    page = open_page("/ops/?window=7d", client=root)
    page.get_by_label("Namespace").select_option("harbour")
    page.wait_for_url(re.compile("ns=harbour"))
    assert "window=7d" in page.url
    href = page.locator(".side").get_by_role("link", name="Overview").get_attribute("href")
    assert "ns=harbour" in href


def test_pause_stops_the_requests_and_is_remembered(open_page, root):
    page = open_page("/ops/", client=root, clock=True)
    with page.expect_response("**/overview/live/**"):
        page.clock.pause_at(timezone.now() + timedelta(hours=1))
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/overview/live/" in request.url else None)
    with page.expect_response("**/overview/live/**"):
        page.clock.run_for(5600)
    assert len(asked) == 1
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(60_000)
    assert len(asked) == 1
    page.reload()
    expect(page.get_by_text("Paused").first).to_be_visible()


def test_stale_is_said_and_ends(open_page, root, watched):
    watched.expected += ["Failed to load resource", "htmx:sendError", "htmx:responseError", "503"]
    page = open_page("/ops/", client=root, clock=True)
    page.route("**/overview/live/**", lambda route: route.fulfill(status=503))
    page.clock.run_for(5000)
    expect(page.locator(".live.is-stale")).to_be_visible(timeout=8000)
    expect(page.locator("[data-live-state]")).to_contain_text("Stale since")
    page.unroute("**/overview/live/**")
    page.get_by_role("button", name="Retry").click()
    expect(page.locator("[data-live-state]")).to_contain_text("Updated")
    expect(page.locator(".live.is-stale")).to_have_count(0)


def test_an_ended_session_is_said_with_a_way_back(open_page, root, watched):
    watched.expected += ["401", "htmx:responseError"]
    page = open_page("/ops/", client=root, clock=True)
    page.context.clear_cookies()
    page.clock.run_for(5000)
    expect(page.get_by_text("Your session has ended.")).to_be_visible(timeout=8000)
    assert "/admin/login/?next=" in page.get_by_role("link", name="Log in again").get_attribute("href")


def test_a_server_without_redis_says_so(open_page, root, world, monkeypatch):
    monkeypatch.setattr(health, "_redis", lambda: "does not answer: queries go without the session window")
    page = open_page("/ops/", client=root)
    expect(page.get_by_text("Redis does not answer")).to_be_visible()


def test_times_go_on_while_a_page_stays_open(open_page, root, world):
    page = open_page("/ops/pipeline/?state=all", client=root, clock=True)
    page.evaluate(
        """() => {
            const ago = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();
            const times = [ago(7), ago(190), ago(-400), ago(-45), ago(3 * 86400)];
            const made = times.map((at) => `<time class="ago" datetime="${at}">before<span></span></time>`);
            document.getElementById("main").insertAdjacentHTML("beforeend", made.join(" "));
        }"""
    )
    page.clock.run_for(10_000)
    made = page.locator("#main > time.ago")
    expect(made.nth(1)).to_have_text(re.compile("3 minutes ago"), timeout=15000)
    shown = made.all_text_contents()
    assert re.fullmatch(r"\d+ s ago", shown[0])
    assert shown[1:] == ["3 minutes ago", "in 6 minutes", "soon", "3 days ago"]
