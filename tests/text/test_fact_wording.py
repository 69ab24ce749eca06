"""Facts that repeat what was said pass, and facts that reverse it do not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.enums import FactRefusal
from memory.text.fact_wording import Wording, agree, find_refusal
from memory.text.facts import Fact, check_fact
from memory.text.statements import Turn
from tests.text.fact_cases import ANSWERED, NOT_ANSWERED, NOT_SAID, SAID

WHEN = datetime(2026, 5, 8, 10, 0, tzinfo=UTC)


def check(turns: list[tuple[str, str]], holder: str, value: str, text: str) -> Fact | FactRefusal:
    read = [Turn(str(number), said, "user", speaker, WHEN) for number, (speaker, said) in enumerate(turns)]
    raw = {"holder": holder, "attribute": "thing", "value": value, "text": text, "time": None}
    return check_fact({**raw, "turns": list(range(1, len(read) + 1))}, read, first_new=0)


@pytest.mark.parametrize(("speaker", "said", "holder", "value", "text"), SAID)
def test_what_is_said_passes(speaker, said, holder, value, text):
    assert isinstance(check([(speaker, said)], holder, value, text), Fact)


@pytest.mark.parametrize(("speaker", "said", "holder", "value", "text"), NOT_SAID)
def test_what_is_not_said_is_refused(speaker, said, holder, value, text):
    assert isinstance(check([(speaker, said)], holder, value, text), FactRefusal)


@pytest.mark.parametrize(("asked", "said", "holder", "value", "text"), ANSWERED)
def test_an_answer_has_the_words_of_its_question(asked, said, holder, value, text):
    assert isinstance(check([("Tom", asked), ("Lea", said)], holder, value, text), Fact)


@pytest.mark.parametrize(("asked", "said", "holder", "value", "text"), NOT_ANSWERED)
def test_a_question_lends_an_answer_no_other_words(asked, said, holder, value, text):
    assert isinstance(check([("Tom", asked), ("Lea", said)], holder, value, text), FactRefusal)


def test_an_answer_belongs_to_the_question_right_before_it():
    turns = [("Tom", "What is your name?"), ("Vera", "Hush."), ("Lea", "Green.")]
    assert isinstance(check(turns, "Lea", "green", "Lea's name is green."), FactRefusal)


@pytest.mark.parametrize(
    ("said", "holder", "text", "refusal"),
    [
        ("Do I smoke pipes?", "Lea", "Lea smokes pipes.", FactRefusal.QUESTION),
        ("Maybe I smoke pipes.", "Lea", "Lea smokes pipes.", FactRefusal.SUPPOSED),
        ("I smoke pipes. Just kidding!", "Lea", "Lea smokes pipes.", FactRefusal.SUPPOSED),
        ("I do not smoke pipes.", "Lea", "Lea smokes pipes.", FactRefusal.NEGATION),
        ("I smoke pipes with no pleasure.", "Lea", "Lea smokes pipes.", FactRefusal.NEGATION),
        ("I want to smoke pipes.", "Lea", "Lea smokes pipes.", FactRefusal.PLANNED),
        ("I used to smoke pipes.", "Lea", "Lea smokes pipes.", FactRefusal.PAST),
        ("I smoke pipes, or I used to.", "Lea", "Lea smokes pipes.", FactRefusal.PAST),
        ("My brother smokes pipes.", "Lea", "Lea smokes pipes.", FactRefusal.HOLDER),
        ("I smoke pipes.", "Tom", "Lea smokes pipes.", FactRefusal.HOLDER),
        ("I smoke clay pipes.", "Lea", "Lea smokes pipes.", FactRefusal.UNSUPPORTED),
        ("I smoke pipes.", "Lea", "Lea smokes pipes.", None),
    ],
)
def test_the_refusal_says_why(said, holder, text, refusal):
    assert find_refusal(Wording(holder, "pipes", text), [Turn("1", said, "user", "Lea")], [0], ()) == refusal


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ana lives in Lisbon.", "Ana lives in Lisbon with her brother.", True),
        ("Ana smokes.", "Ana no longer smokes.", False),
        ("Ana eats meat.", "Ana does not eat meat.", False),
        ("Ana visits Rome.", "Ana will visit Rome.", False),
        ("Ana lives in Paris.", "Ana lived in Paris.", False),
        ("小林喝咖啡。", "小林不喝咖啡。", False),
        ("小林住在杭州。", "小林现在住在杭州。", True),
    ],
)
def test_facts_agree_that_say_the_same(one, other, same):
    assert agree(one, other) is same
    assert agree(other, one) is same
