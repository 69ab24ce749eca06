"""The numbers of sources in an answer: dropped if there is no such source, and checked against the source's text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.text.citations import MarkerFilter, check_citations, nearest_sentence, remove_markers
from memory.text.statements import Turn

SAID = datetime(2024, 5, 8, 9, tzinfo=UTC)
SOURCES = {
    1: Turn("a", "Good morning! Priya reviewed the migration yesterday. She found two bugs.", "user", "Tom", SAID),
    2: Turn("b", "The launch moved from the 21st to the 28th.", "user", "Mia", SAID),
    3: Turn("c", "我们把发布改到了5月28日。", "user", "李雷", SAID),
}


def read(*pieces: str) -> list[str]:
    """Return the output of a filter that knows 1, 2 and 3, after each piece."""
    marker_filter = MarkerFilter(SOURCES)
    return [marker_filter.feed(piece) for piece in pieces]


@pytest.mark.parametrize(
    ("said", "passed"),
    [
        ("Priya did [1].", "Priya did [1]."),
        ("Priya did [12].", "Priya did."),
        ("Priya did[0][1][99].", "Priya did[1]."),
        ("Priya did [1, 7; 2].", "Priya did [1][2]."),
        ("Priya did [2-9].", "Priya did [2][3]."),
        ("Priya did [1-99999].", "Priya did [1-99999]."),
        ("普里娅做了【1】，还有［８］。", "普里娅做了[1]，还有。"),
        ("An array a[i] and [sic] stay.", "An array a[i] and [sic] stay."),
        ("  \n Priya did [1].", "Priya did [1]."),
    ],
)
def test_numbers_of_no_source_are_dropped(said, passed):
    assert "".join(read(said)) == passed
    assert "".join(read(*said)) == passed


def test_a_marker_in_pieces_waits_for_its_end():
    assert read("Priya [", "1", "2] did", " [1", "]", ".") == ["Priya", "", " did", "", " [1]", "."]


def test_what_only_looks_like_a_marker_is_passed_on():
    assert "".join(read("see [", "1 and more")) == "see [1 and more"


def test_an_unfinished_marker_and_white_space_at_the_end_are_not_passed_on():
    assert "".join(read("Priya did. ", "[1")) == "Priya did."
    assert "".join(read("Priya did.", "\n", " ")) == "Priya did."


def test_a_sentence_that_its_source_says_is_supported():
    text = "Priya reviewed the migration on 7 May 2024 [1]. The launch is on the 28th. [2]"

    checked = check_citations(text, SOURCES)

    assert [(one.n, one.supported) for one in checked.citations] == [(1, True), (2, True)]
    assert [text[one.at : one.at + 3] for one in checked.citations] == ["[1]", "[2]"]
    assert checked.citations[0].quote == "Priya reviewed the migration yesterday."
    assert checked.uncited == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Priya reviewed the migration on 9 May 2024 [1].",
        "Priya found seven bugs [1].",
        "Carol reviewed the migration [1].",
        "The staging server runs out of disk [1].",
        "Priya has not reviewed the migration [1].",
        "The launch moved to the 28th [1].",
        "Yes [1].",
    ],
)
def test_a_sentence_that_its_source_does_not_say_is_not(sentence):
    assert [one.supported for one in check_citations(sentence, SOURCES).citations] == [False]


def test_two_sources_may_say_it_together_and_a_third_does_not():
    checked = check_citations("Priya reviewed the migration, and the launch moved to the 28th [1][2][3].", SOURCES)

    assert [(one.n, one.supported) for one in checked.citations] == [(1, True), (2, True), (3, False)]


def test_chinese_is_checked_like_english():
    checked = check_citations("发布改到了5月28日[3]。发布改到了6月1日。[3]", SOURCES)

    assert [(one.n, one.supported) for one in checked.citations] == [(3, True), (3, False)]


def test_sentences_that_cite_nothing_are_listed():
    checked = check_citations("Thanks! Priya reviewed it [1]. She is the best engineer.\n- A line of its own", SOURCES)

    assert checked.uncited == ["She is the best engineer.", "- A line of its own"]
    assert check_citations("", SOURCES).uncited == []


def test_the_nearest_sentence_is_verbatim():
    assert nearest_sentence("Two bugs were found", SOURCES[1].text) == "She found two bugs."
    assert nearest_sentence("Two bugs were found", "") == ""


def test_markers_are_removed_from_what_is_kept():
    assert remove_markers("Priya did [1][2]. 是的[3]。") == "Priya did. 是的。"


@pytest.mark.parametrize("hostile", ["[" * 50_000, " " * 50_000, "[1" * 20_000, "[1]" * 10_000, "[1,2,3" * 9_000])
def test_hostile_answers_take_time_in_proportion_to_their_length(hostile):
    passed = "".join(read(*(hostile[place : place + 7] for place in range(0, len(hostile), 7))))

    check_citations(passed[:4_000], SOURCES)
