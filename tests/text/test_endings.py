"""Explicit endings and retractions in a sentence are found, and texts that only sound like one are not."""

from __future__ import annotations

import pytest

from memory.text.endings import find_endings


@pytest.mark.parametrize(
    ("sentence", "thing"),
    [
        ("I sold the car.", "the car"),
        ("I've lost interest in chess problems.", "chess problems"),
        ("I no longer work at Delphine's.", "work at Delphine's"),
        ("I don't take ibuprofen anymore.", "take ibuprofen"),
        ("Cancelled my subscription to the paper.", "my subscription to the paper"),
        ("We've shut Jenkins down.", "Jenkins"),
        ("The Reykjavik trip is off, sadly.", "The Reykjavik trip"),
        ("我把车卖了。", "车"),
        ("咖啡我戒掉了。", "咖啡"),
        ("我今天退出划船俱乐部了。", "划船俱乐部"),
        ("我不吃素了。", "吃素"),
    ],
)
def test_what_is_over_is_named(sentence, thing):
    assert [(one.thing, one.request) for one in find_endings(sentence)] == [(thing, False)]


@pytest.mark.parametrize(
    ("sentence", "thing"),
    [
        ("Please forget Bill Evans.", "Bill Evans"),
        ("Forget what I said about penicillin, that was a mix-up.", "penicillin"),
        ("Ignore the deadline I gave you for the grant.", "the deadline"),
        ("I take back what I said about Tuesday afternoons.", "Tuesday afternoons"),
        ("Can you delete the router address?", "the router address"),
        ("把路由器那个地址删掉。", "路由器那个地址"),
        ("周二下午那话我收回。", "周二下午"),
    ],
)
def test_a_request_to_forget_is_told_apart(sentence, thing):
    assert [(one.thing, one.request) for one in find_endings(sentence)] == [(thing, True)]


@pytest.mark.parametrize(
    "sentence",
    [
        "I have not sold the car.",
        "If I sold the car I'd buy a bike.",
        "Did you cancel the gym?",
        "She said she sold the car.",
        "I stopped at the bakery.",
        "I returned from Rome.",
        "I left the keys in the car.",
        "I'm done with the report.",
        "I turned off the lights.",
        "The rent went from 900 to 950.",
        "如果我把车卖了就骑车。",
        "听说他把车卖了。",
        "电影看完了。",
        "今天开会迟到了。",
        "不吃了，饱了。",
    ],
)
def test_what_ends_nothing_is_left_alone(sentence):
    assert find_endings(sentence) == ()


def test_what_only_points_back_names_nothing():
    assert [one.terms for one in find_endings("I sold it all.")] in ([], [frozenset()])


def test_a_verb_that_is_not_done_any_more_is_kept_with_its_object():
    [ending] = find_endings("我以后不去学校了。")
    assert (ending.thing, ending.verb) == ("去学校", "去")


def test_time_is_bounded():
    for text in ("I sold the " + "car " * 100, "把" + "车" * 400 + "卖了", "no longer " * 40):
        find_endings(text[:400])
