"""A statement may rephrase its messages, but not invent anything."""

from datetime import UTC, datetime

import pytest

from memory.text.grounding import find_invented
from memory.text.statements import Turn

SAID = datetime(2024, 3, 2, 9, 30, tzinfo=UTC)


def turn(text: str, speaker: str = "Ann") -> Turn:
    return Turn("1", text, "user", speaker, SAID)


CONVERSATION = [turn("We met Zoe in Lyon."), turn("I like it.", "Bob"), turn("我喜欢喝茶。", "欧阳修")]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("Ann ships on Friday.", "We ship on Friday."),
        ("A late call annoys Ann.", "Never call before nine."),
        ("Do not call before 9.", "Never call before nine."),
        ("Ann went on 2024-03-01.", "I went yesterday."),
        ("Ann went on 1 March 2024.", "I went yesterday."),
        ("Ann went on March 1st.", "I went yesterday."),
        ("Ann will go on Sunday.", "I will go on Sunday."),
        ("Ann was there last week (2024-02-19/25).", "I was there last week."),
        ("Ann moved in 2022.", "I moved two years ago."),
        ("Ann paid 1,200 euros.", "I paid 1200 euros."),
        ("25 people came.", "Twenty-five people came."),
        ("It has five hundred rows.", "It has 500 rows."),
        ("Ann's budget is 2k.", "My budget is 2000."),
        ("User prefers green tea.", "I prefer green tea."),
        ("Painting relaxes Ann.", "I paint to relax."),
        ("Ann uses PostgreSQL 16.", "We use PostgreSQL 16."),
        ("Ann thanks Bob for the help.", "Thank you for the help!"),
        ("安喜欢三只猫。", "我喜欢3只猫。"),
        ("预算是3万元。", "预算三万元。"),
        ("预算是三百五十元。", "预算350元。"),
        ("会议在星期五。", "会议在周五。"),
        ("去年(2023)搬到成都。", "去年搬到成都。"),
        ("", "Anything."),
        ("😀", "Anything."),
    ],
)
def test_what_the_messages_say_in_other_words_is_not_invented(statement, message):
    assert find_invented(statement, [turn(message)], CONVERSATION) is None


@pytest.mark.parametrize(
    ("statement", "message", "stranger"),
    [
        ("Ann ships on Monday.", "We ship on Friday.", "Monday"),
        ("Ann ships 3 parts.", "We ship parts.", "3"),
        ("Ann owns two boats.", "I own boats.", "two"),
        ("Ann paid five hundred.", "I paid five.", "five hundred"),
        ("The cache holds 5 GB.", "The cache holds 50 GB.", "5"),
        ("Ann went on 2024-02-01.", "I went yesterday.", "02"),
        ("Ann ran in May.", "I ran.", "May"),
        ("Bob ships parts.", "I ship parts.", "Bob"),
        ("Ann met Zoe.", "I met her.", "Zoe"),
        ("Zoe met Ann.", "I met her.", "Zoe"),
        ("Zoltan moved away.", "I moved away.", "Zoltan"),
        ("Ann lives in Oslo.", "I live there.", "Oslo"),
        ("王芳决定买车。", "我决定买车。", "王芳"),
        ("小李喜欢茶。", "我喜欢茶。", "小李"),
        ("欧阳修喜欢茶。", "我喜欢茶。", "欧阳修"),
        ("预算是五万元。", "预算三万元。", "五万"),
        ("会议在周五。", "会议在周三。", "周五"),
        ("他读了《红楼梦》。", "他读了书。", "红楼梦"),
    ],
)
def test_what_no_message_says_is_found(statement, message, stranger):
    assert find_invented(statement, [turn(message)], CONVERSATION) == stranger


def test_long_odd_statements_are_read_in_time():
    odd = "A1 二三 " * 5_000
    assert find_invented(odd, [turn(odd)]) is None


@pytest.mark.parametrize("said", [datetime.min, datetime.max, datetime(9999, 12, 31)])
def test_the_ends_of_the_calendar_are_days_as_well(said):
    message = Turn("1", "I went yesterday, and I go tomorrow.", "user", "Ann", said.replace(tzinfo=UTC))

    assert find_invented("Ann went there.", [message], [message]) is None
