"""Labels and summaries as places in texts: what they contain, and what they never contain."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.text.analysis import terms
from memory.text.topic_words import LABEL_WORDS, SUMMARY_CHARS, TextPlace, TopicText, TopicWords, choose_sentences


def said(texts: list[TopicText], places: list[TextPlace]) -> list[str]:
    by_id = {one.memory_id: one.text for one in texts}
    return [by_id[place.memory_id][place.start : place.end] for place in places]


def label(*texts: str, **options) -> list[str]:
    told = [TopicText(str(number), text, **options) for number, text in enumerate(texts)]
    return said(told, TopicWords(told).choose({}, memories=1000))


def test_what_the_memories_share_names_them():
    found = label("Our kiln is broken.", "A new kiln costs much.", "The kiln in Bergen works.")
    assert [word.lower() for word in found] == ["kiln"]


def test_what_many_other_memories_hold_names_less():
    texts = [TopicText("a", "celadon kiln"), TopicText("b", "celadon kiln")]
    words = TopicWords(texts)
    assert set(words.list_terms()) == set(terms("celadon kiln"))
    [celadon] = terms("celadon")
    assert said(texts, words.choose({celadon: 900, "kiln": 2}, memories=1000))[0] == "kiln"


def test_a_name_is_told_whole_and_its_parts_not_again():
    text = "Harbour Office opens. The Office of the Harbour Office."
    texts = [TopicText("a", text, names=[(0, 14), (40, 54)]), TopicText("b", text, names=[(0, 14), (40, 54)])]
    found = said(texts, TopicWords(texts).choose({}, memories=100))
    assert found[0] == "Harbour Office"
    assert not {"Harbour", "Office", "office"} & set(found[1:])


def test_a_word_is_written_as_it_mostly_is():
    assert label("Kiln first.", "the kiln", "a kiln")[0] == "kiln"


def test_chinese_is_named_by_pairs_that_do_not_overlap():
    found = label("咖啡机坏了", "咖啡机修好了", "新的咖啡机")
    assert found
    assert all(len(word) == 2 for word in found)
    assert found[0] in ("咖啡", "啡机")
    assert len(found) == 1


def test_the_end_of_a_number_is_no_word():
    assert label("On the 18th the parcel had 4.2kg.") == ["parcel"]
    assert label("用DNS") == ["DNS"]


def test_nothing_of_a_retired_statement_is_told():
    text = "The zeppelin hangar burned. The kiln is cold today in the studio."
    texts = [TopicText(name, text, retired=[(0, 27)]) for name in "ab"]
    found = said(texts, TopicWords(texts).choose({}, memories=100)) + said(texts, choose_sentences(texts))
    assert found
    assert "zeppelin" not in " ".join(found).lower()
    named = [TopicText(name, text, retired=[(0, 27)], names=[(4, 19)]) for name in "ab"]
    assert "zeppelin" not in " ".join(said(named, TopicWords(named).choose({}, memories=100)))


def test_sentences_that_say_something_sum_up():
    texts = [
        TopicText("a", "Hi! How are you? The stoneware kiln fires at 1240 degrees in the studio. Thanks!"),
        TopicText("b", "- The stoneware kiln cools for a whole day.\n- x = {}[]();"),
        TopicText("c", "Ok."),
    ]
    found = said(texts, choose_sentences(texts))
    assert "The stoneware kiln fires at 1240 degrees in the studio." in found
    assert "The stoneware kiln cools for a whole day." in found
    assert not {"Hi!", "Ok.", "x = {}[]();"} & set(found)


def test_memories_without_words_have_no_label_and_no_summary():
    texts = [TopicText("a", ""), TopicText("b", "… !!! 12")]
    assert TopicWords(texts).choose({}, memories=2) == []
    assert choose_sentences(texts) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="ab kiln.Ñ咖啡机\n-!?'\0🙂", max_size=80), max_size=5))
def test_every_place_is_in_its_text(texts):
    told = [TopicText(str(number), text) for number, text in enumerate(texts)]
    words, sentences = TopicWords(told).choose({}, memories=9), choose_sentences(told)
    assert len(words) <= LABEL_WORDS
    assert sum(place.end - place.start for place in sentences) <= SUMMARY_CHARS
    for place in (*words, *sentences):
        text = texts[int(place.memory_id)]
        assert 0 <= place.start < place.end <= len(text)
        assert text[place.start : place.end].strip() == text[place.start : place.end]


def test_a_hostile_text_is_read_in_bounded_time():
    texts = [TopicText(str(n), "咖" * 20_000 + "a-" * 5_000, names=[(i, i + 2) for i in range(500)]) for n in range(5)]
    began = time.process_time()
    TopicWords(texts).choose({}, memories=9)
    choose_sentences(texts)
    assert time.process_time() - began < 20
