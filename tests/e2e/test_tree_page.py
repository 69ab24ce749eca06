"""The tree in the browser: sessions with their topics, one topic with its memories, and a namespace without a tree."""

from __future__ import annotations

import pytest
from django.utils import timezone

from memory.services.tenancy.policy import put_policy
from memory.services.tree.store import clear
from tests.e2e.conftest import check_looks
from tests.ops.conftest import scope_of
from tests.ops.test_tree_page import grown, node_of  # noqa: F401 - a fixture


@pytest.fixture
def address(grown) -> str:  # noqa: F811 - the fixture
    topic = node_of("harbour", level="topic")
    return f"/ops/tree/{topic.pk}/?ns=harbour"


def test_sessions_with_their_topics(open_page, root, address):
    page = open_page("/ops/tree/?ns=harbour", client=root)
    check_looks(page, "tree", page.get_by_role("link", name="kiln").first, page.get_by_text("3 memories").first)


def test_one_topic_and_its_session(open_page, root, address):
    page = open_page(address, client=root)
    check_looks(page, "tree-topic", page.get_by_text("The stoneware kiln in the pottery studio is hot.").last)
    page.get_by_role("link", name="pottery").click()
    check_looks(page, "tree-session", page.get_by_role("heading", name="Topics"))


def test_masked_and_without_a_tree(open_page, address, grant_console):
    page = open_page(address, client=grant_console("harbour"))
    check_looks(page, "tree-masked", page.get_by_text("What memories say is masked.").first)
    put_policy(scope_of("harbour"), wanted={}, now=timezone.now())
    clear(scope_of("harbour").namespace_id)
    page.get_by_role("link", name="Tree of harbour").click()
    check_looks(page, "tree-none", page.get_by_text("No tree is kept"))
