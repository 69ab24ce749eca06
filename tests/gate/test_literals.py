"""A pattern matches no text without its literals."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from memory.gate import worth_cues
from memory.gate.lexicon import PHRASES
from memory.gate.literals import find_literals, has_literals


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"\bnext time\b", (("next time",),)),
        (r"\b(?:switch|turn|shut) (?:off|down)\b", (("shut", "turn", "switch"), ("off", "down"))),
        (r"\b(?:the|this|your) (?:users?|owner)\b", (("user", "owner"), ("the", "this", "your"))),
        # Alternatives that contain another one add nothing.
        (r"(?:likes?|liking|unlike) it", (("like", "liking"), (" it",))),
        # Optional parts yield no literal.
        (r"(?:very )?good(?: grief)?", (("good",),)),
        (r"(?:abc){2,}", (("abc",),)),
        (r"(?:abc)*", ()),
        # One branch can match anything.
        (r"rm -rf|\w+", ()),
        (r"(?:rm -rf|\w+) now", ((" now",),)),
        (r"(?=peek)\w+", ()),
        (r"(?!never)here", (("here",),)),
        (r"[ab]\d", (("a", "b"),)),
        (r"[^ab]\d", ()),
        (r"\d{3}", ()),
        (r"", ()),
        (r"(?i:stop) it", ((" it",),)),
        (r"(?>stop|halt)", (("halt", "stop"),)),
        (r"(\w)\1", ()),
    ],
)
def test_of_a_pattern(pattern, literals):
    assert find_literals(re.compile(pattern)) == literals


def test_capital_letters_that_count_as_small_ones_say_nothing():
    assert find_literals(re.compile("stop", re.IGNORECASE)) == ()


def test_what_looks_for_too_much_is_searched_for_itself():
    many = "|".join(f"{first}{second}" for first in "abcdefgh" for second in "stuvwxyz")
    assert find_literals(re.compile(rf"\d(?:{many})\d")) == ()


CUES = {name: cue for name, cue in vars(worth_cues).items() if isinstance(cue, worth_cues.Cue)}
PATTERNS = {phrase.concept: phrase.pattern for phrase in PHRASES} | {name: cue.english for name, cue in CUES.items()}


def test_both_lists_are_looked_at():
    assert len(PATTERNS) > 60
    assert len(CUES) > 8


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_nothing_is_said_without_one_of_its_literals(pattern):
    @settings(max_examples=15, deadline=None)
    @given(some.from_regex(pattern, fullmatch=True, alphabet=some.characters(codec="ascii")))
    def has_literal(said: str) -> None:
        assert has_literals(said, find_literals(pattern))

    has_literal()
