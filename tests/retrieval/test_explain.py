"""Explanations: parts that sum to the score, for hits and rejected candidates, and their sentences."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.enums import ARMS, Verdict
from memory.retrieval.explain import differences, explain, explain_dropped, ordinal, parts, reason
from memory.retrieval.fusion import SIGNALS, Candidate, Contribution
from memory.retrieval.hit_memory import HitMemory
from memory.retrieval.hits import Hit
from memory.retrieval.left_out import list_dropped
from memory.retrieval.near_duplicates import Words
from memory.retrieval.pipeline import Retrieval, retrieve
from memory.services.ingestion.ingest import ingest_batch
from memory.services.recall.search import Ask, questions
from memory.types import NewMemory
from tests.providers.cross_encoder import build

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
A, B, C, D = (uuid.UUID(int=number) for number in range(1, 5))
PLACES = ("Lyon", "the kitchen", "Oslo", "the yellow train", "work")
ACTIONS = ("we painted it", "the train leaves at 9:04", "I moved yesterday", "when do we leave?", "Ann bought tea")
QUESTIONS = st.sampled_from(
    (
        "When does the train to Lyon leave?",
        "When did Ann paint the kitchen?",
        "List all that we painted",
        "How many trains leave, and when?",
        "What did you say about Oslo?",
        "What is the latest on the kitchen?",
        "yesterday in Lyon",
        "the of and",
        "我们什么时候去？",
        "👍",
    )
)


@pytest.fixture
def talks(alice) -> Any:
    """Stores sixty turns of three sessions, some of them restated, some in Chinese."""
    texts = [f"{action} in {place}" for place in PLACES for action in ACTIONS]
    texts += [f"{text}!" for text in texts[:15]] + ["我们昨天去了里昂", "厨房是黄色的"] * 10
    items = [
        (
            alice.scope,
            NewMemory(
                f"s{number % 3}",
                "agent" if number % 4 == 3 else "user",
                text,
                speaker="Ann" if number % 2 else "",
                occurred_at=NOW - timedelta(minutes=7 * number),
            ),
        )
        for number, text in enumerate(texts)
    ]
    ingest_batch(items=items, now=timezone.now())
    return alice


def found(tenant: Any, text: str, *, top_k: int, show_dropped: int = 200, **options: Any) -> Retrieval:
    (question,) = questions([Ask(text, 5, NOW)])
    return retrieve(tenant.scope, question, top_k=top_k, show_dropped=show_dropped, **options)


def check_sums(retrieval: Retrieval) -> None:
    """Checks that the parts of hits and rejected candidates sum to their scores, and that these explain the order."""
    explained = [explain(hit, retrieval.weights, considered=retrieval.considered) for hit in retrieval.hits]
    explained += [explain_dropped(dropped, retrieval.weights) for dropped in retrieval.dropped]
    assert explained
    for entry in explained:
        shares = [part["weighted"] for kind in ("arms", "signals") for part in entry[kind].values()]
        assert sum(shares) == pytest.approx(entry["final"], abs=1e-9)
        assert set(entry["arms"]) == set(ARMS)
    assert all(first.score >= second.score - 1e-9 for first, second in pairwise(retrieval.hits))
    needed = retrieval.hits[-1].score
    for dropped in retrieval.dropped:
        assert dropped.needed == needed
        if dropped.verdict is not Verdict.RESTATED:
            assert dropped.candidate.score <= needed + 1e-9
        if dropped.verdict is Verdict.VARIETY:
            assert dropped.candidate.score - dropped.candidate.parts["variety"].weighted > needed
    ids = [hit.id for hit in retrieval.hits] + [dropped.candidate.memory_id for dropped in retrieval.dropped]
    assert len(ids) == len(set(ids)) == retrieval.considered
    again = {dropped.candidate.memory_id for dropped in retrieval.dropped if dropped.verdict is Verdict.RESTATED}
    assert again >= {other for hit in retrieval.hits for other in hit.restated_by}


@given(text=QUESTIONS, top_k=st.integers(1, 30))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_parts_sum_for_every_question(talks, text, top_k):
    retrieval = found(talks, text, top_k=top_k)
    check_sums(retrieval)
    assert len(retrieval.hits) == min(top_k, len(retrieval.hits) + len(retrieval.dropped))


@given(text=QUESTIONS, arms=st.sets(st.sampled_from((*ARMS, *SIGNALS))))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_parts_sum_whatever_takes_part(talks, text, arms):
    check_sums(found(talks, text, top_k=4, arms={*arms, "dense"}))


@pytest.mark.parametrize("candidates", [5, 50])
def test_parts_sum_with_a_reranker(talks, settings, tmp_path: Path, candidates):
    settings.MEMOS_RERANK_PROVIDER = "onnx"
    settings.MEMOS_RERANK_MODEL_DIR = str(build(tmp_path))
    settings.MEMOS_RERANK_CANDIDATES = candidates
    for text in ("when leaves the train to lyon", "list all trains and when we painted"):
        retrieval = found(talks, text, top_k=6)
        check_sums(retrieval)
        assert "rerank" in retrieval.hits[0].candidate.parts
        judged = [entry for entry in retrieval.dropped if "rerank" in entry.candidate.parts]
        assert judged or candidates == 5


def test_dates_and_variety_are_parts(talks):
    dated = found(talks, "When did I move?", top_k=3)
    check_sums(dated)
    part = explain(dated.hits[0], dated.weights, considered=dated.considered)["signals"]["dated"]
    assert part == {"raw": 1.0, "weight": SIGNALS["dated"], "weighted": SIGNALS["dated"]}
    listed = found(talks, "List all that we painted", top_k=3)
    check_sums(listed)
    assert "variety" in listed.hits[2].candidate.parts
    assert any("variety" in dropped.candidate.parts for dropped in listed.dropped)


def test_what_is_dropped_changes_nothing_about_the_hits_and_is_cut_at_what_was_asked_for(talks):
    for text in ("When did Ann paint the kitchen?", "List all that we painted"):
        without, some = found(talks, text, top_k=5, show_dropped=0), found(talks, text, top_k=5, show_dropped=3)
        assert some.hits == without.hits
        assert (without.dropped, len(some.dropped)) == ([], 3)
        assert some.dropped == found(talks, text, top_k=5).dropped[:3]


def test_one_statement_said_over_and_over_does_not_leave_the_answer_short(alice):
    items = [(alice.scope, NewMemory("s1", "user", "the kiln glows")) for _ in range(60)]
    items += [(alice.scope, NewMemory("s2", "user", f"{word} near a kiln, says Bob")) for word in ("bricks", "sand")]
    ingest_batch(items=items, now=timezone.now())

    retrieval = found(alice, "the kiln glows", top_k=3)

    assert len(retrieval.hits) == 3
    assert len(retrieval.hits[0].restated_by) == 59
    check_sums(retrieval)


@pytest.mark.parametrize("arms", [[], ["session"], ["neighbours", "time"]])
def test_without_an_arm_there_is_nothing_to_ask(alice, remember, arms):
    remember(alice, "kiln")
    with pytest.raises(ValueError, match="names no arm"):
        found(alice, "kiln", top_k=1, arms=arms)


def candidate(identity: uuid.UUID, score: float) -> Candidate:
    return Candidate(str(identity), {"dense": Contribution(score, 1, score)})


def shown(one: Candidate, words: Words, **options: Any) -> Hit:
    memory = HitMemory(one.memory_id, "s1", 1, "user", "Ann", words.text, {}, "L2", NOW, NOW, 0.5, 1)
    return Hit(memory, one, **options)


def test_what_is_left_out_says_what_it_would_have_needed():
    listed = [candidate(A, 0.9), candidate(B, 0.8), candidate(C, 0.7), candidate(D, 0.2)]
    said = [Words("Ann", "red green"), Words("Ann", "red green."), Words("Ann", "ship dock")]

    restated, outranked = list_dropped(
        listed, said, [shown(listed[0], said[0]), shown(listed[2], said[2])], again={B: A}, variety=0.0
    )

    assert (restated.verdict, restated.other, restated.rank, restated.needed) == (Verdict.RESTATED, A, 2, 0.7)
    assert restated.reason == f"It says again what {A} says."
    assert (outranked.verdict, outranked.other, outranked.rank, outranked.needed) == (Verdict.OUTRANKED, None, 4, 0.7)
    assert outranked.reason == "Its score is 0.2000; the last hit has 0.7000."


def test_a_restatement_of_what_did_not_come_back_says_so():
    listed = [candidate(A, 0.9), candidate(B, 0.8), candidate(C, 0.7)]
    said = [Words("Ann", "red"), Words("Ann", "ship"), Words("Ann", "ship!")]
    _, restated = list_dropped(listed, said, [shown(listed[0], said[0])], again={C: B}, variety=0.0)
    assert restated.reason == f"It says again what {B} says, which did not come back either."


def test_too_like_a_hit_is_told_from_a_low_score():
    listed = [candidate(A, 0.9), candidate(B, 0.85), candidate(C, 0.84), candidate(D, 0.5)]
    said = [Words("Ann", text) for text in ("red green one", "red green two", "ship dock", "sea")]

    hits = [shown(listed[0], said[0]), shown(listed[2], said[2])]

    alike, low = list_dropped(listed, said, hits, again={}, variety=0.1)

    assert (alike.verdict, alike.other) == (Verdict.VARIETY, A)
    assert alike.candidate.parts["variety"] == Contribution(pytest.approx(0.05), None, pytest.approx(-0.05))
    assert "too like" in alike.reason
    assert "from 0.8500 to 0.8000" in alike.reason
    assert (low.verdict, low.candidate) == (Verdict.OUTRANKED, listed[3])
    assert list_dropped(listed, said, [], again={}, variety=0.1) == []


def test_what_a_successor_took_the_place_of_says_so():
    listed = [candidate(A, 0.9), candidate(B, 0.8)]
    said = [Words("Ann", "red"), Words("Ann", "ship")]
    newer = shown(candidate(C, 0.9), Words("Ann", "blue"), replaces=A)

    first, second = list_dropped(listed, said, [newer], again={}, variety=0.0)

    assert (first.verdict, first.other) == (Verdict.OUTRANKED, C)
    assert first.reason.endswith(f"{C} took its place: it says what holds now.")
    assert (second.other, second.reason) == (None, "Its score is 0.8000; the last hit has 0.9000.")


def test_differences_sum_to_that_of_the_scores_largest_first():
    above = Candidate(
        str(A),
        {
            "dense": Contribution(0.5, 1, 0.5),
            "session": Contribution(0.1, None, 0.1),
            "question": Contribution(1, None, -0.1),
        },
    )
    below = Candidate(
        str(B),
        {
            "dense": Contribution(0.4, 2, 0.4),
            "lexical": Contribution(2.0, 1, 0.3),
            "question": Contribution(1, None, -0.1),
        },
    )

    found = differences(above, below)

    assert list(found)[-1] == "lexical"
    assert found == pytest.approx({"dense": 0.1, "session": 0.1, "lexical": -0.3})
    assert sum(found.values()) == pytest.approx(above.score - below.score)


def hit(found: dict[str, Contribution], **options: Any) -> Hit:
    memory = HitMemory(A, "s1", 1, "user", "", "text", {}, "L2", NOW, NOW, 0.5, 1)
    return Hit(memory, Candidate(str(A), found), rank=1, **options)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            {"dense": Contribution(0.8, 2, 0.4), "lexical": Contribution(3.5, 1, 0.5)},
            "Found by meaning (2nd of 74) and by its words (1st of 74).",
        ),
        (
            {"dense": Contribution(0.2, None, 0.1), "lexical": Contribution(3.5, 4, 0.5)},
            "Found by its words (4th of 74).",
        ),
        ({"dense": Contribution(0.2, None, 0.1)}, "Found next to memories that match."),
        (
            {
                "dense": Contribution(0.8, 1, 0.4),
                "session": Contribution(0.5, None, 0.1),
                "dated": Contribution(1.0, None, 0.25),
            },
            "Found by meaning (1st of 74); it says when, its conversation matches.",
        ),
        (
            {"dense": Contribution(0.8, 1, 0.4), "importance": Contribution(-0.5, None, -0.05)},
            "Found by meaning (1st of 74).",
        ),
    ],
)
def test_the_sentence_says_who_found_it_and_what_helped(found, sentence):
    assert reason(hit(found), considered=74) == sentence


def test_the_sentence_counts_restatements():
    said = hit({"dense": Contribution(0.8, 1, 0.4)}, restated_by=[B, C])
    assert reason(said, considered=9).endswith("; said again by 2 more.")


def test_what_gave_less_than_a_twentieth_of_the_score_is_not_named():
    found = {
        "dense": Contribution(0.8, 1, 0.8),
        "lexical": Contribution(0.1, 3, 0.04),
        "session": Contribution(0.2, None, 0.06),
        "importance": Contribution(0.1, None, 0.01),
    }
    assert reason(hit(found), considered=21) == "Found by meaning (1st of 21); its conversation matches."


@pytest.mark.parametrize(
    ("number", "shown"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (13, "13th"), (122, "122nd")]
)
def test_places_are_ordinals(number, shown):
    assert ordinal(number) == shown


def test_an_arm_that_found_nothing_is_there_with_nothing():
    listed = parts(Candidate(str(A), {"lexical": Contribution(3.5, 1, 0.5)}), {"dense": 0.5, "lexical": 0.5})
    assert listed["arms"]["dense"] == {"raw": 0.0, "rank": None, "weight": 0.5, "weighted": 0.0}
    assert listed["arms"]["lexical"] == {"raw": 3.5, "rank": 1, "weight": 0.5, "weighted": 0.5}
    assert listed["signals"] == {}
