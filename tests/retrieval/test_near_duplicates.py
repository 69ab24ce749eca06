"""What counts as one statement said twice, and how many different ones are picked."""

from __future__ import annotations

import pytest

from memory.retrieval.near_duplicates import Variety, Words, near_duplicates, nearest


def take_all(hits: list[Words], scores: list[float], *, weight: float) -> list[tuple[int, float]]:
    variety = Variety(weight)
    for place, (words, score) in enumerate(zip(hits, scores, strict=True)):
        variety.add(place, words, score)
    return [taken for _ in hits if (taken := variety.take())]


def same(one: str, other: str) -> bool:
    return near_duplicates([Words("Ann", one), Words("Ann", other)]) == {1: 0}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I moved to Lisbon in March.", "I moved to Lisbon in March!"),
        ("We ship the new release on Friday morning", "we ship the new release on friday morning."),
        ("The kiln in the workshop gets very hot in there", "The kiln in the workshop gets really very hot in there"),
        ("我昨天把钥匙放在厨房的桌子上了", "我昨天把钥匙放在厨房的桌子上。"),
        ("👍", "👍"),
        ("", ""),
    ],
)
def test_the_same_with_other_marks_or_a_word_more_is_one_statement(one, other):
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The rent of the flat near the river is 900 euros", "The rent of the flat near the river is 950 euros"),
        ("We use version 1.2 of the library in the app", "We use version 1.3 of the library in the app"),
        ("She has two cats in the flat near the river", "She has three cats in the flat near the river"),
        ("I gave the keys of the flat to Bob", "I gave the keys of the flat to Eva"),
        ("Today Ann owes Bob the money for the trip", "Today Bob owes Ann the money for the trip"),
        ("I do eat any kind of fish from the sea", "I do not eat any kind of fish from the sea"),
        ("I can eat fish from the sea at home", "I can't eat fish from the sea at home"),
        ("They smoke in the house of my parents", "They stopped smoke in the house of my parents"),
        ("I fly to the customer in the big city today", "I fly to the customer in the big city tomorrow"),
        ("the team meets in the small room on monday", "the team meets in the small room on tuesday"),
        ("We call before the lunch in the office", "We call after the lunch in the office"),
        ("We ship on Friday.", "We ship on Friday?"),
        ("我在那家很大的公司里已经工作了三年时间", "我在那家很大的公司里已经工作了五年时间"),
        ("我真的很想去那家新开的餐厅吃饭", "我真的不想去那家新开的餐厅吃饭"),
        ("我们今天要去医院看望奶奶和爷爷", "我们明天要去医院看望奶奶和爷爷"),
        ("上周我们和客户一起开会讨论方案", "下周我们和客户一起开会讨论方案"),
        ("会议改到周五好吗？", "会议改到周五好吗"),
        ("👍", "👎"),
        ("", "👎"),
        ("I like tea", "I like tea with milk and a lot of sugar in the morning"),
    ],
)
def test_another_number_name_negation_or_time_is_another_statement(one, other):
    assert not same(one, other)
    assert not same(other, one)


def test_what_another_speaker_says_is_another_statement():
    assert near_duplicates([Words("Ann", "I moved to Lisbon."), Words("Bob", "I moved to Lisbon.")]) == {}


def test_each_restatement_names_the_first_that_said_it():
    hits = [Words("Ann", text) for text in ("Tea is good.", "The ship sank.", "Tea is good!", "Tea: is good.")]
    assert near_duplicates(hits) == {2: 0, 3: 0}
    assert near_duplicates([]) == {}


def test_spread_takes_the_best_that_is_unlike_those_taken():
    # Jaccard: 0 and 1 share three of five words, 2 shares none with either.
    hits = [Words("Ann", text) for text in ("red green blue one", "red green blue two", "ship dock sea port")]

    chosen = take_all(hits, [1.0, 0.95, 0.9], weight=0.1)

    assert [place for place, _ in chosen] == [0, 2, 1]
    assert [cost for _, cost in chosen] == pytest.approx([0.0, 0.0, 0.06])


def test_spread_without_weight_keeps_the_order_and_the_earlier_of_equals():
    hits = [Words("Ann", "red green"), Words("Ann", "red green"), Words("Ann", "blue")]
    assert take_all(hits, [0.5, 0.5, 0.5], weight=0.0) == [(0, 0.0), (1, 0.0), (2, 0.0)]
    assert take_all([], [], weight=0.1) == []


def test_scores_less_costs_never_rise():
    texts = ["a b c", "a b d", "e f g", "a f h", "b c d", "e f"]
    scores = [1.0, 0.99, 0.97, 0.96, 0.95, 0.94]
    chosen = take_all([Words("Ann", text) for text in texts], scores, weight=0.3)
    finals = [scores[place] - cost for place, cost in chosen]
    assert finals == sorted(finals, reverse=True)


def test_the_nearest_is_the_one_with_most_words_in_common():
    said = Words("Ann", "red green blue")
    others = [Words("Bob", "ship"), Words("Ann", "red green"), Words("Ann", "red")]
    assert nearest(said, others) == (1, pytest.approx(2 / 3))
