"""An erasure removes everything of its memories from the tree, and nothing else."""

from __future__ import annotations

import threading
from uuid import UUID

import numpy as np
import pytest
from django.db import connection, transaction
from django.utils import timezone

from memory.enums import ErasureStatus
from memory.models import Erasure, Memory, TopicMember, TopicNode
from memory.services.erasure import requests
from memory.services.erasure.requests import Target
from memory.services.erasure.run import carry_out
from memory.services.tenancy.policy import put_policy
from memory.services.tree.grow import grow
from memory.services.tree.words import choose_words
from tests.services.tree.test_grow import check_whole, members, words

SECRET = "The stoneware kiln in the pottery studio hides a zeppelin."


def erase(tenant, **target) -> Erasure:
    asked = requests.request(tenant.scope, target=Target(**target), reason="asked", now=timezone.now())
    assert carry_out(namespace_id=tenant.scope.namespace_id, erasure_id=asked.id, now=timezone.now)
    done = Erasure.objects.get(namespace_id=tenant.scope.namespace_id, id=asked.id)
    assert done.status == ErasureStatus.FINISHED, (done.waiting_for, done.error)
    return done


def named(tenant) -> set[str]:
    """Return the memories that contain words of nodes."""
    rows = TopicNode.objects.in_scope(tenant.scope).values_list("label_places", "summary_places")
    return {place[0] for places in rows for kind in places for place in kind}


def means(tenant) -> dict[UUID, np.ndarray]:
    rows = TopicNode.objects.in_scope(tenant.scope).filter(level="topic").values_list("id", "centroid")
    return {identity: np.array(centroid) for identity, centroid in rows}


def test_an_erased_memory_leaves_neither_words_nor_its_share_of_the_mean(alice, two_topics, remember, grow_tree):
    before = means(alice)
    secret = remember(alice, SECRET)
    grow_tree()
    assert members(alice)[secret] == members(alice)[two_topics[0]]
    assert secret in named(alice) or "zeppelin" in words(alice)

    receipt = erase(alice, memory_ids=(UUID(secret),))

    assert secret not in members(alice)
    assert secret not in named(alice)
    after = means(alice)
    assert after.keys() == before.keys()
    assert all(np.allclose(after[one], before[one], atol=2e-3) for one in before)
    assert receipt.holders["memory_topicmember"] == {"counted": 1, "cleared": 1, "left": 0}
    assert receipt.holders["memory_topicnode"]["counted"] == receipt.holders["memory_topicnode"]["cleared"] >= 1
    assert receipt.holders["memory_topicnode"]["left"] == 0
    grow_tree()
    check_whole(alice)


def test_an_erased_session_and_an_erased_namespace_leave_no_node(alice, two_topics, remember, grow_tree):
    remember(alice, SECRET, session="s2")
    grow_tree()
    erase(alice, session="s1")
    assert set(TopicNode.objects.in_scope(alice.scope).values_list("session", flat=True)) == {"s2"}
    erase(alice, whole_namespace=True)
    assert not TopicNode.objects.in_scope(alice.scope).exists()
    assert not TopicMember.objects.in_scope(alice.scope).exists()


def test_what_left_the_tree_before_is_erased_from_words_that_were_not_chosen_anew(
    alice, two_topics, remember, grow_tree
):
    secret = remember(alice, SECRET)
    grow_tree()
    TopicMember.objects.in_scope(alice.scope).filter(memory_id=secret).delete()
    assert secret in named(alice)
    assert "zeppelin" not in words(alice)
    erase(alice, memory_ids=(UUID(secret),))
    assert secret not in named(alice)


def test_an_erasure_changes_nothing_of_other_topics_and_other_tenants(alice, bob, two_topics, remember, grow_tree):
    put_policy(bob.scope, wanted={"tree": "browse"}, now=timezone.now())
    remember(bob, SECRET)
    grow(bob.scope, now=timezone.now())
    before = list(TopicNode.objects.in_scope(bob.scope).values())
    of_ferry = TopicNode.objects.in_scope(alice.scope).filter(id=members(alice)[two_topics[3]]).values()
    untouched = list(of_ferry.all())
    erase(alice, memory_ids=(UUID(two_topics[0]),))
    assert list(TopicNode.objects.in_scope(bob.scope).values()) == before
    assert list(of_ferry.all()) == untouched


def test_a_topic_of_erased_memories_only_is_gone_and_its_session_stays(alice, two_topics):
    erase(alice, memory_ids=tuple(UUID(one) for one in two_topics[:3]))
    assert set(members(alice)) == set(two_topics[3:])
    assert TopicNode.objects.in_scope(alice.scope).count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_memory_that_somebody_is_changing_is_placed_by_a_later_run(alice, remember, grow_tree):
    free, locked = remember(alice, "The kiln is hot."), remember(alice, "The ferry is late.")
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                list(Memory.objects.in_scope(alice.scope).filter(pk=locked).select_for_update())
                held.set()
                release.wait(30)
        finally:
            connection.close()

    other = threading.Thread(target=hold)
    other.start()
    try:
        assert held.wait(30)
        assert grow_tree() == 1
        assert members(alice).keys() == {free}
    finally:
        release.set()
        other.join()
    assert grow_tree() == 1
    check_whole(alice)


def test_words_are_chosen_for_no_tree_that_was_begun_anew(alice, two_topics):
    TopicNode.objects.in_scope(alice.scope).update(stale=True)
    assert choose_words(alice.scope, version=UUID(two_topics[0]), now=timezone.now()) == 0
