"""A real browser on a live server.

Run these tests separately: `.venv/bin/python -m pytest tests/e2e`. Playwright's own loop would break asynchronous tests
in the same process.

The browser is Debian's Chromium, best without its windows (`chromium-headless-shell`). Where it is missing, these tests
are skipped with a message that says so.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect

# The same world as in the page tests.
from tests.ops.conftest import World, _plain_settings, grant_console, postgres_away, redis_away, world  # noqa: F401
from tests.sdk.node_package import node_package  # noqa: F401

# Chromium without windows opens a page in a quarter of the processor time that the whole browser takes.
BROWSERS = ("chromium-headless-shell", "chromium")
CHROMIUM = os.environ.get("MEMOS_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), BROWSERS[0])
# Software rendering is faster without a graphics card, and requests to other hosts fail before they are sent.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu-rasterization",
    "--disable-gpu-compositing",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]
# Keep pictures of every page that is checked; otherwise only of pages that fail.
KEEP_SHOTS = bool(os.environ.get("MEMOS_KEEP_SHOTS"))
SHOTS = Path(__file__).resolve().parents[2] / "test-results" / "e2e"
# Each theme and each width is used once: a theme changes only colours, and a width only sizes.
LOOKS = (("light", 1400), ("dark", 390))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if Path(CHROMIUM).exists():
        return
    reason = f"no browser at {CHROMIUM}: apt-get install {BROWSERS[0]}, or name one in MEMOS_CHROMIUM"
    for item in items:
        item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def _database_from_playwrights_loop() -> Iterator[None]:
    """Allow database calls although Playwright's synchronous interface runs a loop, which Django notices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, object]:
    return {"executable_path": CHROMIUM, "args": ARGUMENTS}


@dataclass
class Watched:
    """Errors in the browser. A test that provokes an error adds a part of its text to `expected`."""

    problems: list[str]
    expected: list[str]

    def unexpected(self) -> list[str]:
        return [one for one in self.problems if not any(part in one for part in self.expected)]


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Fail the test for console and page errors, CSP reports (which Chromium logs as errors) and foreign requests."""
    seen = Watched([], [])
    yield seen
    assert not seen.unexpected(), "\n".join(seen.unexpected())


Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, live_server, watched: Watched, transactional_db) -> Iterator[Open]:
    """`open_page("/ops/", client=staff_client, width=390, **context)`: a page, logged in and watched.

    With `clock=True` the page's time can be let run on: `page.clock.run_for(5000)`."""
    contexts: list[BrowserContext] = []

    def open_(path: str, *, client: Client | None = None, width: int = 1400, clock: bool = False, **options) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="light", base_url=live_server.url, **options
        )
        if clock:
            context.clock.install()
        contexts.append(context)
        if client is not None:
            log_in(context, client, live_server.url)
        page = context.new_page()
        watch(page, watched, live_server.url)
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()


def log_in(context: BrowserContext, client: Client, url: str) -> None:
    """Give the browser the session of a test client."""
    cookie = client.cookies[django_settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": django_settings.SESSION_COOKIE_NAME, "value": cookie, "url": url}])


def watch(page: Page, watched: Watched, url: str) -> None:
    host = urlsplit(url).netloc

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            watched.problems.append(f"console: {message.text} ({message.location.get('url', '')})")

    def on_request(request: Request) -> None:
        if urlsplit(request.url).netloc not in (host, ""):
            watched.problems.append(f"request to elsewhere: {request.url}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: watched.problems.append(f"page error: {error}"))
    page.on("request", on_request)


@pytest.fixture
def root(transactional_db) -> Client:
    """Return a superuser's client."""
    client = Client()
    client.force_login(User.objects.create_superuser("root", "root@example.com", "root"))
    return client


# Wait until everything that the page loads on opening has arrived, and nothing moves any more.
SETTLED = """async () => {
    const waits = () => document.readyState !== "complete" || document.fonts.status !== "loaded"
        || document.querySelector(".htmx-request, [aria-busy=true]");
    const end = Date.now() + 20000;
    while (waits()) {
        if (Date.now() > end) {
            throw new Error(`${location.pathname} still loads after 20 s`);
        }
        await new Promise((done) => setTimeout(done, 20));
    }
    const ends = (one) => Number.isFinite(one.effect.getComputedTiming().endTime);
    await Promise.allSettled(document.getAnimations().filter(ends).map((one) => one.finished));
}"""
# axe fetches style sheets again only for rules that are disabled by default.
AXE = {"resultTypes": ["violations"], "preload": {"assets": ["media"]}}


def settle(page: Page) -> None:
    """Wait until the page is fully displayed."""
    page.wait_for_load_state()
    page.evaluate(SETTLED)


def keep_shot(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def check(page: Page, name: str) -> None:
    """Check a page: axe finds nothing serious, and nothing is wider than the window.

    A page that fails is kept as a picture; with MEMOS_KEEP_SHOTS=1 every page is.
    """
    settle(page)
    found = Axe().run(page, options=AXE).response["violations"]
    problems = [
        f"{name}: {one['id']}: {one['help']}: " + "; ".join(node["html"][:200] for node in one["nodes"][:3])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wider > 0:
        problems.append(f"{name} is {wider} px wider than the window")
    if problems or KEEP_SHOTS:
        keep_shot(page, name)
    assert not problems, "\n".join(problems)


def in_looks(page: Page) -> Iterator[tuple[str, int]]:
    """Give an open page each theme and width, then the first again. Only the map has to be reloaded for it."""
    for theme, width in LOOKS:
        give_look(page, theme, width)
        yield theme, width
    give_look(page, *LOOKS[0])


def give_look(page: Page, theme: str, width: int) -> None:
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})


def check_looks(page: Page, name: str, *seen: Locator, pressed: Sequence[Locator] = ()) -> None:
    """`check` of one page in each theme and width, in which the `seen` are visible and the `pressed` can be clicked.

    The page keeps the first look."""
    problems = []
    for theme, width in in_looks(page):
        for one in seen:
            expect(one).to_be_visible()
        for one in pressed:
            one.click(trial=True)
        try:
            check(page, f"{name}-{theme}-{width}")
        except AssertionError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)
