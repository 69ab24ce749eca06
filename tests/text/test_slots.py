from __future__ import annotations

import pytest

from memory.text.slots import slots


@pytest.mark.parametrize(
    ("sentence", "attribute", "value"),
    [
        ("I live in Lisbon.", "lives", "lisbon"),
        ("We moved to New York last year.", "lives", "new york"),
        ("The deadline is June 12.", "time", "june"),
        ("My budget is $1,200.", "amount", "$1200"),
        ("My goal is 10 km a week.", "goal", "10 km"),
        ("我住在巴黎。", "lives", "巴黎"),
        ("预算是3000元。", "amount", "3000元"),
    ],
)
def test_attribute_and_value(sentence: str, attribute: str, value: str) -> None:
    found = slots(sentence)

    assert attribute in found.attributes
    assert value in found.values


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("I live in Lisbon.", ""),
        ("Actually, I work at the mill.", ""),
        ("My sister lives in Oslo.", "my sister"),
        ("Anna lives in Oslo.", "anna"),
        ("我妈妈住在上海。", "我妈妈"),
    ],
)
def test_subject(sentence: str, subject: str) -> None:
    assert slots(sentence).subject == subject


@pytest.mark.parametrize(
    ("sentence", "likes"),
    [
        ("I love jazz.", True),
        ("I don't really like jazz.", False),
        ("I'm not a fan of jazz.", False),
        ("我喜欢爵士乐。", True),
        ("我不喜欢爵士乐。", False),
        ("It rained.", None),
    ],
)
def test_opinion(sentence: str, likes: bool | None) -> None:
    assert slots(sentence).likes is likes


def test_conditions_and_days_are_seen() -> None:
    assert slots("I drink tea in the evening.").conditions != slots("I drink tea.").conditions
    assert slots("I walked 8,000 steps today.").event
    assert not slots("My goal is 8,000 steps.").event
