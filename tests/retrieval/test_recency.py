"""Newer memories rank above those that they replace, and the first hits are the same for every `top_k`."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.enums import LinkKind, MemoryState
from memory.models import Memory, MemoryLink, RetiredStatement
from memory.retrieval.filters import parse
from memory.retrieval.hits import Hit
from memory.retrieval.pipeline import Retrieval, retrieve
from memory.retrieval.recency import is_about_words
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import edit
from memory.services.recall.search import Ask, find, questions
from memory.services.recall.search_across import search_across
from memory.services.recall.why import why
from memory.text.analysis import terms
from memory.types import NewMemory, system_access

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
ACCESS = system_access("tests")
HOW_HIGH = "How high is the rent?"
RENT = "The rent is £850 a month; the landlord is called Piet."

SAID = [
    f"{action} in {place}{mark}"
    for action in ("we painted it", "the train leaves at 9:04", "I moved yesterday", "when do we leave?", "it is red")
    for place in ("Lyon", "the kitchen", "Oslo")
    for mark in ("", "!")
] + ["厨房是黄色的", "我们昨天去了里昂"]
ASKED = (
    "When does the train to Lyon leave?",
    "List all that we painted",
    "How many trains leave, and when?",
    "What is in the kitchen?",
    "What did you say about Oslo?",
    "厨房是什么颜色的？",
)


@pytest.fixture
def say(alice, remember) -> Callable[..., uuid.UUID]:
    """Stores a text of the given day of 2026."""

    def run(text: str, day: int, **fields: Any) -> uuid.UUID:
        fields.setdefault("session", f"s{day}")
        return uuid.UUID(remember(alice, text, occurred_at=NOW.replace(month=1) + timedelta(days=day), **fields))

    return run


def link(tenant: Any, newer: uuid.UUID, older: uuid.UUID, words: str = "", **fields: Any) -> None:
    """Links the newer memory as the likely successor of the words (empty: of all) of the older one."""
    text = Memory.objects.in_scope(tenant.scope).get(pk=older).text
    start = text.index(words)
    MemoryLink.objects.create(
        namespace_id=tenant.scope.namespace_id, memory_id=newer, other_id=older, kind=LinkKind.SUPERSEDES,
        reason="test", actor="tests", start=start, end=start + len(words or text), **fields,
    )  # fmt: skip


def retire(tenant: Any, older: uuid.UUID, words: str, by: uuid.UUID) -> None:
    memory = Memory.objects.in_scope(tenant.scope).get(pk=older)
    start = memory.text.index(words)
    RetiredStatement.objects.create(
        namespace_id=tenant.scope.namespace_id, memory_id=older, start=start, end=start + len(words), by=by, by_start=0,
        by_end=1, reason="test", confidence=0.9, valid_to=NOW, retired_at=NOW,
    )  # fmt: skip
    memory.retired_spans = [start, start + len(words)]
    memory.save(update_fields=["retired_spans"])


def ask(tenant: Any, text: str, *, top_k: int = 5, show_dropped: int = 0, **narrowed: Any) -> Retrieval:
    asked = Ask(text, top_k, timezone.now(), show_dropped=bool(show_dropped), dry_run=True, **narrowed)
    return find(tenant.scope, asked).retrieval


def ids(retrieval: Retrieval) -> list[uuid.UUID]:
    return [hit.id for hit in retrieval.hits]


class TestTheFirstHits:
    """The order and scores of the first n hits are the same for every `top_k` from n on."""

    def test_the_rent_is_the_new_one_for_every_top_k(self, alice, say):
        old = say("The rent for the flat is 850 euros a month.", 1)
        new = say("From June they want 910.", 5)
        for day in range(6, 30):
            say(f"The rent for the garage number {day} is paid.", day)
        link(alice, new, old)

        for top_k in range(1, 12):
            hits = ids(ask(alice, "How high is the rent for the flat?", top_k=top_k))
            assert len(hits) == top_k
            assert hits[:2] == [new, old][:top_k]

    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    @given(seed=st.integers(0, 10_000), collapse=st.booleans())
    def test_they_are_the_same_for_every_top_k(self, make_tenant, seed, collapse):
        tenant, chance = make_tenant(f"n{uuid.uuid4().hex[:12]}"), random.Random(seed)
        said = chance.choices(SAID, k=chance.randrange(20, 90))
        items = [
            (
                tenant.scope,
                NewMemory(
                    f"s{number % 3}", "agent" if number % 5 == 4 else "user", text,
                    speaker="Ann" if number % 2 else "", occurred_at=NOW - timedelta(minutes=7 * number),
                ),
            )
            for number, text in enumerate(said)
        ]  # fmt: skip
        ids_of_all = ingest_batch(items=items, now=timezone.now()).memory_ids
        for _ in range(chance.randrange(25)):
            newer, older = chance.sample(ids_of_all, 2)
            if not MemoryLink.objects.in_scope(tenant.scope).filter(memory_id=newer, other_id=older).exists():
                link(tenant, newer, older)
        for older in chance.sample(ids_of_all, chance.randrange(4)):
            by = chance.choice([one for one in ids_of_all if one != older])
            retire(tenant, older, Memory.objects.in_scope(tenant.scope).get(pk=older).text[:7], by)
        (question,) = questions([Ask(chance.choice(ASKED), 5, NOW)])

        found = {
            top_k: retrieve(tenant.scope, question, top_k=top_k, show_dropped=200, collapse=collapse)
            for top_k in (*range(1, 21), 50)
        }

        whole = [(hit.id, hit.score, hit.relevance, hit.replaces) for hit in found[50].hits]
        assert len({one for one, *_ in whole}) == len(whole)
        for top_k, retrieval in found.items():
            hits = [(hit.id, hit.score, hit.relevance, hit.replaces) for hit in retrieval.hits]
            assert hits == whole[:top_k]
            assert not set(ids(retrieval)) & {dropped.candidate.memory_id for dropped in retrieval.dropped}
        check_parts(found[50].hits)


def check_parts(hits: list[Hit]) -> None:
    """Checks that parts sum to the score, that scores do not rise, and that each likeness is the hit's own."""
    for hit in hits:
        assert sum(part.weighted for part in hit.candidate.parts.values()) == hit.score
        assert ("successor" in hit.candidate.parts) == (hit.replaces is not None)
    assert all(first.score >= second.score - 1e-12 for first, second in pairwise(hits))


