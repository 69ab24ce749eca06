from __future__ import annotations

import time

import pytest

from memory.text.claims import claims
from memory.text.clauses import clauses, cut
from memory.text.utterances import live_text

# Sentence, which clause goes, what stays (None: nothing can be cut out safely).
CUTS = [
    ("The fair is on 3 May, and the stalls need two days.", 0, "the stalls need two days."),
    ("The fair is on 3 May, and the stalls need two days.", 1, "The fair is on 3 May."),
    ("I live in Lisbon and am allergic to figs.", 0, "I am allergic to figs."),
    ("I'm vegan and work at the mill.", 0, "I work at the mill."),
    ("I row on Mondays, sing in a choir and mend oboes.", 1, "I row on Mondays and mend oboes."),
    ("My aunt Ida lives in Ghent and she keeps bees.", 0, None),
    ("My aunt, who lives in Ghent, keeps bees.", 1, "My aunt keeps bees."),
    ("We moved to Ghent because the mill is there.", 0, None),
    ("Our mill opens at 9; the shop opens at 10.", 0, "the shop opens at 10."),
    ("我住在里斯本，对无花果过敏。", 0, "我对无花果过敏。"),
    ("阿姨住在根特，每周三去唱歌。", 0, "阿姨每周三去唱歌。"),
    ("例会定在周一，地点是二楼。", 0, "例会地点是二楼。"),
    ("我养了一只猫，它叫豆子。", 0, None),
    ("开馆日期是三号，布展需要两天。", 0, "布展需要两天。"),
]


@pytest.mark.parametrize(("sentence", "number", "left"), CUTS)
def test_what_stays_reads_well_and_says_of_whom(sentence: str, number: int, left: str | None) -> None:
    place = cut(sentence, number)

    assert (live_text(sentence, [place]) if place else None) == left


def test_a_list_is_no_second_clause() -> None:
    assert len(clauses("The route is Porto, Lisbon and Faro.")) == 1


def test_a_sentence_that_the_next_one_points_back_at_stays() -> None:
    assert cut("My aunt lives in Ghent.", 0) == (0, 23)
    assert cut("My aunt lives in Ghent.", 0, followed_by_reference=True) is None


def test_whitespace_and_nothing_have_one_clause() -> None:
    assert [len(clauses(text)) for text in ("", " ", "?")] == [1, 1, 1]


@pytest.mark.parametrize(
    "unit", ["1", "a ", "and ", "1,", "1.", ", ", "把", "一", "了", "at 9 ", "moved to ", "live in ", "not ", "的"]
)
def test_the_time_to_read_a_sentence_grows_with_its_length(unit: str) -> None:
    short, long = _seconds((unit * 400)[:100]), _seconds((unit * 400)[:400])

    assert long < 40 * max(short, 0.002)


def _seconds(sentence: str) -> float:
    # Each time another sentence: what was read before is remembered.
    started = time.process_time()
    for number in range(3):
        claims(f"{sentence}{number}")
    return time.process_time() - started
