"""The tree follows its memories: each valid memory is in it once, and nothing else is."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from memory.enums import TopicLevel
from memory.models import Job, Memory, MemoryVector, TopicMember, TopicNode, TopicTree
from memory.retrieval.columns.load import Snapshot
from memory.services.memories import edit
from memory.services.memories.supersede import supersede
from memory.services.sessions.reset import reset_session
from memory.services.tenancy.policy import put_policy
from memory.services.tree import browse
from memory.services.tree.due import request_trees
from memory.services.tree.grow import grow, rebuild
from memory.services.tree.growing import GrowingTree, TreeGone
from memory.services.tree.place import place_next
from memory.types import system_access
from tests.job_queue import run_task

ACCESS = system_access("tests")


def members(tenant) -> dict[str, UUID]:
    rows = TopicMember.objects.in_scope(tenant.scope).values_list("memory_id", "topic")
    return {str(memory_id): topic for memory_id, topic in rows}


def topics(tenant) -> set[frozenset[str]]:
    """Return the topics as sets of their memories."""
    by_topic: dict[UUID, set[str]] = {}
    for memory_id, topic in members(tenant).items():
        by_topic.setdefault(topic, set()).add(memory_id)
    return {frozenset(one) for one in by_topic.values()}


def check_whole(tenant) -> None:
    """Check what must hold after every run."""
    live = Memory.objects.in_scope(tenant.scope).active().filter(superseded_by=None, embedded=True)
    assert members(tenant).keys() == {str(one) for one in live.values_list("pk", flat=True)}
    nodes = {node.id: node for node in TopicNode.objects.in_scope(tenant.scope)}
    sizes = Counter(members(tenant).values())
    for node in nodes.values():
        assert not node.stale
        if node.level == TopicLevel.TOPIC:
            assert node.size == sizes[node.id] > 0
            assert node.centroid is not None
            assert nodes[node.parent].session == node.session
        else:
            below = [child.size for child in nodes.values() if child.parent == node.id]
            assert node.size == sum(below) > 0
    session_of = dict(Memory.objects.in_scope(tenant.scope).values_list("pk", "session"))
    assert all(nodes[topic].session == session_of[UUID(one)] for one, topic in members(tenant).items())


def shown(tenant) -> list[browse.NodeShown]:
    """Return all nodes of the tree as they are displayed, sessions before their topics."""
    sessions, _ = browse.list_nodes(tenant.scope, limit=100, now=timezone.now())
    below = browse.list_children(tenant.scope, sessions, now=timezone.now())
    return [node for one in sessions for node in (one, *below[one.id][0])]


def words(tenant) -> str:
    """Return all words that the tree displays."""
    return " ".join(" ".join([node.label, *(told.text for told in node.summary)]) for node in shown(tenant))


def test_no_tree_is_kept_without_the_policy(alice, remember):
    remember(alice, "The kiln is hot.")
    assert request_trees(now=timezone.now()) == 0
    assert grow(alice.scope, now=timezone.now()) == 0
    assert not TopicTree.objects.in_scope(alice.scope).exists()


def test_topics_are_told_apart_named_and_summed_up(alice, two_topics):
    kiln, ferry = two_topics[:3], two_topics[3:]
    assert topics(alice) == {frozenset(kiln), frozenset(ferry)}
    check_whole(alice)
    session, *below = shown(alice)
    assert (session.level, session.session, session.memories, session.topics) == ("session", "s1", 6, 2)
    by_size = {frozenset(str(one) for one in node.sources) <= set(kiln): node for node in below}
    assert "kiln" in by_size[True].label.lower()
    assert "ferry" in by_size[False].label.lower()
    assert all(str(told.memory_id) in ferry and told.text for told in by_size[False].summary)
    assert "kiln" in session.label.lower()
    assert "ferry" in session.label.lower()


def test_only_what_changed_is_placed_and_what_was_placed_stays(alice, two_topics, remember, grow_tree):
    before = members(alice)
    assert grow_tree() == 0
    new = remember(alice, "The Lismore ferry in the old harbour is empty.")
    assert grow_tree() == 1
    after = members(alice)
    assert {one: topic for one, topic in after.items() if one != new} == before
    assert after[new] == before[two_topics[3]]
    other = remember(alice, "The stoneware kiln has a new door in the studio.", session="s2")
    grow_tree()
    assert members(alice)[other] not in set(after.values())
    check_whole(alice)


@pytest.mark.parametrize("way", ["archived", "superseded", "edited", "reset"])
def test_what_leaves_takes_its_words_along(alice, two_topics, remember, grow_tree, way):
    now = timezone.now()
    gone = remember(alice, "The zeppelin kiln in the pottery studio is a zeppelin.")
    remember(alice, "Another zeppelin kiln.", session="s2")
    grow_tree()
    assert "zeppelin" in words(alice).lower()
    if way == "archived":
        edit.archive(ACCESS, memory_ids=[UUID(gone)], reason="wrong", now=now)
    elif way == "superseded":
        supersede(ACCESS, older_id=UUID(gone), newer_id=UUID(two_topics[0]), reason="newer", now=now)
    elif way == "edited":
        edit.edit(ACCESS, memory_id=UUID(gone), text="The stoneware kiln stands there.", reason="wrong", now=now)
    reset(alice, "s2")
    # The words are gone at once, whatever the worker does, and for good once it has run.
    assert "zeppelin" not in words(alice).lower() or way == "reset"
    grow_tree()
    if way == "reset":
        reset(alice, "s1")
        grow_tree()
        assert not TopicNode.objects.in_scope(alice.scope).exists()
    assert "zeppelin" not in words(alice).lower()
    check_whole(alice)


def reset(tenant, session: str) -> None:
    reset_session(tenant.scope, session=session, dry_run=False, clear_audit=False, now=timezone.now())


def test_what_is_brought_back_comes_back(alice, two_topics, grow_tree):
    now = timezone.now()
    edit.archive(ACCESS, memory_ids=[UUID(two_topics[0])], reason="wrong", now=now)
    grow_tree()
    assert two_topics[0] not in members(alice)
    edit.restore(ACCESS, memory_ids=[UUID(two_topics[0])], reason="right", now=now)
    grow_tree()
    check_whole(alice)


def test_a_tree_made_anew_has_the_same_topics(alice, two_topics, grow_tree):
    before = topics(alice)
    rebuild(alice.scope, now=timezone.now())
    assert members(alice) == {}
    assert Job.objects.in_scope(alice.scope).filter(kind="grow_tree").count() == 1
    run_task("grow_tree", alice.scope.namespace_id)
    assert topics(alice) == before
    check_whole(alice)


def test_a_tree_that_was_not_looked_at_is_compared_as_a_whole(alice, two_topics, remember, grow_tree):
    TopicTree.objects.in_scope(alice.scope).update(looked_at=timezone.now() - timedelta(hours=3))
    TopicMember.objects.in_scope(alice.scope).filter(memory_id=two_topics[0]).delete()
    assert grow_tree() == 1
    check_whole(alice)


def test_a_long_session_is_split_and_a_long_monologue_is_not(alice, remember, grow_tree):
    for number in range(70):
        remember(alice, "The same word for word.", session="same")
        ware = "kiln studio clay glaze" if number < 35 else "kiln studio clay wheel"
        remember(alice, f"{ware} pottery {number}")
    assert grow_tree() == 140
    check_whole(alice)
    sizes = sorted(len(one) for one in topics(alice))
    assert sizes[-1] == 70
    assert all(size <= 48 for size in sizes[:-1])


def test_a_policy_that_is_switched_off_takes_the_tree_away(alice, two_topics):
    put_policy(alice.scope, wanted={}, now=timezone.now())
    assert request_trees(now=timezone.now()) == 1
    run_task("grow_tree", alice.scope.namespace_id)
    assert not TopicNode.objects.in_scope(alice.scope).exists()
    assert not TopicTree.objects.in_scope(alice.scope).exists()
    assert request_trees(now=timezone.now()) == 0


@pytest.mark.django_db(transaction=True)
def test_only_what_has_something_to_take_in_is_asked_for(alice, remember, grow_tree):
    remember(alice, "The kiln is hot.")
    assert request_trees(now=timezone.now()) == 1
    grow_tree()
    assert request_trees(now=timezone.now()) == 0
    later = timezone.now() + timedelta(minutes=20)
    assert request_trees(now=later) == 0
    assert TopicTree.objects.in_scope(alice.scope).get().looked_at == later
    remember(alice, "The ferry leaves at seven.")
    assert request_trees(now=later) == 1
    assert grow_tree() == 1
    check_whole(alice)


def test_a_run_that_has_to_end_early_is_queued_again_and_gone_on_with(alice, remember, wanted):
    for number in range(3):
        remember(alice, f"The kiln is hot for the {number}. time.", session=f"s{number}")
    ended = [grow(alice.scope, now=timezone.now(), seconds=0) for _ in range(3)]
    assert ended == [1, 1, 1]
    assert Job.objects.in_scope(alice.scope).filter(kind="grow_tree").count() == 1
    while not browse.read_state(alice.scope).complete:
        grow(alice.scope, now=timezone.now(), seconds=0)
    check_whole(alice)


def test_a_memory_without_its_vector_leaves_and_comes_back_with_it(alice, two_topics, grow_tree):
    vectors = MemoryVector.objects.in_scope(alice.scope).filter(memory_id__in=two_topics[:3])
    kept = list(vectors)
    vectors.delete()
    TopicTree.objects.in_scope(alice.scope).update(looked_at=timezone.now() - timedelta(hours=3))
    grow_tree()
    assert members(alice).keys() == set(two_topics[3:])
    MemoryVector.objects.bulk_create(kept)
    TopicTree.objects.in_scope(alice.scope).update(looked_at=timezone.now() - timedelta(hours=3))
    assert grow_tree() == 3
    check_whole(alice)


def test_a_run_changes_nothing_of_a_tree_that_was_begun_anew_meanwhile(alice, two_topics):
    row = TopicTree.objects.in_scope(alice.scope).get()
    run = GrowingTree(alice.scope, row.model_id, row.version, None, Snapshot(row.seen), timezone.now())
    rebuild(alice.scope, now=timezone.now())
    with pytest.raises(TreeGone):
        place_next(run, "s1")
    assert members(alice) == {}
