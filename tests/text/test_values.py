from __future__ import annotations

import pytest

from memory.text.values import values, with_preposition


@pytest.mark.parametrize(
    ("clause", "found"),
    [
        ("the fair is on the 28th", [("day", "the 28th")]),
        ("the choir meets on Tuesday at 3pm", [("day", "tuesday"), ("clock", "3pm")]),
        ("it opens at nine", [("clock", "nine")]),
        ("the rent is $1,450", [("money", "$1450")]),
        ("call +49 151 2345678", [("phone", "+49 151 2345678")]),
        ("the desk is on the fourth floor", [("floor", "fourth floor")]),
        ("we meet in room 204", [("code", "room 204")]),
        ("moved to June 12", [("day", "june 12")]),
        ("健身房七点开门", [("clock", "七点")]),
        ("周五下午三点", [("day", "周五"), ("clock", "下午三点")]),
        ("房租三千五百元", [("money", "三千五百元")]),
        ("我的手机号是13800001111", [("phone", "13800001111")]),
        ("nothing of the kind", []),
    ],
)
def test_values_have_a_kind(clause: str, found: list[tuple[str, str]]) -> None:
    assert [(value.kind, value.text) for value in values(clause)] == found


def test_an_amount_has_its_unit() -> None:
    [value] = values("I have two dogs")
    assert (value.kind, value.unit) == ("amount", "dog")


def test_a_phrase_begins_with_its_preposition() -> None:
    clause = "the choir meets on Tuesday at 3pm"
    day, clock = values(clause)
    assert clause[with_preposition(clause, day) : day.end] == "on Tuesday"
    assert clause[with_preposition(clause, clock) : clock.end] == "at 3pm"
