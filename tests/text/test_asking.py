"""The kind of answer that a question asks for, in English and Chinese, with hard cases."""

from __future__ import annotations

import pytest

from memory.text.analysis import terms
from memory.text.asking import DATED_TERMS, asks_agent, asks_for_many, asks_for_recent


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What is Ann's latest job?", True),
        ("Where does she live right now?", True),
        ("What did Bob buy most recently?", True),
        ("the up-to-date plan", True),
        ("她最近在哪里工作？", True),
        ("我们目前用什么数据库？", True),
        ("Why was Ann late?", False),
        ("Do you know her?", False),
        ("What happened later?", False),
        ("Who lasted longest?", False),
        ("她去年在哪里工作？", False),
    ],
)
def test_the_newest_is_wanted(text, wanted):
    assert asks_for_recent(text) is wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("List the cities Ann visited", True),
        ("Can you list all of them?", True),
        ("Please make a list of my allergies", True),
        ("How many cats has Bob?", True),
        ("Summarize our talks", True),
        ("Summarise the project", True),
        ("Tell me everything about the trip", True),
        ("What does every tenant need?", True),
        ("In what order did I learn the languages?", True),
        ("我们讨论过哪些城市？", True),
        ("总结一下我的旅行", True),
        ("What is on my shopping list?", False),
        ("Who is on the guest list?", False),
        ("What does Ann do every day?", False),
        ("Where do we meet every other week?", False),
        ("Did everyone come?", False),
        ("What is overall the best?", False),
        ("How much is the rent?", False),
        ("她住在哪里？", False),
    ],
)
def test_many_are_wanted(text, wanted):
    assert asks_for_many(text) is wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What did you say about tea?", True),
        ("Which hotel did you recommend?", True),
        ("You also mentioned a museum; which?", True),
        ("What have you told me about visas?", True),
        ("Could you remind me what you suggested?", True),
        ("What was your advice on the visa?", True),
        ("Which train did the assistant book?", True),
        ("你之前推荐的餐厅叫什么？", True),
        ("你给我推荐的书是哪本？", True),
        ("你说过什么？", True),
        ("Can you tell me where Ann lives?", False),
        ("Could you list the projects?", False),
        ("Please tell me Ann's address", False),
        ("I want you to write a letter to Ann", False),
        ("What did I tell you?", False),
        ("Who told Ann?", False),
        ("请你告诉我她住在哪里", False),
        ("她建议去哪里？", False),
    ],
)
def test_what_the_agent_said_is_wanted(text, wanted):
    assert asks_agent(text) is wanted


@pytest.mark.parametrize("text", ["I moved last week", "the 3rd of June", "on Fridays", "我上周搬家了", "我们昨天见面"])
def test_texts_that_say_when_have_a_dated_term(text):
    assert not set(terms(text)).isdisjoint(DATED_TERMS)


@pytest.mark.parametrize("text", ["I moved to Lisbon", "the kiln is hot", "我喜欢绿茶"])
def test_texts_that_say_no_time_have_none(text):
    assert set(terms(text)).isdisjoint(DATED_TERMS)
