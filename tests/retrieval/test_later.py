"""A newer memory comes before the hit whose words it replaces when it speaks of what is asked."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from memory.retrieval.later import Later, asks_for_words
from memory.text.analysis import terms

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)


def later(words: str, text: str) -> Later:
    return Later(uuid.uuid4(), words, text, NOW)


RENT = "The rent is £850 a month; the landlord is called Piet."


@pytest.mark.parametrize(
    ("question", "hit", "words", "newer", "first"),
    [
        ("How high is the rent?", RENT, "The rent is £850 a month", "They put the rent up to £910.", True),
        ("What is the landlord called?", RENT, "The rent is £850 a month", "They put the rent up to £910.", False),
        # The whole sentence is what gave way: the newer one says nothing of its landlord.
        ("What is the landlord called?", RENT, RENT, "They put the rent up to £910.", False),
        ("瑜伽课每周几上？", "瑜伽课每周二上。", "瑜伽课每周二上。", "瑜伽课换时间了，以后每周一上。", True),
        # Another event of which the same is told.
        ("春季陶艺展览会的持续时间是多少？", "春季陶艺展览会的持续时间是三天。", "三天", "木工论坛持续九天。", False),
        (
            "春季陶艺展览会的持续时间是多少？",
            "春季陶艺展览会的持续时间是三天。",
            "春季陶艺展览会的持续时间是三天。",
            "木工论坛的时间是九天。",
            False,
        ),
    ],
)
def test_a_newer_memory_passes_a_hit_only_for_what_it_speaks_of(question, hit, words, newer, first):
    assert asks_for_words(frozenset(terms(question)), later(words, newer), hit) is first
