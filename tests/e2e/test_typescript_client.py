"""The TypeScript client in a page of another origin: the guide's page, and what calls and errors return there."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.docs.pages import DOCS, blocks
from tests.sdk.node_package import NodePackage

GUIDE = blocks((DOCS / "guides" / "typescript.md").read_text("utf-8"))
FACT = "Ada's train ticket is number QX-4471."

CALLS = """async ([url, key]) => {
    const { MemOS, NotFound } = await import("memos-client");
    const memos = new MemOS(url, key, { namespace: "tour" });
    const done = await memos.remember("I moved to Lisbon.", { session_id: "s1" });
    await memos.memories.update(done.memory_id, { reason: "more", text: "I moved to Lisbon in May." });
    const found = await memos.recall("Where did I move?", { top_k: 1 });
    const events = [];
    for await (const one of memos.answer("Where did I move?", { stream: true })) events.push(one.event);
    const refusal = await memos.recall("x", { namespace: "other" }).catch((error) => error);
    const leave = new AbortController();
    const waits = memos.changes.list({ cursor: "now", wait: 50 }, { signal: leave.signal }).catch((error) => error);
    leave.abort();
    await memos.memories.delete(done.memory_id);
    return {
        hits: found.hits.map((hit) => hit.text),
        events: [events[0], events.at(-1)],
        refusal: [refusal instanceof NotFound, refusal.code, refusal.requestId.length > 0],
        aborted: (await waits).name,
    };
}"""
REFUSED = """async ([url, key]) => {
    const { MemOS } = await import("memos-client");
    const error = await new MemOS(url, key, { namespace: "tour", retries: 0 }).recall("x").catch((one) => one);
    return error.name;
}"""


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def origin(node_package: NodePackage, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of another server with `page.html` and the installed packages."""
    (tmp_path / "node_modules").symlink_to(node_package.modules)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(tmp_path)))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def page(browser: Browser, origin: str, tmp_path: Path, live_server: Any, tour: Any, remember: Any) -> Iterator[Page]:
    """Open the guide's page in the other origin."""
    remember(tour, FACT)
    (shown,) = [one.text for one in GUIDE if one.language == "html"]
    shown = shown.replace("http://127.0.0.1:8000", live_server.url).replace("mos_…", tour.token)
    assert shown.count(live_server.url) == shown.count(tour.token) == 1
    (tmp_path / "page.html").write_text(f"<!doctype html><meta charset=utf-8>{shown}", encoding="utf-8")
    context = browser.new_context(base_url=origin)
    yield context.new_page()
    context.close()


@pytest.fixture
def tour(transactional_db: None, make_tenant: Any) -> Any:
    return make_tenant("tour")


def test_a_page_of_another_origin_uses_the_client(page, origin, live_server, tour, settings):
    settings.CORS_ALLOWED_ORIGINS = [origin]

    page.goto("/page.html")
    # The first request of a process waits until the OpenAPI document is built.
    expect(page.get_by_role("listitem")).to_have_text([FACT], timeout=30_000)

    assert page.evaluate(CALLS, [live_server.url, tour.token]) == {
        "hits": ["I moved to Lisbon in May."],
        "events": ["sources", "done"],
        "refusal": [True, "not_found", True],
        "aborted": "AbortError",
    }


def test_a_page_of_an_origin_that_is_not_named_reaches_nothing(page, live_server, tour, settings):
    settings.CORS_ALLOWED_ORIGINS = []

    page.goto("/page.html")

    assert page.evaluate(REFUSED, [live_server.url, tour.token]) == "ConnectionFailed"
    expect(page.get_by_role("listitem")).to_have_count(0)
