"""A score tells how likely a statement gives a new value; other holders and items of a series are ruled out first."""

from __future__ import annotations

import json

import pytest

from memory.governance.update_score import (
    LINKED_FROM,
    WEIGHTS_FILE,
    can_reach,
    find_obstacle,
    list_features,
    score_update,
)


def test_every_feature_has_a_weight_and_every_weight_a_feature():
    weights = json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))
    assert sorted(weights) == sorted(list_features())
    assert all(len(pair) == 2 for pair in weights.values())


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My 2020 tax return brought 120 euros back.", "My 2021 tax return brought 95 euros back."),
        ("Patient 11 is allergic to latex.", "Patient 12 is allergic to latex."),
        ("Row A is for the press.", "Row C is for the sponsors."),
        ("Room 3 is for storage.", "Room 4 is for storage."),
        ("第一章写灯塔。", "第三章写法庭。"),
        ("一月电费九十一。", "三月电费七十七。"),
        ("My road bike has 28 mm tyres.", "My gravel bike has 42 mm tyres."),
        ("I drive a silver Passat.", "My brother sold his Passat."),
        ("我早上喝豆浆。", "我爸现在不喝豆浆了。"),
        ("Our rent is 1,100 a month.", "The couple upstairs pay 1,340 a month."),
        ("The rent is 900.", "Is the rent 950?"),
        ("The image is 900 MB.", "After the cleanup, images went from 900 to 340 MB."),
        ("I play the oboe.", "She sold the oboe."),
        ("The forum's size is six thousand people.", "The forum's duration is eight days."),
        ("张文博的生日是4月5日。", "王丽娟的生日是在5月10号。"),
        ("论坛的规模是六千人。", "论坛的持续时间是八天。"),
        ("我表姐身高有166厘米。", "我下属身高171厘米。"),
        ("乐乐的生日是12月2号。", "我的驾照考过了，11月6号拿到的。"),
        ("I still sing in the choir.", "Theo quit the choir over the parking."),
    ],
)
def test_what_is_about_something_else_has_an_obstacle(older, newer):
    assert find_obstacle(newer, older)


@pytest.mark.parametrize(
    ("older", "newer", "cosine"),
    [
        ("Our rent is 900 a month.", "Our rent is 950 a month now.", 0.9),
        ("We keep the spare key under the pot.", "The spare key is with Mrs Okafor now.", 0.65),
        ("房租每月九百。", "房租现在每月九百五了。", 0.95),
    ],
)
def test_a_new_value_scores_high_and_meets_no_obstacle(older, newer, cosine):
    assert find_obstacle(newer, older) == ""
    assert can_reach(newer, older)
    assert score_update(newer, older, cosine) >= LINKED_FROM


@pytest.mark.parametrize(
    ("older", "newer", "cosine"),
    [
        ("My desk is by the window.", "The light over the desk is warm.", 0.55),
        ("The museum opens at nine.", "I had soup for lunch.", 0.1),
        ("My cousin is a baker.", "My cousin works in Leeds.", 0.6),
    ],
)
def test_a_further_fact_scores_low(older, newer, cosine):
    assert score_update(newer, older, cosine) < LINKED_FROM
