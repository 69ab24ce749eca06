from datetime import UTC, datetime, timedelta, timezone

import pytest

from memory.text.event_dates import add_dates, first_date, remove_dates

SAID = datetime(2024, 3, 2, 9, 30, tzinfo=UTC)  # a Saturday


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("I went yesterday and it rained.", "I went yesterday (2024-03-01) and it rained."),
        ("The audit is tomorrow.", "The audit is tomorrow (2024-03-03)."),
        ("We met last week.", "We met last week (2024-02-19/25)."),
        ("A few days ago it broke.", "A few days ago (2024-02-26/29) it broke."),
        ("Next month we move.", "Next month (2024-04) we move."),
        ("Last summer was hot.", "Last summer (2023-06/08) was hot."),
        ("I moved two years ago.", "I moved two years ago (2022)."),
        ("Last Friday we ate late.", "Last Friday (2024-03-01) we ate late."),
        ("昨天我去了医院。", "昨天(2024-03-01)我去了医院。"),
        ("上周五开会。", "上周五(2024-02-23)开会。"),
        ("去年搬到成都，下个月出差。", "去年(2023)搬到成都，下个月(2024-04)出差。"),
    ],
)
def test_a_relative_phrase_is_told_with_what_it_means(sentence, told):
    assert add_dates(sentence, SAID) == told
    assert remove_dates(told) == sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "We ship on Friday.",
        "It was in May.",
        "I was born on 8 May 1990.",
        "I have lived here since last year.",
        "For the past two years I ran.",
        "It began 5 minutes ago.",
        "Nothing about time.",
        "1000 years ago",
        "",
        "😀",
        "周五开会。",
    ],
)
def test_what_has_a_date_or_may_mean_several_stays_as_it_is(sentence):
    assert add_dates(sentence, SAID) == sentence


def test_the_day_is_that_of_where_it_was_said():
    late = datetime(2024, 3, 2, 23, 30, tzinfo=timezone(timedelta(hours=8)))
    assert add_dates("today", late) == "today (2024-03-02)"
    assert add_dates("today", datetime(2024, 3, 2, 23, 30)) == "today (2024-03-02)"


def test_the_first_date_is_found_again():
    assert first_date("We met last week (2024-02-19/25), not yesterday (2024-03-01).") == "2024-02-19/25"
    assert first_date("No date (yet).") == ""
