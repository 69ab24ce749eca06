from __future__ import annotations

import pytest

from memory.enums import Role
from memory.gate.policy import GatePolicy
from memory.gate.worth import MAX_CHARS, POINTS, worth
from tests.gate.worth_turns import NOT_WORTH, WORTH

ENOUGH = GatePolicy().worth_threshold


@pytest.mark.parametrize("text", WORTH)
def test_what_people_say_of_themselves_is_worth_it(text):
    assert worth(text).score >= ENOUGH


@pytest.mark.parametrize("text", NOT_WORTH)
def test_questions_thanks_and_reactions_are_not(text):
    assert worth(text).score < ENOUGH


@pytest.mark.parametrize("text", [*WORTH, *NOT_WORTH])
def test_the_parts_add_up_to_the_score(text):
    judged = worth(text)

    assert 0.0 <= judged.score <= 1.0
    assert judged.score == pytest.approx(min(1.0, max(0.0, sum(points for _, points in judged.parts))))
    assert {name for name, _ in judged.parts} <= set(POINTS)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("We have walked home.", "action"),
        ("我养了一只猫。", "action"),
        ("I really like jazz.", "preference"),
        ("I need to call Anna.", "plan"),
        ("我打算学法语。", "plan"),
        ("I no longer smoke.", "change"),
        ("Please remove Bob from the list.", "record"),
        ("The new title is Sunrise.", "stated"),
        ("It cost 5 dollars.", "number"),
        ("We met Anna there.", "named"),
        ("I wonder about it all.", "musing"),
        ("Why is that?", "question"),
    ],
)
def test_names_the_part_that_speaks(text, part):
    assert part in dict(worth(text).parts)


def test_an_agent_that_explains_is_worth_less_than_one_that_tells_of_itself():
    explained = "The Great Wall is about 21,196 kilometres long and was built over many centuries."
    told = "I walked the Great Wall in 2019 and my knees have hurt since."

    assert worth(explained, role=Role.AGENT).score < ENOUGH <= worth(told, role=Role.AGENT).score
    assert worth(told, role=Role.AGENT).score < worth(told, role=Role.USER).score


def test_a_question_beside_a_statement_does_not_undo_it():
    assert worth("I moved to Porto in March. Do you know a good dentist there?").score >= ENOUGH


def test_what_comes_after_the_first_part_of_a_long_turn_changes_nothing():
    start = "I moved to Porto in March. " * 80

    assert worth(start + "Why? " * 5000) == worth(start[:MAX_CHARS])
