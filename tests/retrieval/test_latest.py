from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.retrieval.latest import MOST_CHARS, DatedHit, asks_for_value, change_first, latest_first
from memory.text.utterances import statements


def hit(text: str, day: int, *, by_agent: bool = False, speaker: str = "") -> DatedHit:
    return DatedHit(statements(text, by_agent=by_agent, speaker=speaker), datetime(2025, 6, day, tzinfo=UTC))


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


DESK = hit("Wen's desk is on the first floor.", 1)
MOVED = hit("They moved Wen's desk to the mezzanine.", 9)


@pytest.mark.parametrize(
    ("question", "before", "change"),
    [
        ("Where is Wen's desk?", DESK, MOVED),
        ("What do we use for search?", hit("We use Lucene for search.", 1), hit("We switched search to Vespa.", 5)),
        ("老婆还喝奶茶吗？", hit("老婆每天都喝奶茶。", 1), hit("老婆不再喝奶茶了，坚持一个月了。", 5)),
        # Whoever says it: the desk is a third person's.
        (
            "Where is Wen's desk?",
            hit("Wen's desk is on the first floor.", 1, speaker="Ada"),
            hit("They moved Wen's desk to the mezzanine.", 9, speaker="Bo"),
        ),
    ],
)
def test_a_change_of_what_is_asked_comes_before_what_was_so(question: str, before: DatedHit, change: DatedHit) -> None:
    assert change_first(question, [before, OTHER, change]) == [2, 0, 1]


def test_the_newest_of_several_changes_is_first_and_the_others_keep_their_places() -> None:
    again = hit("Wen's desk has moved to the basement now.", 12)

    assert change_first("Where is Wen's desk?", [DESK, MOVED, again]) == [2, 0, 1]


@pytest.mark.parametrize(
    ("question", "before", "later"),
    [
        # The past is asked for; what is told was so before the best hit; nothing of it is asked.
        ("Where was Wen's desk at first?", DESK, MOVED),
        ("Where is Wen's desk?", hit("Wen's desk is on the first floor.", 20), MOVED),
        ("Where is Wen's desk?", DESK, hit("The oboe shop has moved to Leeds.", 9)),
        # A question, a plan, hearsay, what holds besides, what stays so, what the agent says.
        ("Where is Wen's desk?", DESK, hit("Has Wen's desk moved to the mezzanine?", 9)),
        ("Where is Wen's desk?", DESK, hit("They might have moved Wen's desk.", 9)),
        ("Where is Wen's desk?", DESK, hit("Pia says Wen's desk has moved.", 9)),
        ("Where is Wen's desk?", DESK, hit("Wen has got another desk in the mezzanine now, too.", 9)),
        ("Where is Wen's desk?", DESK, hit("Wen's desk still stands where it stood, nothing changed.", 9)),
        ("Where is Wen's desk?", DESK, hit("They moved Wen's desk to the mezzanine.", 9, by_agent=True)),
        # Another holder: each speaks of their own.
        (
            "What do I drink?",
            hit("I drink tea in the morning.", 1, speaker="Ada"),
            hit("I drink coffee now.", 9, speaker="Bo"),
        ),
        (
            "What is my phone number?",
            hit("My phone number is 555 0100.", 1),
            hit("My brother's phone number changed.", 9),
        ),
        # Documents are about more than what is asked.
        (
            "Where is Wen's desk?",
            DESK,
            hit("They moved Wen's desk to the mezzanine. " + "The rain falls. " * (MOST_CHARS // 16), 9),
        ),
    ],
)
def test_what_is_no_change_of_it_moves_nothing(question: str, before: DatedHit, later: DatedHit) -> None:
    assert change_first(question, [before, later]) == [0, 1]


def test_no_change_among_no_hits() -> None:
    assert change_first("Where is Wen's desk?", []) == []
