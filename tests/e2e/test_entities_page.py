"""Entities in the browser: the list, the picture of one entity, merging and undoing the merge."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from memory.models import Entity
from memory.services.entities.extract import index_pending
from tests.e2e.conftest import check, check_looks, in_looks
from tests.ops.conftest import NOW, turns


@pytest.fixture
def named(world):
    turns(
        world.harbour,
        "minutes",
        "Tove works at the Harbour Office.",
        "Tove's brother Erik lives in Bergen.",
        *[f"Tove met {name} in Bergen." for name in ("Anna Berg", "Peter Holt", "Maria Lund", "Jonas Weber")],
    )
    index_pending(now=NOW)
    return world


def address(name: str) -> str:
    return reverse("ops:entity", args=[Entity.objects.across_namespaces().get(name=name).id]) + "?ns=harbour"


def test_the_list(open_page, root, named):
    page = open_page("/ops/entities/?ns=harbour", client=root)
    check_looks(page, "entities", page.get_by_role("link", name="Tove", exact=True))


def test_one_entity(open_page, root, named):
    page = open_page(address("Tove"), client=root)
    for theme, width in in_looks(page):
        # Each width has a separate drawing.
        page.reload()
        expect(page.get_by_role("heading", name="Tove", level=1)).to_be_visible()
        page.locator("svg.graph:visible a.edge", has_text="works at").first.focus()
        expect(page.locator("#evidence")).to_contain_text("Tove works at the Harbour Office.")
        check(page, f"entity-{theme}-{width}")


def test_masked_and_empty(open_page, named, grant_console):
    clerk = grant_console("harbour", "bakery")
    page = open_page(address("Tove"), client=clerk)
    expect(page.get_by_role("main").get_by_text("Tove")).to_have_count(0)
    check_looks(page, "entity-masked")
    page.goto("/ops/entities/?ns=harbour&kind=project")
    check_looks(page, "entities-empty", page.get_by_text("No entity is like that"))


def test_search_merge_and_take_back_by_keyboard(open_page, root, named):
    page = open_page("/ops/entities/?ns=harbour", client=root)
    page.get_by_label("How the name begins").fill("eri")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Tove", exact=True)).to_have_count(0)
    assert "eri" not in page.url
    page.get_by_role("link", name="Erik", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Erik", level=1)).to_be_visible()
    # Typing before the scripts are loaded would trigger no request.
    page.wait_for_load_state()
    page.get_by_label("How the other's name begins").press_sequentially("tov")
    choice = page.get_by_role("radio", name="Tove")
    choice.press("Space")
    page.get_by_label("Why they are the same").fill("One person")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Tove", level=1)).to_be_visible()
    expect(page.get_by_text("Merged. Its names stand for this entity now")).to_be_visible()
    page.get_by_role("button", name="Take the merge back").press("Enter")
    expect(page.get_by_role("heading", name="Erik", level=1)).to_be_visible()
    assert Entity.objects.across_namespaces().get(name="Erik").merged_into is None
