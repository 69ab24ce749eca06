"""Pages when something is missing: PostgreSQL, Redis, a permission, data; and their accessibility for other ways of
seeing and moving."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memory.models import Memory
from memory.services.entities.extract import index_pending
from memory.services.recall import probe
from memory.services.retention import strength_counts
from memory.services.summaries.condense import condense_session
from tests.e2e.conftest import KEEP_SHOTS, check, check_looks, keep_shot, settle
from tests.ops.conftest import NOW, scope_of, turns

SESSION = "?ns=harbour&session=night+shift"


def test_a_database_that_is_away_is_said_and_tried_again(open_page, root, world, postgres_away, watched):
    watched.expected += ["503"]
    page = open_page("/ops/audit/", client=root)
    postgres_away.take()
    page.reload()
    heading = page.get_by_role("heading", name="The database does not answer")
    check_looks(page, "database-away", heading, page.get_by_text("manage.py doctor"))
    postgres_away.bring_back()
    page.get_by_role("link", name="Try again").press("Enter")
    expect(page.get_by_role("heading", name="Audit", level=1)).to_be_visible()


def test_a_page_grows_stale_while_the_database_is_away_and_recovers_by_itself(
    open_page, root, world, postgres_away, watched
):
    watched.expected += ["503", "htmx:responseError"]
    page = open_page("/ops/pipeline/", client=root)
    postgres_away.take()
    expect(page.locator("[data-live-state]").first).to_contain_text("Stale since", timeout=9000)
    expect(page.locator(".live.is-stale").first).to_be_visible()
    check(page, "pipeline-stale")
    postgres_away.bring_back()
    expect(page.locator("[data-live-state]").first).to_contain_text("Updated", timeout=20000)
    expect(page.locator(".live.is-stale")).to_have_count(0)


def test_what_was_asked_for_and_does_not_come_is_said(open_page, root, world, watched, monkeypatch):
    watched.expected += ["503", "500", "404", "htmx:responseError", "htmx:sendError", "htmx:afterRequest", "ERR_FAILED"]
    page = open_page("/ops/audit/?window=all", client=root)
    row = page.locator(".events a.event").first
    answered = [503]
    page.route("**/audit/event/**", lambda route: route.fulfill(status=answered[-1]))
    for status, words in ((503, "The server does not answer."), (500, "server answered 500"), (404, "answered 404")):
        answered.append(status)
        row.click()
        expect(page.locator(".toast-error")).to_contain_text(words)
    check(page, "audit-refused")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".toast")).to_have_count(0)
    monkeypatch.setattr(strength_counts, "takes_seconds", lambda scope: True)
    page.route("**/decay/figures/**", lambda route: route.abort())
    page.goto("/ops/decay/?ns=harbour")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.unroute("**/decay/figures/**")
    page.get_by_role("link", name="Try again").click()
    expect(page.get_by_role("heading", name="Age and strength")).to_be_visible()


def test_pages_without_redis_say_what_is_missing(open_page, root, world, redis_away, watched):
    watched.expected += ["503"]
    now = timezone.now()
    kept = probe.keep(world.harbour, text="pilot", settings=[probe.ProbeSetting()], now=now).id
    page = open_page("/ops/inspector/", client=root)
    redis_away()
    for name, path, words in (
        ("overview", "/ops/", "Redis does not answer"),
        ("session", f"/ops/sessions/one/{SESSION}", "queries go without the session window"),
        ("reset", f"/ops/sessions/reset/{SESSION}", "the session cannot be reset now"),
        ("requests", "/ops/audit/requests/", "Redis"),
        ("radar", f"/ops/radar/p/{kept}/", "which keeps the question, does not answer"),
    ):
        page.goto(path)
        check_looks(page, f"redis-away-{name}", page.get_by_role("main").get_by_text(re.compile(words)).first)


def test_what_is_not_granted_and_what_is_not_there(open_page, grant_console, world, watched):
    watched.expected += ["403", "404"]
    page = open_page("/ops/", client=grant_console("bakery"))
    for name, path, words in (
        ("reset", "/ops/sessions/reset/?ns=bakery&session=recipes", "Can reset a session"),
        ("probe", "/ops/inspector/t/1-a/", "Can search in the console"),
        ("tenant", "/ops/map/?ns=harbour", "Nothing is here"),
    ):
        page.goto(path)
        check_looks(page, f"not-granted-{name}", page.get_by_role("main").get_by_text(words))


def test_pages_of_a_server_without_namespaces_and_of_an_empty_one(open_page, root):
    page = open_page("/ops/", client=root)
    for name in ("radar", "map", "entities"):
        page.goto(f"/ops/{name}/")
        check_looks(page, f"{name}-none")
    scope_of("harbour")
    for name in ("entities", "decay"):
        page.goto(f"/ops/{name}/?ns=harbour")
        check_looks(page, f"{name}-empty", page.locator(".empty").first)


MOVING = "document.getAnimations().filter(one => one.playState === 'running').length"
WALK = ("/ops/", "/ops/pipeline/", f"/ops/sessions/one/{SESSION}", "/ops/inspector/", "/ops/map/?ns=harbour",
        "/ops/entities/?ns=harbour", "/ops/decay/?ns=harbour", "/ops/quarantine/", "/ops/policies/?ns=harbour",
        "/ops/audit/?window=all", "/admin/memory/memory/?role__exact=user")  # fmt: skip


OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_colours_of_the_system_and_no_motion(open_page, root, world):
    """Axe's contrast check is left out: it reads the page's colours, which the system's colours replace."""
    page = open_page("/ops/", client=root, forced_colors="active", reduced_motion="reduce")
    for place, path in enumerate(WALK):
        page.goto(path)
        settle(page)
        if KEEP_SHOTS:
            keep_shot(page, f"forced-{place}")
        assert page.evaluate("matchMedia('(forced-colors: active)').matches")
        assert page.evaluate(MOVING) == 0, path
        assert page.evaluate(OVER) <= 0, path


