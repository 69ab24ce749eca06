"""bench/answer_histories: the files are complete, and answers are scored by their contents."""

from __future__ import annotations

import pytest

from bench import answer_histories
from bench.answer_histories import DEV, NEVER_SAID, UNSEEN, Line, score

QUESTION = {"type": "single", "contains": ["Graz", ["goats", "goat"]], "gold": ["t1"]}


@pytest.mark.parametrize("half", [DEV, UNSEEN])
def test_what_a_right_answer_contains_stands_in_its_turns(half):
    found = list(answer_histories.histories(half))

    assert len(found) == 7
    for history in found:
        texts = {turn["id"]: turn["text"].casefold() for turn in history["turns"]}
        for question in history["questions"]:
            told = "\n".join(texts[turn] for turn in question["gold"])
            entries = [[entry] if isinstance(entry, str) else entry for entry in question["contains"]]
            assert bool(entries) is (question["type"] != NEVER_SAID)
            assert all(any(one.casefold() in told for one in entry) for entry in entries), question["id"]


def test_an_answer_contains_all_entries_and_one_of_alternatives():
    whole = [Line("He keeps goats near graz. [1]", frozenset(("t1",)))]

    scored = score(QUESTION, whole, "He lives near Graz.")

    assert (scored.contains, scored.first, scored.refused, scored.unrelated) == (True, False, False, 0)


def test_a_line_that_quotes_no_gold_turn_and_holds_nothing_of_it_is_unrelated():
    lines = [Line("He keeps a goat.", frozenset(("t9",))), Line("Yes please.", frozenset(("t4",)))]

    scored = score(QUESTION, lines, "")

    assert (scored.contains, scored.unrelated) == (False, 1)


def test_no_line_is_a_refusal():
    assert score(QUESTION, [], "Goats near Graz").refused
    assert not score(QUESTION, [], "Goats near Graz").contains
