"""A statement that asks, supposes, quotes, adds or is valid for one day updates nothing."""

from __future__ import annotations

import pytest

from memory.text.moods import Mood, find_moods


@pytest.mark.parametrize(
    ("sentence", "mood"),
    [
        ("Is the rent 950 now?", Mood.ASKS),
        ("Unless they cut the price, we cancel the contract.", Mood.SUPPOSES),
        ("公司不降价的话，我们就解约。", Mood.SUPPOSES),
        ("Somebody at the shop claimed the bridge is going to close.", Mood.QUOTES),
        ("站台上有人讲月票要涨价。", Mood.QUOTES),
        ("Just for today it's Sonia walking the dog.", Mood.FOR_NOW),
        ("今天例外，九点才吃。", Mood.FOR_NOW),
        ("I'm allergic to kiwi as well.", Mood.ADDS),
        ("我还有一辆摩托车。", Mood.ADDS),
        ("I haven't left the party.", Mood.KEEPS),
        ("那台老相机没卖。", Mood.KEEPS),
        ("I used to row.", Mood.RECALLS),
        ("I have played in that hall twice.", Mood.RECALLS),
        ("We've been to Oslo three times.", Mood.RECALLS),
        ("我去过北京三次。", Mood.RECALLS),
        ("You should drink more water.", Mood.ADDRESSES),
        ("Images went from 900 to 340 MB.", Mood.RANGES),
    ],
)
def test_a_mood_is_recognised(sentence, mood):
    assert mood in find_moods(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The rent is 950 now.",
        "I moved to Lyon in May.",
        "We meet on Tuesdays.",
        "I have given up smoking once and for all.",
        "I have choir three times a week.",
        "房租涨到九百五了。",
        "我搬到里昂了。",
        "我每周去三次健身房。",
    ],
)
def test_a_plain_statement_has_none(sentence):
    assert find_moods(sentence) == frozenset()
