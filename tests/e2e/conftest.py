"""A real browser on a live server. Run apart from the other tests: `.venv/bin/python -m pytest tests/e2e`.

Playwright's own loop would break asynchronous tests in the same process. The browser is Debian's Chromium; where there
is none, these tests are skipped with a message that says so.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route

# The same world as its page tests.
from tests.ops.conftest import World, _plain_settings, grant_console, postgres_away, redis_away, world  # noqa: F401

CHROMIUM = os.environ.get("MEMOS_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
SHOTS = Path(__file__).resolve().parents[2] / "test-results" / "e2e"
# Each theme and each width once: a theme changes colours and nothing that has a size, a width no colour.
MATRIX = [pytest.param("light", 1400, id="light-1400"), pytest.param("dark", 390, id="dark-390")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if Path(CHROMIUM).exists():
        return
    reason = f"no browser at {CHROMIUM}: apt-get install chromium, or name one in MEMOS_CHROMIUM"
    for item in items:
        item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def _database_from_playwrights_loop() -> Iterator[None]:
    """Playwright's synchronous interface runs a loop, which Django takes for asynchronous code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, object]:
    return {"executable_path": CHROMIUM, "args": ["--no-sandbox", "--disable-dev-shm-usage"]}


@dataclass
class Watched:
    """What went wrong in the browser. A test that provokes an error names a part of its text in `expected`."""

    problems: list[str]
    expected: list[str]

    def unexpected(self) -> list[str]:
        return [one for one in self.problems if not any(part in one for part in self.expected)]


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Fails the test for console and page errors, CSP reports (which Chromium logs as errors) and foreign requests."""
    seen = Watched([], [])
    yield seen
    assert not seen.unexpected(), "\n".join(seen.unexpected())


Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, live_server, watched: Watched, transactional_db) -> Iterator[Open]:
    """`open_page("/ops/", client=staff_client, theme="dark", width=390, **context)`: a page, logged in and watched."""
    contexts: list[BrowserContext] = []

    def open_(path: str, *, client: Client | None = None, theme: str = "light", width: int = 1400, **options) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, base_url=live_server.url, **options
        )
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
    """Gives the browser the session of a test client."""
    cookie = client.cookies[django_settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": django_settings.SESSION_COOKIE_NAME, "value": cookie, "url": url}])


def watch(page: Page, watched: Watched, url: str) -> None:
    host = urlsplit(url).netloc

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            watched.problems.append(f"console: {message.text} ({message.location.get('url', '')})")

    def on_route(route: Route) -> None:
        if urlsplit(route.request.url).netloc in (host, ""):
            route.fallback()
        else:
            watched.problems.append(f"request to elsewhere: {route.request.url}")
            route.abort()

    page.on("console", on_console)
    page.on("pageerror", lambda error: watched.problems.append(f"page error: {error}"))
    page.route("**/*", on_route)


@pytest.fixture
def root(transactional_db) -> Client:
    """A superuser's client."""
    client = Client()
    client.force_login(User.objects.create_superuser("root", "root@example.com", "root"))
    return client


def check(page: Page, name: str) -> None:
    """What holds for every page: no serious finding of axe, nothing wider than the window; keeps a screenshot."""
    page.wait_for_load_state("networkidle")
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)
    found = Axe().run(page).response["violations"]
    grave = [
        f"{one['id']}: {one['help']}: " + "; ".join(node["html"][:200] for node in one["nodes"][:3])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert not grave, "\n".join(grave)
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider <= 0, f"{name} is {wider} px wider than the window"