def test_hostile_text_does_nothing_on_any_page(open_page, root, world):
    evil = (
        '<script>alert("x")</script></textarea></script><img src=x onerror=alert(1)>',
        "harbour \u202e reversed \x1b[31mred\x1b[0m \u2066 [x](javascript:alert(1)) javascript:alert(2)",
        '=HYPERLINK("http://evil.example","click")',
        "harbour " + "w" * 1_000_000,
    )
    # The gate rejects a name with turned letters, but admits markup.
    name = "<b>o'night</b> \"&amp; harbour"[:120]
    ids = turns(world.harbour, name, *(text[:20_000] for text in evil))
    Memory.objects.across_namespaces().filter(pk=ids[-1]).update(text=evil[-1])
    turns(world.harbour, name, "Tove <img src=x onerror=alert(1)> works at the Harbour </textarea> Office.")
    condense_session(world.harbour, session=name, now=NOW)
    index_pending(now=NOW)
    page = open_page("/ops/", client=root, width=390)
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran on {page.url}"))
    for path in (*WALK, "/ops/sessions/", "/ops/condensations/", f"/admin/memory/memory/{ids[0]}/change/"):
        page.goto(path)
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        assert page.evaluate("document.querySelectorAll('img[src=x], [href^=javascript]').length") == 0, path
        assert page.evaluate(OVER) <= 0, path
    page.goto("/ops/sessions/?ns=harbour")
    page.locator(".session-name a, a.session-name").filter(has_text="night</b>").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("<b>")
    check(page, "session-hostile-390")


def test_a_phone_shows_the_sessions_tiles_in_two_columns(open_page, root, world):
    page = open_page(f"/ops/sessions/one/{SESSION}", client=root, width=390)
    boxes = [tile.bounding_box() for tile in page.locator(".tile").all()[:2]]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] < boxes[1]["x"]
