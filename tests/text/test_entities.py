"""Names that rules find, with their kind, and words that they leave alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.providers.name_lists import lexicon
from memory.text.entities import MAX_ENTITIES, find_entities, is_speaker_name


def named(text, words, speaker="") -> set[tuple[str, str]]:
    return {(found.name, found.kind.value) for found in find_entities(text, words, speaker=speaker)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yesterday Anna called me.", {("Anna", "person")}),
        (
            "I met Matt Patterson and George R. R. Martin.",
            {("Matt Patterson", "person"), ("George R. R. Martin", "person")},
        ),
        ("We saw Dr. Kessandra Vohl today.", {("Dr. Kessandra Vohl", "person")}),
        ("My sister Quilla is here.", {("Quilla", "person")}),
        ("Hey Zuzi, how are you?", {("Zuzi", "person")}),
        ("Our dog is called Rex.", {("Rex", "thing")}),
        ("I moved from Paris to New York City.", {("Paris", "place"), ("New York City", "place")}),
        ("She lives in Galway now.", {("Galway", "place")}),
        ("We walked through Whispering Falls.", {("Whispering Falls", "place")}),
        ("He works at Siemens.", {("Siemens", "organisation")}),
        ("I study at Harlow University.", {("Harlow University", "organisation")}),
        ("They bought Vextron GmbH.", {("Vextron GmbH", "organisation")}),
        ("The plan for Project Evergreen is ready.", {("Project Evergreen", "project")}),
        ("Our project titled 'Better Maps for All' begins.", {("Better Maps for All", "project")}),
        ("I am reading “A Year with Swifts” again.", {("A Year with Swifts", "thing")}),
        ("We store it in PostgreSQL.", {("PostgreSQL", "thing")}),
        ("I like Anna's garden.", {("Anna", "person")}),
        (
            "Tom and Anna saw Berlin, Paris and Vienna.",
            {("Tom", "person"), ("Anna", "person"), ("Berlin", "place"), ("Paris", "place"), ("Vienna", "place")},
        ),
        (
            "Anna flew to Austin, and Austin called her.",
            {("Anna", "person"), ("Austin", "place"), ("Austin", "person")},
        ),
    ],
)
def test_english_names_are_found_with_their_kind(words, text, expected):
    assert named(text, words) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我和王小明一起去了杭州。", {("王小明", "person"), ("杭州", "place")}),
        ("我妹妹叫李娜。", {("李娜", "person")}),
        ("张老师说作业很多。", {("张老师", "person")}),
        ("他在腾讯公司工作。", {("腾讯公司", "organisation")}),
        ("她毕业于清华大学。", {("清华大学", "organisation")}),
        ("她刚看完《红楼梦》。", {("红楼梦", "thing")}),
        ("Lisa在北京市住了三年。", {("Lisa", "person"), ("北京市", "place")}),
        ("作者是查尔斯·狄更斯。", {("查尔斯·狄更斯", "person")}),
        ("我住在旧金山。", {("旧金山", "place")}),
    ],
)
def test_chinese_names_are_found_with_their_kind(words, text, expected):
    assert named(text, words) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "i have a new dog and she is lovely",
        "Thanks! Wow, that sounds great. Monday is OK, see you in May.",
        "The German course begins on Friday at Christmas.",
        "## Project Management And Team Building",
        "**User Authentication:** log in first.",
        "```\nclass Anna:\n    Paris = 1\n```",
        "See https://Example.com/Anna and anna@Berlin.de or /srv/Anna/Paris.",
        "Fill in [Your Name] here.",
        "The Senior Product Manager joined the Weekly Review.",
        "Will you mark the date? Hope so.",
        "HTTP and JSON are fine.",
        "我今天很高兴，他们公司很大，我去了一家医院。",
        "一个新城市，高水平，白衬衫。",
        "和同学们向老师说明了原因。",
    ],
)
def test_other_words_are_left_alone(words, text):
    assert named(text, words) == set()


def test_places_are_those_of_the_text(words):
    text = "😀 I met Anna Keller near the Golden Gate Bridge.\n- Then Tom called from 上海市。"

    for found in find_entities(text, words):
        assert text[found.start : found.end] == found.name


def test_the_speaker_comes_first_and_stands_nowhere(words):
    speaker, anna = find_entities("I met Anna.", words, speaker=" Caroline ")

    assert (speaker.name, speaker.start, speaker.end) == ("Caroline", 0, 0)
    assert anna.start == 6


@pytest.mark.parametrize("speaker", ["", "user", "Assistant", "assistant 2", "AI", "7", "x", "System", "n" * 81])
def test_a_role_is_no_speaker(speaker):
    assert not is_speaker_name(speaker)


@pytest.mark.parametrize("speaker", ["Caroline", "王芳", "Jon Miller", "Jo"])
def test_a_name_is_a_speaker(speaker):
    assert is_speaker_name(speaker)


def test_names_do_not_overlap_and_are_bounded(words):
    text = "I met Anna Keller of Keller University in New York City, said Tom. " * 300

    found = find_entities(text, words)
    assert len(found) <= MAX_ENTITIES
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_code_is_no_name(words):
    assert find_entities("《``》 and 《a `b`》", words) == []


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet=st.sampled_from("AaTo Be.,!?\n\"'“”《》·王小明在北京公司住 I`*[]()#-1é😀"), max_size=200))
def test_any_text_is_read(text):
    for found in find_entities(text, lexicon(), speaker=text[:10]):
        assert found.end == 0 or text[found.start : found.end] == found.name


@pytest.mark.parametrize(
    "piece", ["A", "Aa ", "A. ", '"A ', "王", "·王", "《", "a@", "[", "**", "`", "A of ", "的公司", "1."]
)
def test_hostile_texts_are_read_to_the_end(words, piece):
    find_entities(piece * (20_000 // len(piece)), words)