class TestSuccessors:
    def test_one_that_is_no_candidate_comes_in_with_its_own_nearness(self, alice, say):
        old = say("The rent is 850.", 1)
        items = [(alice.scope, NewMemory("s1", "user", f"The rent of garage {n} is high.")) for n in range(230)]
        ingest_batch(items=items, now=timezone.now())
        new = say("Zebras graze.", 5)
        assert new not in {dropped.candidate.memory_id for dropped in ask(alice, HOW_HIGH, show_dropped=1).dropped}
        alone = ask(alice, "The rent is 850?", top_k=1).hits[0]
        assert alone.id == old
        link(alice, new, old)

        first, second = ask(alice, "The rent is 850?", top_k=2).hits

        assert (first.id, second.id) == (new, old)
        assert first.replaces == old
        assert 0 < first.similarity < second.similarity
        assert first.bm25 == 0 < second.bm25
        # The successor is judged by itself, not by the place that it takes, and nothing below it is more relevant.
        assert second.relevance == first.relevance < alone.relevance
        check_parts([first, second])
        assert first.score == second.score

    def test_one_that_stands_above_stays_with_its_own_score(self, alice, say):
        old = say("They spoke of the rent.", 1)
        new = say("The rent is high: the rent is 910.", 5)
        say("It rained.", 6)
        before = [(hit.id, hit.score) for hit in ask(alice, HOW_HIGH).hits]
        assert [one for one, _ in before[:2]] == [new, old]
        link(alice, new, old)

        after = ask(alice, HOW_HIGH).hits

        assert [(hit.id, hit.score) for hit in after] == before
        assert [len(hit.later) for hit in after] == [0, 1, 0]

    def test_of_a_chain_the_newest_that_may_be_a_hit_comes_in(self, alice, say):
        first, second, third = say(f"{HOW_HIGH} It is 850.", 1), say("Now 880.", 3), say("It went up to 910.", 5)
        link(alice, second, first)
        link(alice, third, second)
        assert ids(ask(alice, HOW_HIGH, top_k=2)) == [third, first]

        edit.archive(ACCESS, memory_ids=[second], reason="test", now=timezone.now())
        assert ids(ask(alice, HOW_HIGH, top_k=2)) == [third, first]

        edit.restore(ACCESS, memory_ids=[second], reason="test", now=timezone.now())
        edit.archive(ACCESS, memory_ids=[third], reason="test", now=timezone.now())
        found = ask(alice, HOW_HIGH, top_k=2)
        assert ids(found) == [second, first]
        assert [one.memory_id for one in found.hits[1].later] == [second]

    def test_a_ring_of_links_brings_its_newest(self, alice, say):
        old, new = say("The rent is 850.", 1), say("Now 910.", 5)
        link(alice, new, old)
        link(alice, old, new)

        found = ask(alice, HOW_HIGH)

        assert ids(found) == [new, old]
        assert [len(hit.later) for hit in found.hits] == [0, 1]

    def test_one_of_several_comes_in_once_at_the_first(self, alice, say):
        olds = {say(text, day) for day, text in enumerate(("The rent is 850.", "The rent: 860.", "Rent 870 now."))}
        new = say("They want 910.", 5)
        say("The weather.", 6)
        for old in olds:
            link(alice, new, old)

        found = ids(ask(alice, HOW_HIGH))

        assert found[0] == new
        assert set(found[1:4]) == olds

    def test_one_that_says_again_what_stands_above_is_not_brought(self, alice, say):
        old, newer = say("The rent is 910 euros, is it?", 1), say("The rent is 910 euros.", 5)
        other = say("The rent is 850 euros.", 2)
        said = say("The rent is 910 euros!", 3)
        link(alice, newer, other)

        found = ask(alice, "The rent is 910 euros", show_dropped=20)

        assert {said, newer} & set(ids(found)) == {found.hits[0].id}
        assert found.hits[0].restated_by == [*({said, newer} - {found.hits[0].id})]
        assert other in ids(found)
        assert old in ids(found)

    def test_what_was_taken_back_and_said_again_is_told_by_its_newest(self, alice, say):
        first, between, last = (
            say("I live in Berlin in a small flat.", 1),
            say("I live in Porto.", 3),
            say("I live in Berlin in a small flat!", 5),
        )
        link(alice, between, first)
        link(alice, last, between)

        found = ask(alice, "Do I live in Berlin in a small flat?", show_dropped=9)

        assert ids(found) == [last, between]
        assert found.hits[0].restated_by == [first]
        assert [dropped.other for dropped in found.dropped] == [last]

    def test_what_says_again_what_was_replaced_lends_its_successor(self, alice, say):
        said, again = say("The rent is 850 euros a month.", 1), say("The rent is 850 euros a month!", 2)
        new = say("They want 910.", 5)
        link(alice, new, again)
        for top_k in (1, 2, 3):
            found = ids(ask(alice, "The rent is 850 euros a month", top_k=top_k))
            assert found[0] == new
            assert set(found[1:]) <= {said, again}

    def test_a_question_about_the_rest_of_a_memory_brings_none(self, alice, say):
        old, new = say(RENT, 1), say("They put it up to £910.", 5)
        link(alice, new, old, "£850")
        assert ids(ask(alice, "What is the landlord called?"))[0] == old
        assert ids(ask(alice, HOW_HIGH)) == [new, old]

    @pytest.mark.parametrize(
        ("asked", "words", "text", "about"),
        [
            (HOW_HIGH, "The rent is £850 a month", RENT, True),
            ("What is the landlord called?", "The rent is £850 a month", RENT, False),
            # A bare value stands for its clause, and the text may have been found by meaning without a common term.
            (HOW_HIGH, "£850", RENT, True),
            ("What does the flat cost?", "£850", RENT, True),
            ("瑜伽课每周几上？", "周二", "瑜伽课每周二上。", True),
            ("谁教瑜伽课？", "每周二上课", "每周二上课，瑜伽课是李老师教。", False),
            ("Anything?", "words of another text", RENT, True),
        ],
    )
    def test_which_words_a_question_is_about(self, asked, words, text, about):
        assert is_about_words(frozenset(terms(asked)), words, text) is about

    def test_the_filter_and_the_time_of_the_question_hold_for_it(self, alice, say):
        old = say("The rent is 850.", 1, metadata={"about": "flat"})
        new = say("They want 910.", 5)
        link(alice, new, old, created_at=timezone.now())

        narrowed = find(
            alice.scope, Ask(HOW_HIGH, 5, timezone.now(), where=parse({"metadata.about": "flat"}), dry_run=True)
        ).hits
        assert [hit.id for hit in narrowed] == [old]
        assert not narrowed[0].later, "what the filter leaves out is not told either"

        before = ask(alice, HOW_HIGH, valid_at=NOW.replace(month=1) + timedelta(days=3))
        assert ids(before) == [old]
        assert ids(ask(alice, HOW_HIGH, valid_at=NOW.replace(month=3))) == [new, old]

    def test_a_link_that_was_made_later_does_not_count_then(self, alice, say):
        old, new = say("The rent is 850.", 1), say("They want 910.", 5)
        said = timezone.now()
        link(alice, new, old, created_at=said + timedelta(seconds=1))

        then = ask(alice, HOW_HIGH, as_of=said)
        assert ids(then) == [old, new]
        assert not then.hits[0].later
        now = ask(alice, HOW_HIGH, as_of=said + timedelta(seconds=2))
        assert ids(now) == [new, old]
        assert [one.memory_id for one in now.hits[1].later] == [new]

    def test_a_preference_comes_in_only_where_preferences_are_told(self, alice, say):
        old, new = say("Ann prefers tea.", 1), say("Ann prefers coffee now.", 5)
        link(alice, new, old)
        Memory.objects.in_scope(alice.scope).filter(pk=new).update(is_preference=True)
        assert ids(ask(alice, "What does Ann prefer?")) == [old]

    def test_what_is_archived_is_no_successor(self, alice, say):
        old, new = say("The rent is 850.", 1), say("They want 910.", 5)
        link(alice, new, old)
        Memory.objects.in_scope(alice.scope).filter(pk=new).update(state=MemoryState.ARCHIVED)
        assert ids(ask(alice, HOW_HIGH)) == [old]

    def test_of_several_namespaces_it_stands_above_what_it_replaces(self, alice, bob, say, remember):
        old, new = say("The rent is 850.", 1), say("Zebras graze.", 5)
        link(alice, new, old)
        remember(bob, "The rent is 700.")
        asked = Ask(HOW_HIGH, 5, timezone.now(), dry_run=True)

        whole = [one.hit.id for one in search_across([alice.scope, bob.scope], asked).hits]

        assert whole.index(new) < whole.index(old)
        for top_k in (1, 2):
            asked = Ask(HOW_HIGH, top_k, timezone.now(), dry_run=True)
            assert [one.hit.id for one in search_across([alice.scope, bob.scope], asked).hits] == whole[:top_k]

    def test_the_answers_say_why_it_is_there_and_why_the_older_one_is_not(self, alice, say):
        old, new = say("The rent for the flat is 850 euros a month.", 1), say("They want 910.", 5)
        link(alice, new, old)
        body = {"namespace": "alice", "query": "How high is the rent for the flat?", "top_k": 1, "explain": True}

        answer = alice.post("/v1/search", body).json()

        [hit], [dropped] = answer["hits"], answer["dropped"]
        assert hit["id"] == str(new)
        explained = hit["explanation"]
        assert f"stands in the place of {old}" in explained["reason"]
        parts = [*explained["arms"].values(), *explained["signals"].values()]
        assert sum(part["weighted"] for part in parts) == pytest.approx(explained["final"])
        assert (dropped["id"], dropped["other"], dropped["verdict"]) == (str(old), str(new), "outranked")
        assert "took its place" in dropped["reason"]
        asked = Ask(body["query"], 1, timezone.now())
        assert "took its place" in why(alice.scope, asked, memory_id=old).reason
        assert "stands in the place of" in why(alice.scope, asked, memory_id=new).reason

    def test_the_pack_has_both_with_the_mark(self, alice, say):
        old, new = say("The rent is 850.", 1), say("They want 910.", 5)
        link(alice, new, old)

        answer = alice.post("/v1/query", {"namespace": "alice", "session_id": "s9", "query": HOW_HIGH}).json()

        first, second = answer["raw_chunks"]
        assert (first["id"], second["id"]) == (str(new), str(old))
        assert first["metadata"]["final_score"] == second["metadata"]["final_score"]
        assert [one["memory_id"] for one in second["metadata"]["later"]] == [str(new)]
        assert "(later, 2026-01-13: They want 910.)" in answer["context_pack"]["text"]


