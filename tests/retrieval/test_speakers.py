"""The speakers that a question names."""

from __future__ import annotations

import pytest
from django.utils import timezone

from memory.retrieval import users
from memory.retrieval.named_words import find_named_words
from memory.retrieval.question import Question
from memory.services.entities.extract import index_namespace
from memory.services.recall.search import Ask, questions
from memory.text.names import speaker_key


def ask(text: str) -> Question:
    (question,) = questions([Ask(text, 5, timezone.now())])
    return question


def named(tenant, question, *, by_words: bool = True):
    taking_part = ("lexical",) if by_words else ()
    return find_named_words(tenant.scope, question, taking_part=taking_part, limit=50, most_retired=0).speakers


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
    for speaker in ("Ann", "周航", "42", ""):
        remember(alice, "Noted.", speaker=speaker)

    assert named(alice, ask(text)) == found
    assert named(alice, ask(text), by_words=False) == set()


def test_another_name_of_a_speaker_names_the_speaker(alice, remember):
    remember(alice, "我叫林梅，英文名Mei。", speaker="林梅")
    remember(alice, "Mia is a friend.", speaker="陈凯")
    index_namespace(alice.scope, now=timezone.now())

    assert named(alice, ask("Where does Mei live?")) == {"mei", "林梅"}
    assert named(alice, ask("Where does Mia live?")) == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What is Mei Lin's address?", "u-17"),
        ("What is Mei's address?", "u-17"),
        ("林梅的地址是什么？", "u-18"),
        ("What is u-17's address?", "Mei Lin"),
        ("What is Meike's address?", None),
    ],
)
def test_a_user_is_named_by_the_display_name(alice, remember, text, found):
    for name, shown in (("u-17", "Mei Lin"), ("u-18", "林梅")):
        answer = alice.post("/v1/users", {"namespace": "alice", "name": name, "display_name": shown})
        assert answer.status_code == 201
    for speaker in ("u-17", "u-18", "Mei Lin"):
        remember(alice, "The address is noted, 地址。", speaker=speaker)

    speakers = named(alice, users.add_names(alice.scope, ask(text)))

    assert (found is None and not speakers) or speaker_key(found or "") in speakers


def test_a_display_name_of_another_namespace_names_nobody(alice, bob, remember):
    bob.post("/v1/users", {"namespace": "bob", "name": "u-17", "display_name": "Mei Lin"})
    (question,) = questions([Ask("What is Mei Lin's address?", 5, timezone.now())])

    assert users.add_names(bob.scope, question) != question
    assert users.add_names(alice.scope, question) == question


def test_the_address_of_a_user_is_found_by_the_display_name(alice, remember):
    alice.post("/v1/users", {"namespace": "alice", "name": "u-17", "display_name": "Mei Lin"})
    for speaker, address in (("u-18", "9 Harbour Road"), ("u-17", "4 Mill Lane"), ("u-19", "2 Fen Close")):
        remember(alice, f"My address is {address}.", speaker=speaker)

    wanted = {"namespace": "alice", "query": "What is Mei Lin's address?", "top_k": 3}
    hits = alice.post("/v1/search", wanted).json()["hits"]

    assert hits[0]["text"] == "My address is 4 Mill Lane."
    assert len(hits) == 3
