"""What a person asks to forget leaves search; what only looks like it, or is another's, stays."""

from __future__ import annotations

import pytest

from memory.governance.supersession import settle
from memory.text.utterances import statements


def gone(old: str, request: str) -> bool:
    """Whether `old` leaves search once `request` is known."""
    settled = settle("new", statements(request), {"old": statements(old)})
    return any(one.key == "old" for one in settled.retired)


@pytest.mark.parametrize(
    ("request_", "old"),
    [
        ("Please forget what I said about Noma.", "My favourite restaurant is Noma in Copenhagen."),
        ("Forget what I said about penicillin.", "I am allergic to penicillin."),
        ("Please forget that I'm allergic to penicillin.", "I am allergic to penicillin."),
        ("Please forget that my sister is allergic to penicillin.", "My sister is allergic to penicillin."),
        ("Please forget that Nora is allergic to penicillin.", "Nora is allergic to penicillin."),
        ("Hm, scratch what I said about the penicillin allergy.", "I have a penicillin allergy."),
        ("Please forget what I said about dating someone from accounting.", "I'm dating someone from accounting."),
        ("Please forget what I said about the interview at Siemens.", "I have an interview at Siemens on Monday."),
        ("Forget my passport number.", "My passport number is C01X00T47."),
        ("请忘掉我说的关于西门子面试的事。", "我在西门子有个面试。"),
        ("请忘记我对青霉素过敏这件事。", "我对青霉素过敏。"),
        ("把我妹妹糖尿病的事忘了吧。", "我妹妹有糖尿病。"),
        ("请删除我的护照号码。", "我的护照号码是C01X00T47。"),
    ],
)
def test_what_is_asked_to_be_forgotten_leaves_search(request_: str, old: str) -> None:
    assert gone(old, request_)


@pytest.mark.parametrize(
    ("request_", "old"),
    [
        ("Please forget my brother's address.", "My address is 12 Elm Street."),
        ("Please forget my address.", "My brother's address is 12 Elm Street."),
        ("Please forget that I'm allergic to penicillin.", "My brother is allergic to penicillin."),
        ("Please forget that I'm allergic to penicillin.", "Nora is allergic to penicillin."),
        ("Please forget my penicillin allergy.", "My brother's penicillin allergy is severe."),
        ("Forget what I said about the launch date.", "The product launch party needs a band."),
        ("Please forget what I said about Nora's piano lesson.", "My daughter Nora has a violin lesson on Monday."),
        ("Don't forget what I said about Nora.", "Nora likes tea."),
        ("I always forget what I said about Nora's tea.", "Nora likes tea."),
        ("请忘记我对青霉素过敏这件事。", "我弟弟对青霉素过敏。"),
        ("把我妹妹生日的事忘了吧。", "我妹妹有糖尿病。"),
        ("请忘掉我说的关于西门子面试的事。", "我们下周有个面试培训。"),
    ],
)
def test_what_is_of_another_or_not_asked_stays(request_: str, old: str) -> None:
    assert not gone(old, request_)
