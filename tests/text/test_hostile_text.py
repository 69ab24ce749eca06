"""Texts made to be slow to split: time grows linearly with their length, and the result is exact anyway."""

from __future__ import annotations

import time

import pytest

from bench.hostile_text import KINDS, make
from memory.text import passages as module
from memory.text.documents import CHUNK_TOKENS, MAX_HEADING_CHARS, chunks
from memory.text.passages import PASSAGE_TOKENS, estimate_tokens, passages, spans

SHORT, LONG = 10_000, 80_000
# Linear time would grow 8-fold, quadratic 64-fold.
MOST_GROWTH = 30
ATTEMPTS = 4
# Shorter times are not meaningful.
LEAST_SECONDS = 0.002


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cut", [lambda text: chunks(text, markdown=True), passages], ids=["chunks", "passages"])
def test_time_grows_with_the_length(kind, cut):
    # Quadratic growth shows each time; disturbances by a busy machine do not.
    assert any(_growth(cut, kind) < MOST_GROWTH for _ in range(ATTEMPTS))


def _growth(cut, kind: str) -> float:
    taken = []
    for chars in (SHORT, LONG):
        text = make(kind, chars)
        start = time.process_time()
        cut(text)
        taken.append(time.process_time() - start)
    return taken[1] / max(taken[0], LEAST_SECONDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("markdown", [False, True])
def test_what_is_cut_is_exact_and_loses_nothing_but_white_space(kind, markdown):
    text = make(kind, SHORT) + " The end."

    found = spans(text, markdown=markdown)

    seen = 0
    for start, end in found:
        assert text[start:end] == text[start:end].strip()
        assert 0 < estimate_tokens(text[start:end]) <= PASSAGE_TOKENS
        assert not text[seen:start].strip()
        assert end > seen
        seen = end
    assert not text[seen:].strip()


@pytest.mark.parametrize("gap", ["\n" * 500, "\t\n" * 300, " " * 5000, "\u3000\n" * 99, "\r\n" * 40])
def test_words_on_both_sides_of_a_gap_keep_their_places(gap):
    text = gap.join(f"Word{number} and what follows it." for number in range(60))

    for markdown in (False, True):
        found = chunks(text, markdown=markdown)

        said = " ".join(text[chunk.start : chunk.end] for chunk in found)
        assert all(f"Word{number} " in said for number in range(60))
        for chunk in found:
            assert text[chunk.start : chunk.end].strip() == text[chunk.start : chunk.end]
            assert estimate_tokens(text[chunk.start : chunk.end]) <= CHUNK_TOKENS + MAX_HEADING_CHARS // 4


def test_a_long_text_is_cut_at_its_sections_first(monkeypatch):
    body = "Words of this section stand here, and they fill the line.\n" * 9
    text = "".join(f"# Heading {number}\n\n{body}\n" for number in range(120))
    whole = chunks(text, markdown=True)
    monkeypatch.setattr(module, "PART_CHARS", 3_000)

    assert chunks(text, markdown=True) == whole


def test_a_panic_of_the_splitter_does_not_end_the_thread(monkeypatch):
    class PanicException(BaseException):
        pass

    class Broken:
        def chunk_indices(self, text: str) -> None:
            raise PanicException

    monkeypatch.setattr(module, "_splitter", lambda *_: Broken())
    text = "Some words of a text. " * 60

    found = [text[start:end] for start, end in spans(text)]

    assert " ".join(found).split() == text.split()
    assert all(estimate_tokens(part) <= PASSAGE_TOKENS for part in found)


def test_wide_spaces_in_markdown_are_cut():
    text = (("\u3000\n" * 32)[:63] + "a") * 700

    assert chunks(text, markdown=True)
