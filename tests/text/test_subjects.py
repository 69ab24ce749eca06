"""The person and subject of a sentence are read from its surface."""

from __future__ import annotations

import pytest

from memory.text.subjects import (
    find_labels,
    find_names,
    find_people,
    find_possession,
    find_subject,
    is_of_speaker,
    is_third_person,
)


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("Patient 11 is allergic to latex.", "Patient 11 "),
        ("My sister Greta lives in Malmö.", "My sister Greta "),
        ("I've moved.", "I"),
        ("Windy out there.", ""),
        ("乐乐的生日是12月2号。", "乐乐的生日"),
    ],
)
def test_the_subject_stands_before_the_predicate(sentence, subject):
    assert find_subject(sentence) == subject


def test_people_are_found_in_both_languages():
    assert find_people("My brother's dog") == {"brother", "dog"}
    assert find_people("我女儿的手机") == {"女儿"}


def test_labels_tell_one_of_a_series_from_another():
    assert find_labels("Row A") == {"a"}
    assert find_labels("The third room") == {"third"}
    assert find_labels("January's electricity") == {"january"}
    assert find_labels("第三章") == {"第三"}


def test_whose_attribute_it_is():
    assert find_possession("Ada's birthday is in May.") == ("ada", "birthday")
    assert find_possession("张文博的生日是4月5日。") == ("张文博", "生日")
    assert find_possession("我将要参加的书法之旅，它的规模是四百人。") == ("书法之旅", "规模")
    assert find_possession("The rent is 900.") is None


def test_names_are_capitalised_words():
    assert find_names("My manager is Helen Zhou") == {"helen", "zhou"}


def test_whose_a_sentence_is():
    assert is_of_speaker("Since Saturday the export is down here.")
    assert is_of_speaker("我们房租两千一。")
    assert not is_of_speaker("The library closes at six.")
    assert is_third_person("He sold the car.")
    assert is_third_person("他把车卖了。")
    assert not is_third_person("I sold the car.")
