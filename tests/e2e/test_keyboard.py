"""The main tasks of staff by keyboard alone: everything is reached by Tab, as users without a pointer do.

The review queue, the radar's plot, the decay grid, the map's points, entities and a reset are in the tests of their
pages.
"""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from memory.models import ContextPack, Memory
from memory.services.projection import fit
from memory.services.recall.query import query
from memory.services.recall.search import Ask
from tests.ops.conftest import turns
from tests.ops.tables import row_counts

QUESTION = "When does the harbour pilot board?"
FARTHEST = 250


def reach(page: Page, wanted: Locator) -> None:
    """Press Tab until `wanted` has the focus, and check that the focus is visible."""
    expect(wanted).to_be_visible()
    for _press in range(FARTHEST):
        page.keyboard.press("Tab")
        if wanted.evaluate("one => one === document.activeElement"):
            return
    pytest.fail(f"Tab does not lead to {wanted}")


def press(page: Page, wanted: Locator, key: str = "Enter") -> None:
    reach(page, wanted)
    page.keyboard.press(key)


def test_memories_are_archived_in_bulk_and_brought_back(open_page, root, world):
    page = open_page("/admin/memory/memory/", client=root)
    for place in range(2):
        press(page, page.locator("input.action-select").nth(place), "Space")
    reach(page, page.locator("select[name=action]"))
    page.keyboard.type("Archive")
    expect(page.locator("select[name=action]")).to_have_value("archive_selected")
    press(page, page.locator(".actions button").first)
    page.wait_for_load_state()
    reach(page, page.locator("#id_reason"))
    page.keyboard.type("a test")
    press(page, page.locator("[name=confirmed]"))
    toast = page.locator("[data-toast]")
    expect(toast).to_contain_text("2 memories were archived.")
    press(page, toast.get_by_role("button", name="Undo"))
    expect(toast).to_contain_text("Undone")
    assert not Memory.objects.across_namespaces().filter(state="archived").exists()


def test_a_similar_memory_is_merged(open_page, root, world):
    page = open_page(f"/admin/memory/memory/{world.ids[0]}/change/", client=root)
    page.keyboard.press("End")
    merge = page.locator(".mos-near form button").first
    press(page, merge)
    reach(page, page.locator("#id_reason"))
    page.keyboard.type("the same")
    press(page, page.locator("[name=confirmed]"))
    expect(page.locator("[data-toast]")).to_contain_text("1 memory was merged into another.")


def test_the_radar_says_why_not_and_leaves_no_trace(open_page, root, world):
    before = row_counts()
    page = open_page("/ops/radar/", client=root)
    reach(page, page.get_by_label("Question"))
    page.keyboard.type(QUESTION)
    reach(page, page.get_by_label("Namespace").last)
    page.keyboard.type("harbour")
    press(page, page.get_by_role("button", name="Ask", exact=True))
    page.wait_for_url(re.compile("/radar/p/"))
    reach(page, page.get_by_label("Id of a memory"))
    page.keyboard.type(str(world.ids[1]))
    press(page, page.get_by_role("button", name="Explain"))
    expect(page.locator("#why").get_by_role("status")).to_contain_text(re.compile("candidate|No arm|came back"))
    changed = {table for table, count in row_counts().items() if count != before[table]}
    assert changed == {"memory_auditlog"}


def test_a_pack_is_replayed(open_page, root, world):
    answer = query(world.harbour, Ask(QUESTION, 3, timezone.now()), session="night shift", max_tokens=400)
    assert ContextPack.objects.across_namespaces().filter(pk=answer.pack_id).exists()
    page = open_page("/ops/inspector/?ns=harbour", client=root)
    press(page, page.get_by_role("link", name=QUESTION))
    press(page, page.get_by_role("link", name="Replay now"))
    expect(page.get_by_role("heading", name="What differs: then → now")).to_be_visible()
    assert "ns=harbour" in page.url


def test_a_session_is_reset_after_its_name_was_typed(open_page, root, world):
    page = open_page("/ops/sessions/?ns=harbour", client=root)
    press(page, page.get_by_role("link", name="night shift").first)
    press(page, page.get_by_role("link", name="Reset…"))
    reach(page, page.get_by_label("Type the session's name to confirm"))
    page.keyboard.type("night shift")
    press(page, page.get_by_role("button", name="Reset this session"))
    expect(page.get_by_role("heading", name="The session was reset")).to_be_visible()


def test_a_clump_of_the_map_is_opened_in_the_admin(open_page, root, world):
    """Only a pointer can draw the lasso; without one a cluster is chosen from the table."""
    for session, said in (("cargo", "Ship number{} unloads cargo."), ("ovens", "Oven number{} bakes sourdough.")):
        turns(world.harbour, session, *(said.format(one) for one in range(20)))
    fit.project(world.harbour, now=timezone.now())
    page = open_page("/ops/map/?ns=harbour", client=root)
    expect(page.locator("[data-map]")).to_have_attribute("data-ready", "44")
    row = page.locator(".clumps tbody tr").first
    size = int(row.locator("td a").inner_text())
    press(page, row.get_by_role("button", name="Select on the map"))
    expect(page.get_by_role("heading", name=f"{size} selected")).to_be_visible()
    press(page, page.get_by_role("button", name="Open in the admin"))
    page.wait_for_url(re.compile("pk__in="))
    expect(page.locator("#result_list tbody tr")).to_have_count(size)


def test_pause_stops_the_requests(open_page, root):
    page = open_page("/ops/pipeline/", client=root)
    press(page, page.get_by_role("button", name="Pause"))
    page.wait_for_timeout(500)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(3000)
    assert not asked
    with page.expect_request("**/pipeline/live/**"):
        page.keyboard.press("Enter")
