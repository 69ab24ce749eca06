"""The period that a question names, and whether it asks for one. The present is Wednesday, 13 March 2024, 15:00."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from memory.text.timespan import EARLIEST, MOST_PHRASES, _read_on, asks_when, spans

NOW = datetime(2024, 3, 13, 15, 0, tzinfo=UTC)


def found(text: str, now: datetime = NOW) -> list[str]:
    """Return `from..to` as dates, with the time unless it is midnight."""
    return [f"{_short(span.start)}..{_short(span.end)}" for span in spans(text, now)]


def _short(moment: datetime) -> str:
    assert moment.utcoffset() is not None
    return moment.isoformat()[: 10 if (moment.hour, moment.minute) == (0, 0) else 16]


NO_TIME = """
How many cats does Jon have?
May I have the march results in a second?
What is the sun doing on the second floor?
Who won 3 games?
Which of the 3 may be wrong?
May 3 people come?
the 3rd may be wrong
We march 10 miles
march 2000 miles
Which port does the server listen on, 8080?
Write it in 2000 words
What did April say to June, and what about May?
Is it Spring Boot, or a spring in the mattress?
Does this fall apart?
What does she do every Monday?
What happens on Mondays?
the first 3 days of the trip
the last 3 days of the trip
version 2023.1.2
2023-13-45
call 555-2023-11
now
on
in 99999999 days
9999 years ago
What is decided?
周末去哪
每周五做什么
一周一次
上周期的数据
这周围有什么
以前天气怎么样
五月天的演唱会
三个月
去年级办公室
后天性
说明年份
你今后怎么办
""".strip().splitlines()


@pytest.mark.parametrize("text", NO_TIME)
def test_what_only_looks_like_a_time_is_none(text):
    assert found(text) == []


ENGLISH = {
    "What did Ada do last week?": ["2024-03-04..2024-03-11"],
    "previous month": ["2024-02-01..2024-03-01"],
    "this year": ["2024-01-01..2025-01-01"],
    "next week": ["2024-03-18..2024-03-25"],
    "What happened yesterday?": ["2024-03-12..2024-03-13"],
    "yesterday's meeting": ["2024-03-12..2024-03-13"],
    "the day before yesterday": ["2024-03-11..2024-03-12"],
    "What did I eat today": ["2024-03-13..2024-03-14"],
    "last night": ["2024-03-12..2024-03-13"],
    "this morning": ["2024-03-13..2024-03-14"],
    "What is planned for tomorrow?": ["2024-03-14..2024-03-15"],
    "Who came in May 2023?": ["2023-05-01..2023-06-01"],
    "in may of 2023": ["2023-05-01..2023-06-01"],
    "in the second week of November": ["2023-11-01..2023-12-01", "2022-11-01..2022-12-01", "2021-11-01..2021-12-01"],
    "the Sept. 2023 trip": ["2023-09-01..2023-10-01"],
    "on 7 May 2023": ["2023-05-07..2023-05-08"],
    "7th of May, 2023": ["2023-05-07..2023-05-08"],
    "May 7th, 2023": ["2023-05-07..2023-05-08"],
    "march 7 2023": ["2023-03-07..2023-03-08"],
    "2023-05-08": ["2023-05-08..2023-05-09"],
    "at 2023-05-08T10:00:00Z": ["2023-05-08..2023-05-09"],
    "(2023-05)": ["2023-05-01..2023-06-01"],
    "2023/5/8": ["2023-05-08..2023-05-09"],
    "12/05/2023": ["2023-12-05..2023-12-06"],
    "13/05/2023": ["2023-05-13..2023-05-14"],
    "Q2 2023": ["2023-04-01..2023-07-01"],
    "Where did they live in 2022?": ["2022-01-01..2023-01-01"],
    "the 2021 budget": ["2021-01-01..2022-01-01"],
    "between 2021 and 2022": ["2021-01-01..2022-01-01", "2022-01-01..2023-01-01"],
    "two weeks ago": ["2024-02-26..2024-03-04"],
    "a month ago": ["2024-02-01..2024-03-01"],
    "3 days ago": ["2024-03-10..2024-03-11"],
    "3 quarters ago": ["2023-04-01..2023-07-01"],
    "a couple of weeks ago": ["2024-02-26..2024-03-04"],
    "a few days ago": ["2024-03-08..2024-03-12"],
    "2 hours ago": ["2024-03-13T12:00..2024-03-13T14:00"],
    "in the last 3 days": ["2024-03-10T15:00..2024-03-13T15:00"],
    "over the past two weeks": ["2024-02-28T15:00..2024-03-13T15:00"],
    "the past month": ["2024-02-13T15:00..2024-03-13T15:00"],
    "last quarter": ["2023-10-01..2024-01-01"],
    "last summer": ["2023-06-01..2023-09-01"],
    "last winter": ["2023-12-01..2024-03-01"],
    "the summer of 2021": ["2021-06-01..2021-09-01"],
    "this spring": ["2024-03-01..2024-06-01"],
    "next fall": ["2024-09-01..2024-12-01"],
    "last weekend": ["2024-03-09..2024-03-11"],
    "What did Caroline do this weekend?": ["2024-03-16..2024-03-18", "2024-03-09..2024-03-11"],
    "What did I say on Monday?": ["2024-03-11..2024-03-12"],
    "last Friday": ["2024-03-08..2024-03-09"],
    "Wednesday": ["2024-03-06..2024-03-07"],
    "this Friday": ["2024-03-15..2024-03-16"],
    "next Monday": ["2024-03-18..2024-03-19"],
    "last May": ["2023-05-01..2023-06-01"],
    "this March": ["2024-03-01..2024-04-01"],
    "last March": ["2023-03-01..2023-04-01"],
    "next March": ["2025-03-01..2025-04-01"],
    "in June": ["2023-06-01..2023-07-01", "2022-06-01..2022-07-01", "2021-06-01..2021-07-01"],
    "early march": ["2024-03-01..2024-04-01", "2023-03-01..2023-04-01", "2022-03-01..2022-04-01"],
    "in march": ["2024-03-01..2024-04-01", "2023-03-01..2023-04-01", "2022-03-01..2022-04-01"],
    "on May 3": ["2023-05-03..2023-05-04", "2022-05-03..2022-05-04", "2021-05-03..2021-05-04"],
    "29 February": ["2024-02-29..2024-03-01", "2020-02-29..2020-03-01", "2016-02-29..2016-03-01"],
    "from june to august 2022": ["2022-06-01..2022-09-01"],
    "between November and January": [
        "2023-11-01..2024-02-01",
        "2022-11-01..2023-02-01",
        "2021-11-01..2022-02-01",
    ],
    "Was it yesterday or on 7 May 2023?": ["2024-03-12..2024-03-13", "2023-05-07..2023-05-08"],
}

CHINESE = {
    "上个月我去了哪里？": ["2024-02-01..2024-03-01"],
    "上上个月": ["2024-01-01..2024-02-01"],
    "上个月5号": ["2024-02-05..2024-02-06"],
    "去年五月": ["2023-05-01..2023-06-01"],
    "今年三月五号": ["2024-03-05..2024-03-06"],
    "去年": ["2023-01-01..2024-01-01"],
    "前年": ["2022-01-01..2023-01-01"],
    "去年夏天去了哪": ["2023-06-01..2023-09-01"],
    "昨天我们讨论了什么": ["2024-03-12..2024-03-13"],
    "我昨晚吃了什么": ["2024-03-12..2024-03-13"],
    "前天": ["2024-03-11..2024-03-12"],
    "大前天": ["2024-03-10..2024-03-11"],
    "明天": ["2024-03-14..2024-03-15"],
    "3天前": ["2024-03-10..2024-03-11"],
    "三天之前": ["2024-03-10..2024-03-11"],
    "十二天以前": ["2024-03-01..2024-03-02"],
    "两周前": ["2024-02-26..2024-03-04"],
    "两个星期前": ["2024-02-26..2024-03-04"],
    "两个月前": ["2024-01-01..2024-02-01"],
    "半年前": ["2023-09-01..2023-10-01"],
    "几天前": ["2024-03-08..2024-03-12"],
    "2小时前": ["2024-03-13T12:00..2024-03-13T14:00"],
    "2023年5月8日": ["2023-05-08..2023-05-09"],
    "2023年5月8号说了什么": ["2023-05-08..2023-05-09"],
    "二零二三年十二月": ["2023-12-01..2024-01-01"],
    "２０２３年": ["2023-01-01..2024-01-01"],
    "五月份": ["2023-05-01..2023-06-01", "2022-05-01..2022-06-01", "2021-05-01..2021-06-01"],
    "5月8日": ["2023-05-08..2023-05-09", "2022-05-08..2022-05-09", "2021-05-08..2021-05-09"],
    "上周": ["2024-03-04..2024-03-11"],
    "上上周": ["2024-02-26..2024-03-04"],
    "上周五": ["2024-03-08..2024-03-09"],
    "上星期天": ["2024-03-10..2024-03-11"],
    "上周末": ["2024-03-09..2024-03-11"],
    "这周一": ["2024-03-11..2024-03-12"],
    "周五": ["2024-03-08..2024-03-09"],
    "上个季度": ["2023-10-01..2024-01-01"],
    "最近三个月": ["2023-12-13T15:00..2024-03-13T15:00"],
    "这几天": ["2024-03-08T15:00..2024-03-13T15:00"],
}


@pytest.mark.parametrize(("text", "wanted"), [*ENGLISH.items(), *CHINESE.items()])
def test_a_phrase_names_the_span_that_it_says(text, wanted):
    assert found(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("since last week", "2024-03-04..2024-03-13T15:00"),
        ("after May 2022", "2022-06-01..2024-03-13T15:00"),
        ("before 2020", "0001-01-01..2020-01-01"),
        ("until the 7th of May, 2023", "0001-01-01..2023-05-07"),
        ("until June", "0001-01-01..2023-06-01"),
        ("去年以来", "2023-01-01..2024-03-13T15:00"),
        ("2022年之后", "2023-01-01..2024-03-13T15:00"),
        ("去年五月之前", "0001-01-01..2023-05-01"),
    ],
)
def test_since_and_before_make_it_longer(text, wanted):
    assert found(text) == [wanted]


def test_after_what_is_not_over_is_nothing_yet():
    assert found("after this year") == []
    assert found("since tomorrow") == []


def test_the_phrase_is_what_was_written_and_the_order_that_of_the_text():
    text = "Was it 2 weeks ago, last Friday, or since May 2022?"
    assert [span.phrase for span in spans(text, NOW)] == ["2 weeks ago", "last Friday", "May 2022"]
    assert spans("before 2020", NOW)[0].start == EARLIEST


def test_days_begin_where_the_clock_of_the_zone_says():
    shanghai = ZoneInfo("Asia/Shanghai")
    late = datetime(2024, 3, 13, 17, 0, tzinfo=UTC)  # the 14th there
    (span,) = spans("昨天", late, shanghai)
    assert span.start == datetime(2024, 3, 13, tzinfo=shanghai)
    assert span.end - span.start == timedelta(days=1)
    assert spans("昨天", late)[0].start == datetime(2024, 3, 12, tzinfo=UTC)


@pytest.mark.parametrize("now", [datetime(2024, 2, 29, tzinfo=UTC), datetime(2023, 12, 31, 23, 59, tzinfo=UTC)])
@pytest.mark.parametrize("text", [*ENGLISH, *CHINESE])
def test_every_span_has_a_length_on_any_day(text, now):
    assert all(span.start < span.end for span in spans(text, now))


@pytest.mark.parametrize(
    "text", ["", "\0", "🙂", "20240313 " * 200, "上" * 2000 + "周", "last " * 400, "1/1/2020 " * 220]
)
def test_odd_and_long_questions_are_read_too(text):
    assert len(spans(text, NOW)) <= MOST_PHRASES


ASKS_WHEN = """
When did Ada move?
when was it
So when is the dinner?
Do you know when she will come?
since when
When's it
When?
What date was that?
Which month did we go to Lyon?
What day of the week was it?
How long ago did Jon quit?
how long has she lived there
How many weeks have passed?
他什么时候搬家的
婚礼是几月几号
哪天去的
多久以前
何时
她哪年毕业
星期几开会
""".strip().splitlines()

ASKS_SOMETHING_ELSE = """
What did she say when I asked?
How do I feel when it rains?
What did Ada do last week?
Who is she?
whenever
How many cats does Jon have?
How much does it cost?
他昨天做了什么
去年的预算是多少
谁结婚了
""".strip().splitlines()


def test_a_phrase_is_read_once_a_day():
    _read_on.cache_clear()
    for hour in range(24):
        assert found("What did Ada say last week?", NOW.replace(hour=hour)) == ["2024-03-04..2024-03-11"]
    assert _read_on.cache_info().misses == 1
    assert found("What did Ada say last week?", NOW + timedelta(days=5)) == ["2024-03-11..2024-03-18"]


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("What happened 2 hours ago?", "2024-03-13T12:00"),
        ("What happened in the last 3 months?", "2023-12-13T15:00"),
        ("What happened in the last 2 quarters?", "2023-09-13T15:00"),
        ("过去三天发生了什么", "2024-03-10T15:00"),
    ],
)
def test_units_are_counted_back_to_the_minute(question, begins):
    [span] = spans(question, NOW)
    assert _short(span.start) == begins


def test_before_the_first_year_there_is_nothing():
    assert spans("What happened 2100 years ago?", NOW) == []


@pytest.mark.parametrize("text", ASKS_WHEN)
def test_a_question_for_a_time_is_one(text):
    assert asks_when(text)


@pytest.mark.parametrize("text", ASKS_SOMETHING_ELSE)
def test_a_question_for_something_else_is_none(text):
    assert not asks_when(text)


# Every parser once: the ones that use dateparser, and the ones that calculate here.
PHRASES = (
    "yesterday|tomorrow|last week|next year|last night|next quarter|last weekend|next weekend|this weekend|Friday"
    "|next Friday|9999 years ago|a few weeks ago|the last 9999 days|29 February|in May|next December|last winter"
    "|between November and February|since yesterday|before today|30 February 2023"
    "|去年今天|大前年|明年12月|去年2月29日|2月29日|12月31日|上上上上个月|下个月31号|下周|下周末|大前天|后天|半年前|最近几年|去年冬天|上个冬天|周五"
).split("|")
EDGES = [datetime.min, datetime(1, 12, 31, 12), datetime(4, 2, 29), datetime(1969, 12, 31, 23, 59, 59),
         datetime(2100, 2, 28), datetime(9996, 2, 29), datetime(9999, 12, 25), datetime.max]  # fmt: skip
ZONES = [UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))]


@pytest.mark.parametrize("zone", ZONES, ids=str)
@pytest.mark.parametrize("moment", EDGES, ids=str)
def test_the_ends_of_the_calendar_and_leap_days_raise_nothing(moment, zone):
    for phrase in PHRASES:
        for given in (UTC, zone):
            text = f"We met {phrase}." if phrase.isascii() else f"我们{phrase}搬家了"
            for span in spans(text, moment.replace(tzinfo=given), zone):
                assert span.start < span.end
                # Queries of the database, or for another zone, convert it to UTC.
                assert span.start.astimezone(UTC) < span.end.astimezone(UTC)


@pytest.mark.parametrize(
    ("text", "moment", "wanted"),
    [
        ("what happened today", datetime(9999, 12, 31, 9), ["9999-12-31..9999-12-31T23:59"]),
        ("what happened yesterday", datetime(9999, 12, 31, 9), ["9999-12-30..9999-12-31"]),
        ("what comes tomorrow", datetime(9999, 12, 31, 9), []),
        ("what happened yesterday", datetime(1, 1, 1, 9), []),
        ("去年今天我们搬家了", datetime(1, 1, 1, 9), []),
        ("去年今天我们搬家了", datetime(2024, 2, 29), ["2023-01-01..2024-01-01"]),
        ("上个月我们搬家了", datetime(1, 1, 31), []),
        ("what happened last year", datetime(2, 3, 1), ["0001-01-01..0002-01-01"]),
        ("who was born on 29 February", datetime(5, 1, 1), ["0004-02-29..0004-03-01"]),
        ("who was born on 29 February", datetime(1903, 1, 1),
         ["1896-02-29..1896-03-01", "1892-02-29..1892-03-01", "1888-02-29..1888-03-01"]),
        ("last winter", datetime(9999, 12, 31), ["9998-12-01..9999-03-01"]),
    ],
)  # fmt: skip
def test_what_the_calendar_has_is_found_at_its_ends(text, moment, wanted):
    assert found(text, moment.replace(tzinfo=UTC)) == wanted
