from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.retrieval.latest import DatedHit, asks_for_value, latest_first
from memory.text.utterances import statements


def hit(text: str, day: int, *, by_agent: bool = False) -> DatedHit:
    return DatedHit(statements(text, by_agent=by_agent), datetime(2025, 6, day, tzinfo=UTC))


OLD = hit("My weekly word target is 1,200 words.", 1)
NEW = hit("My weekly word target has become 1,350 words.", 9)
OTHER = hit("The oboe costs 300 euros.", 20)


def test_the_newest_value_stands_first_and_others_keep_their_places() -> None:
    assert latest_first("What is my weekly word target?", [OLD, OTHER, NEW]) == [2, 1, 0]


def test_a_question_about_the_past_keeps_the_order() -> None:
    assert latest_first("What was my first weekly word target?", [OLD, NEW]) == [0, 1]


def test_what_the_agent_says_takes_no_part() -> None:
    echo = hit("My weekly word target is 1,500 words.", 12, by_agent=True)

    assert latest_first("What is my weekly word target?", [OLD, echo]) == [0, 1]


def test_chinese() -> None:
    old, new = hit("我每周的目标是1200字。", 1), hit("我每周的目标是1350字。", 9)

    assert latest_first("我每周的目标是多少字？", [old, new]) == [1, 0]


@pytest.mark.parametrize("question", ["", "Tell me about Oslo.", "How did it go before June?", "我以前的目标是多少？"])
def test_other_questions_ask_for_no_value(question: str) -> None:
    assert not asks_for_value(question)
    assert latest_first(question, [OLD, NEW]) == [0, 1]


def test_no_hits() -> None:
    assert latest_first("What is my target?", []) == []