class TestWhatIsLeftOfARetiredMemory:
    WHERE = "Where does Camille live?"

    def test_its_successor_takes_its_place_and_a_name_does_not_rank_it(self, alice, say):
        old = say("Hi, I'm Camille. I live in Paris, with my dog Nougat.", 1, speaker="Camille")
        new = say("News: I moved to Berlin last week.", 5, speaker="Camille")
        others = [say(f"I bought {thing} in the shop.", 6, speaker="Camille") for thing in ("bread", "a lamp", "ink")]
        retire(alice, old, "I live in Paris, with my dog Nougat.", new)

        for top_k in range(1, 6):
            found = ask(alice, self.WHERE, top_k=top_k)
            assert ids(found)[0] == new
            check_parts(found.hits)
        assert ids(found)[-1] == old
        assert set(ids(found)[1:-1]) == set(others)
        assert found.hits[-1].candidate.parts["retired"].weighted < 0
        assert not found.hits[-1].later, "the words are not shown: nothing is later than them"

    def test_a_question_about_what_is_left_finds_it(self, alice, say):
        old = say("I keep a dog called Nougat. I live in Paris.", 1)
        new = say("News: I moved to Berlin last week.", 5)
        retire(alice, old, "I live in Paris.", new)

        found = ask(alice, "What dog do I keep?")

        assert ids(found)[0] == old
        assert "retired" not in found.hits[0].candidate.parts

    def test_one_that_was_withdrawn_counts_again(self, alice, say):
        old = say("Hi, I'm Camille. I live in Paris.", 1)
        new = say("News: I moved to Berlin last week.", 5)
        retire(alice, old, "I live in Paris.", new)
        RetiredStatement.objects.in_scope(alice.scope).update(withdrawn_at=timezone.now())
        Memory.objects.in_scope(alice.scope).filter(pk=old).update(retired_spans=[])
        assert ids(ask(alice, "Where does Camille live? In Paris?"))[0] == old
