"""`/ops/tree/`: sessions with their topics, and one node with its summary and its memories, within reach."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from memory.models import AuditLog, Job, TopicNode
from memory.services.tenancy.policy import put_policy
from memory.services.tree.grow import grow
from tests.ops.conftest import World, scope_of, turns
from tests.services.tree.conftest import FERRY, KILN

PAGE = "/ops/tree/"
READ = ("ops.view_memory_text",)


@pytest.fixture
def grown(world: World) -> World:
    """Grow a tree of `harbour`, with two topics in one of its sessions, and one of `bakery`."""
    for scope, texts in ((world.harbour, (*KILN, *FERRY)), (scope_of("bakery"), ("Selma bakes rye bread.",))):
        turns(scope, "pottery", *texts)
        put_policy(scope, wanted={"tree": "browse"}, now=timezone.now())
        grow(scope, now=timezone.now())
    return world


def text(client: Any, address: str, **query: str) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def node_of(namespace: str, **where: Any) -> TopicNode:
    """Return the oldest node."""
    rows = TopicNode.objects.filter(namespace_id=scope_of(namespace).namespace_id, session="pottery", **where)
    return rows.order_by("id")[0]


def test_what_is_out_of_reach_is_not_there(grown, grant_console):
    clerk = grant_console("harbour", permissions=READ)
    assert "bakery" not in text(clerk, PAGE)
    theirs = node_of("bakery", level="session")
    assert clerk.get(f"{PAGE}{theirs.pk}/", {"ns": "harbour"}).status_code == 404
    assert clerk.get(f"{PAGE}{theirs.pk}/", {"ns": "bakery"}).status_code == 404


def test_who_may_not_change_makes_no_tree_anew(grown, grant_console):
    clerk = grant_console("harbour")
    assert clerk.post(f"{PAGE}rebuild/?ns=harbour").status_code == 403
    assert "Make it anew" not in text(clerk, PAGE, ns="harbour")
    assert not Job.objects.in_scope(grown.harbour).filter(kind="grow_tree").exists()


def test_sessions_stand_with_their_topics_and_counts(grown, staff):
    page = text(staff, PAGE, ns="harbour")
    assert "pottery" in page
    assert "2 topics · 6 memories" in page
    assert page.count("3 memories") == 2
    topic = node_of("harbour", level="topic")
    assert f"{PAGE}{topic.pk}/?ns=harbour" in page


def test_a_node_tells_its_path_its_summary_and_its_memories(grown, staff):
    topic = node_of("harbour", level="topic")
    page = text(staff, f"{PAGE}{topic.pk}/", ns="harbour")
    assert f"{PAGE}{topic.parent}/?ns=harbour" in page
    assert all(one in page for one in KILN)
    assert FERRY[0] not in page
    session = text(staff, f"{PAGE}{topic.parent}/", ns="harbour")
    assert all(one in session for one in (*KILN, *FERRY))
    viewed = AuditLog.objects.across_namespaces().filter(event_type="MEMORY_VIEW", details__what="topic")
    assert viewed.count() == 2


def test_words_are_masked_for_who_may_not_read_texts(grown, grant_console):
    clerk = grant_console("harbour")
    topic = node_of("harbour", level="topic")
    for address in (PAGE, f"{PAGE}{topic.pk}/", f"{PAGE}{topic.parent}/"):
        page = text(clerk, address, ns="harbour").lower()
        assert not [word for word in ("kiln", "ferry", "lismore", "studio") if word in page]
    assert not AuditLog.objects.across_namespaces().filter(event_type="MEMORY_VIEW").exists()


def test_without_a_tree_the_page_says_how_to_have_one(world, staff):
    page = text(staff, PAGE, ns="harbour")
    assert "No tree is kept" in page
    assert "/ops/policies/" in page


def test_a_tree_is_made_anew(grown, staff):
    staff.post(f"{PAGE}rebuild/?ns=harbour")
    assert Job.objects.in_scope(grown.harbour).filter(kind="grow_tree").count() == 1
    assert "The tree is being made" in text(staff, PAGE, ns="harbour")


def test_the_admin_shows_nodes_and_leads_to_the_page(grown, staff):
    topic = node_of("harbour", level="topic")
    assert str(topic.pk) in text(staff, "/admin/memory/topicnode/")
    assert f"{PAGE}{topic.pk}/?ns=harbour" in text(staff, f"/admin/memory/topicnode/{topic.pk}/change/")
