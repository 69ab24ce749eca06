"""Relations between names, and names that are stated to be the same."""

from __future__ import annotations

import pytest

from memory.text.entities import find_entities
from memory.text.relations import SPEAKER, find_aliases, find_relations


def stated(text, words, speaker=""):
    found = find_entities(text, words, speaker=speaker)
    name = {SPEAKER: "I", **{index: entity.name for index, entity in enumerate(found)}}
    return {
        (name[row.subject], row.predicate.value, name[row.object], row.detail, row.ended)
        for row in find_relations(text, found)
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I work as a nurse at Harlow Hospital.", ("I", "works_at", "Harlow Hospital", "", False)),
        ("Anna works for Siemens.", ("Anna", "works_at", "Siemens", "", False)),
        ("I worked at Siemens.", ("I", "works_at", "Siemens", "", True)),
        ("Anna no longer works at Siemens.", ("Anna", "works_at", "Siemens", "", True)),
        ("I'm studying law at Harlow University.", ("I", "studies_at", "Harlow University", "", False)),
        ("Tom lives in Berlin.", ("Tom", "lives_in", "Berlin", "", False)),
        ("I've moved from Paris to Berlin.", ("I", "lives_in", "Berlin", "", False)),
        ("I used to live in Paris.", ("I", "lives_in", "Paris", "", True)),
        ("I'm originally from Spain.", ("I", "comes_from", "Spain", "", False)),
        ("I joined the Harlow Foundation.", ("I", "member_of", "Harlow Foundation", "", False)),
        ("Tom leads Project Evergreen.", ("Tom", "works_on", "Project Evergreen", "", False)),
        ("My younger sister Anna is here.", ("I", "family", "Anna", "sister", False)),
        ("Anna is my cousin.", ("I", "family", "Anna", "cousin", False)),
        ("I saw Tom's wife Anna.", ("Tom", "family", "Anna", "wife", False)),
        ("My best friend Tom called.", ("I", "friend_of", "Tom", "friend", False)),
        ("My colleague Tom called.", ("I", "colleague_of", "Tom", "colleague", False)),
        ("My dog Rex is old.", ("I", "owns", "Rex", "dog", False)),
        ("Potsdam is a city in Germany.", ("Potsdam", "part_of", "Germany", "", False)),
        ("I love Italy.", ("I", "likes", "Italy", "", False)),
        ("我在腾讯公司工作。", ("I", "works_at", "腾讯公司", "", False)),
        ("我从腾讯公司离职了。", ("I", "works_at", "腾讯公司", "", True)),
        ("我搬到了杭州。", ("I", "lives_in", "杭州", "", False)),
        ("我来自四川。", ("I", "comes_from", "四川", "", False)),
        ("我是北京人。", ("I", "comes_from", "北京", "", False)),
        ("我的妹妹李娜住在上海。", ("I", "family", "李娜", "妹妹", False)),
        ("我的同事王小明很忙。", ("I", "colleague_of", "王小明", "同事", False)),
        ("我毕业于清华大学。", ("I", "studies_at", "清华大学", "", True)),
        ("我很喜欢《红楼梦》。", ("I", "likes", "红楼梦", "", False)),
    ],
)
def test_a_statement_is_a_relation(words, text, expected):
    assert expected in stated(text, words)


@pytest.mark.parametrize(
    "text",
    [
        "Do I work at Siemens?",
        "If I lived in Berlin, I would cycle.",
        "I don't work at Siemens.",
        "I'd love Italy in spring.",
        "Tom talked about Berlin.",
        "Anna and Tom met.",
        "如果我住在上海就好了。",
        "我们在腾讯公司工作吗？",
        "",
    ],
)
def test_questions_conditions_and_denials_state_nothing(words, text):
    assert stated(text, words) == set()


def test_a_relation_is_stated_once_and_sentences_do_not_mix(words):
    text = "Tom lives in Berlin. Tom said hello.\nAnna works at Siemens. Yes, in Munich."

    assert stated(text, words) == {
        ("Tom", "lives_in", "Berlin", "", False),
        ("Anna", "works_at", "Siemens", "", False),
    }


def aliases(text, words):
    found = find_entities(text, words, speaker="Caroline")
    name = {SPEAKER: "I", **{index: entity.name for index, entity in enumerate(found)}}
    return {(name[row.name], name[row.other]) for row in find_aliases(text, found)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please call me Caro.", {("Caro", "I")}),
        ("My name is Caroline Smith.", {("Caroline Smith", "I")}),
        ("我叫李明。", {("李明", "I")}),
        ("我叫李明，英文名Kevin。", {("李明", "I"), ("Kevin", "李明")}),
        ("我的英文名是Kevin。", {("Kevin", "I")}),
        ("他的英文名是Kevin。", set()),
        ("My English name is Kevin.", {("Kevin", "I")}),
        ("我在北京（Beijing）。", {("Beijing", "北京")}),
        ("I met Anna (Tom was away).", set()),
        ("I met Anna Keller, also known as Maria Schmidt.", set()),
        ("Call me tomorrow, Anna.", set()),
    ],
)
def test_names_are_one_where_it_is_said(words, text, expected):
    assert aliases(text, words) == expected


def test_many_names_in_one_sentence_keep_their_places(words):
    text = ", ".join(["Anna"] * 300) + " and Tom lives in Berlin."

    assert len(find_relations(text, find_entities(text, words))) <= 1
