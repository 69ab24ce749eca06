"""The inspector as people use it: packs in their panes, a replay with its differences, and a question to try."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memory.models import AuditLog, ContextPack
from memory.services.recall.query import query
from memory.services.recall.search import Ask
from tests.e2e.conftest import check, check_looks
from tests.ops.conftest import turns
from tests.ops.tables import row_counts

QUESTION = "When does the harbour pilot board?"


@pytest.fixture
def pack(world):
    answer = query(world.harbour, Ask(QUESTION, 3, timezone.now()), session="night shift", max_tokens=400)
    return ContextPack.objects.across_namespaces().get(pk=answer.pack_id)


def test_the_list_and_a_pack(open_page, root, pack):
    page = open_page("/ops/inspector/", client=root)
    link = page.get_by_role("link", name=QUESTION)
    check_looks(page, "inspector", pressed=[link])
    link.click()
    expect(page.locator(".final-text")).to_have_text(pack.pack["text"])
    replay = page.get_by_role("link", name="Replay now")
    check_looks(page, "inspector-pack", page.get_by_role("heading", name="Final text"), pressed=[replay])


def test_an_empty_list(open_page, root):
    page = open_page("/ops/inspector/", client=root)
    check_looks(page, "inspector-empty", page.get_by_text("No packs yet"))


def test_a_replay_shows_what_differs(open_page, root, world, pack):
    turns(world.harbour, "night shift", "The harbour pilot boards when the harbour pilot boat comes.")
    page = open_page(f"/ops/inspector/{pack.pk}/", client=root)
    page.get_by_role("link", name="Replay now").click()
    differs = page.get_by_role("heading", name="What differs: then → now")
    came = page.locator("table").get_by_text("Came")
    then = page.get_by_role("link", name="As believed then")
    check_looks(page, "inspector-replay", differs, came, pressed=[then])
    then.click()
    page.wait_for_url(re.compile("as_of=then"))


def test_a_question_is_tried_without_a_trace(open_page, root, world):
    before = row_counts()
    page = open_page("/ops/inspector/?ns=harbour", client=root)
    page.get_by_text("Try a question").click()
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_label("Session").first.fill("night shift")
    page.get_by_role("button", name="Show the pack").click()
    expect(page.get_by_role("heading", name="What would be handed over")).to_be_visible()
    assert QUESTION not in page.url
    assert "ns=harbour" in page.url
    check(page, "inspector-try")
    after = row_counts()
    assert {name for name in after if after[name] != before[name]} == {"memory_auditlog"}
    assert AuditLog.objects.across_namespaces().filter(event_type="CONSOLE_PROBE").count() == 1


def test_from_a_pack_to_the_radar(open_page, root, pack):
    page = open_page(f"/ops/inspector/{pack.pk}/", client=root)
    page.get_by_role("button", name="Open in the radar").click()
    page.wait_for_url(re.compile("/radar/p/"))
    expect(page.locator(".asked")).to_have_text(QUESTION)


def test_masked_and_out_of_reach(open_page, world, pack, watched, grant_console):
    watched.expected.append("404")
    page = open_page(f"/ops/inspector/{pack.pk}/", client=grant_console("harbour"), width=390)
    expect(page.get_by_text("What memories say is masked")).to_be_visible()
    assert "buoy seven" not in page.content()
    expect(page.get_by_role("link", name="Replay now")).to_have_count(0)
    check(page, "inspector-masked-390")
    other = open_page(f"/ops/inspector/{pack.pk}/", client=grant_console("bakery"))
    assert "buoy seven" not in other.content()


def test_hostile_text_does_nothing(open_page, root, world):
    page = open_page(f"/ops/inspector/{world.pack.pk}/", client=root)
    expect(page.locator(".final-text")).to_contain_text('<script>alert("memory")</script>')
    check(page, "inspector-hostile")
