"""Which speakers a question names."""

from __future__ import annotations

import pytest
from django.utils import timezone

from memory.retrieval import speakers
from memory.services.entities.extract import index_namespace
from memory.services.recall.search import Ask, questions


def named(tenant, text, ids=()):
    (question,) = questions([Ask(text, 5, timezone.now())])
    return speakers.find_named(tenant.scope, question, ids)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Where did Ann move?", {"ann"}),
        ("where did ANN move", {"ann"}),
        ("What are Ann's plans?", {"ann"}),
        ("Is Annabel there?", set()),
        ("周航决定用什么？", {"周航"}),
        ("What is 42?", set()),
    ],
)
def test_a_speaker_is_named_by_whole_words(alice, remember, text, found):
    ids = [remember(alice, "Noted.", speaker=speaker) for speaker in ("Ann", "周航", "42", "")]

    assert named(alice, text, ids) == found
    assert named(alice, text) == set()


def test_another_name_of_a_speaker_names_the_speaker(alice, remember):
    remember(alice, "我叫林梅，英文名Mei。", speaker="林梅")
    remember(alice, "Mia is a friend.", speaker="陈凯")
    index_namespace(alice.scope, now=timezone.now())

    assert named(alice, "Where does Mei live?") == {"mei", "林梅"}
    assert named(alice, "Where does Mia live?") == set()
