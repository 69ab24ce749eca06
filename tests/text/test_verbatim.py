from __future__ import annotations

import pytest

from memory.text.verbatim import find_identifiers, is_quoted

IDENTIFIERS = [
    ("My passport number is X1234567.", ["X1234567"]),
    ("Call +33 6 12 34 56 78 or write to ada@example.org.", ["ada@example.org", "+33 6 12 34 56 78"]),
    ("The IBAN is DE89 3704 0044 0532 0130 00", ["DE89 3704 0044 0532 0130 00"]),
    ("The code is A-77-B9.", []),
    ("The code is A-77-B9-X2.", ["A-77-B9-X2"]),
    ("护照号码是E12345678，电话13800138000。", ["E12345678", "13800138000"]),
    ("In 2021 it cost 120 euros, at 10:45 in room B12.", []),
    ("It was on 2026-11-27, on 3/4/2025 and on 27.11.2026.", []),
    ("I moved in 2019 and again in 2020.", []),
]


@pytest.mark.parametrize(("text", "found"), IDENTIFIERS)
def test_identifiers_are_found_and_years_dates_and_prices_are_none(text, found):
    assert find_identifiers(text) == found


QUOTED = [
    ("I live in Paris.", "You said: “I live in Paris.”", True),
    ("My passport number is X1234567.", "It is X1234567.", True),
    ("My sister Ida moved to the old harbour last spring, I think.", "She moved to the old harbour last spring.", True),
    ("我住在汉堡的老港口附近，每天早上都去跑步。", "你说你住在汉堡的老港口附近，每天跑步。", True),
    ("我的生日是五月三号", "你的生日是什么时候？", False),
    ("The ferry leaves from pier nine.", "The ferry leaves at noon on Sundays.", False),
    ("Yes.", "Yes. That is all.", False),
    ("", "anything", False),
]


@pytest.mark.parametrize(("source", "reply", "expected"), QUOTED)
def test_a_reply_quotes_what_it_takes_over_word_for_word(source, reply, expected):
    assert is_quoted(source, reply) is expected
