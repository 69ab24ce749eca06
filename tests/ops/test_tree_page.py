"""`/ops/tree/` lists sessions with their topics, within the reach of who looks."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from memory.services.projection import fit
from tests.ops.conftest import World, scope_of, turns

PAGE = "/ops/tree/"
READ = ("ops.view_memory_text", "memory.view_memory")
KILN = [f"The kiln of the pottery fires the clay bowls, batch {number}." for number in range(6)]
FERRY = [f"The ferry across the harbour leaves late because of fog, day {number}." for number in range(6)]


@pytest.fixture
def drawn(world: World) -> World:
    """Gives `harbour` and `bakery` topics."""
    for scope, texts in ((world.harbour, (*KILN, *FERRY)), (scope_of("bakery"), ("Selma bakes rye bread.",))):
        turns(scope, "pottery", *texts)
        fit.project(scope, now=timezone.now())
    return world


def text(client: Any, **query: str) -> str:
    answer = client.get(PAGE, query)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def test_what_is_out_of_reach_is_not_there(drawn, grant_console):
    clerk = grant_console("harbour", permissions=READ)
    page = text(clerk)
    assert "pottery" in page
    assert "bowls" in page
    assert "bakery" not in page
    assert clerk.get(PAGE, {"ns": "bakery"}).status_code == 404


def test_words_of_memories_are_masked_for_who_may_not_read_them(drawn, grant_console):
    page = text(grant_console("harbour", permissions=("memory.view_memory",)))
    assert "pottery" in page
    assert "bowls" not in page


def test_a_topic_leads_to_its_memories(drawn, grant_console):
    clerk = grant_console("harbour", permissions=READ)
    answer = clerk.get(PAGE)
    [row] = [one for one in answer.context["rows"] if one.session == "pottery"]
    listed = clerk.get(row.topics[0].link)
    assert listed.status_code == 200
    shown = {memory.text for memory in listed.context["cl"].queryset}
    assert shown
    assert shown <= {*KILN, *FERRY}
    assert len(shown) == int(row.topics[0].counts.split()[0])


def test_a_namespace_without_a_map_says_how_to_get_topics(world, grant_console):
    assert "/ops/map/" in text(grant_console("harbour", permissions=READ))
