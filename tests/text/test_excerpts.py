from __future__ import annotations

import pytest

from memory.text.analysis import terms
from memory.text.excerpts import ELLIPSIS, MAX_HIT_CHARS, make_excerpt
from memory.text.passages import spans

ENGLISH = " ".join(f"Shelf {number} holds {number * 7} jars of glaze." for number in range(300))
CHINESE = "".join(f"第{number}号货架上有{number * 7}罐釉料。" for number in range(400))


def cut(text: str, asked: str, similarities=None):
    return make_excerpt(text, asked=terms(asked), similarities=similarities or {})


@pytest.mark.parametrize(
    ("text", "asked", "answer"),
    [
        (ENGLISH, "What does shelf 211 hold?", "Shelf 211 holds 1477 jars of glaze."),
        (ENGLISH, "What does shelf 0 hold?", "Shelf 0 holds 0 jars of glaze."),
        (ENGLISH, "What does shelf 299 hold?", "Shelf 299 holds 2093 jars of glaze."),
        (CHINESE, "第211号货架", "第211号货架上有1477罐釉料。"),
    ],
)
def test_the_part_that_answers_is_kept_in_whole_sentences(text, asked, answer):
    found = cut(text, asked)

    assert answer in found.text
    assert MAX_HIT_CHARS * 0.8 < len(found.text) <= MAX_HIT_CHARS
    assert found.text.strip(f" {ELLIPSIS}") == text[found.start : found.end].strip()
    assert text[: found.start].rstrip()[-1:] in {"", ".", "。"}
    assert text[found.start : found.end].rstrip()[-1] in ".。"


def test_an_ellipsis_stands_where_something_was_cut():
    first, middle, last = (cut(ENGLISH, f"shelf {number}").text for number in (0, 150, 299))

    assert (first.startswith(ELLIPSIS), first.endswith(ELLIPSIS)) == (False, True)
    assert (middle.startswith(ELLIPSIS), middle.endswith(ELLIPSIS)) == (True, True)
    assert (last.startswith(ELLIPSIS), last.endswith(ELLIPSIS)) == (True, False)


def test_the_nearest_passage_is_kept_where_no_word_is_shared():
    near = len(spans(ENGLISH)) - 3
    start, end = spans(ENGLISH)[near]

    found = cut(ENGLISH, "Lagerbestand", {near: 0.6, 2: 0.2})

    assert found.start <= start
    assert end <= found.end


@pytest.mark.parametrize("text", ["x" * 20_000, "word " * 4_000, "字" * 5_000, "\n" * 3_000, "a. " * 6_000])
def test_texts_without_sentences_are_cut_as_well(text):
    found = cut(text, "word 字 x")

    assert len(found.text) <= MAX_HIT_CHARS
    assert found.characters == len(text)
