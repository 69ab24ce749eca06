"""Long texts are cut at exact places between words, without losing anything, in bounded time."""

from __future__ import annotations

import pytest

from memory.text.passages import MAX_LINE_CHARS, OVERLAP_TOKENS, PASSAGE_TOKENS, estimate_tokens, passages, spans

ENGLISH = " ".join(f"On day {n} Ann walked to the harbour, counted {n * 7} boats and wrote it down." for n in range(90))
PARAGRAPHS = "\n\n".join(f"Section {n}. " + "The same words come again and again. " * 8 for n in range(20))
CHINESE = "".join(f"第{n}天，小王去公园散步，看见了{n}只鸟。" for n in range(120))
EMOJI = "👩‍👩‍👧‍👦🎉 family party! " * 150
SHORT_SENTENCES = " ".join(f"Ann saw {n} boats." for n in range(400))
LETTERS = "a" * 20_000
MIXED = ENGLISH[:3000] + CHINESE[:900] + EMOJI[:900]
LINES = "\r\n".join(f"{n};left;right" for n in range(1500))
UNBROKEN_CHINESE = "今天天气很好我们去公园散步" * 1500

LONG = {
    "english": ENGLISH,
    "paragraphs": PARAGRAPHS,
    "chinese": CHINESE,
    "emoji": EMOJI,
    "short sentences": SHORT_SENTENCES,
    "letters": LETTERS,
    "mixed": MIXED,
    "lines": LINES,
    "unbroken chinese": UNBROKEN_CHINESE,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
@pytest.mark.parametrize("markdown", [False, True])
def test_spans_are_in_order_within_the_size_and_lose_nothing_but_white_space(text, markdown):
    found = spans(text, markdown=markdown)

    assert len(found) > 1
    assert found == sorted(found)
    for start, end in found:
        passage = text[start:end]
        assert passage == passage.strip()
        assert 0 < estimate_tokens(passage) <= PASSAGE_TOKENS
    seen = 0
    for start, end in found:
        assert not text[seen:start].strip()
        assert end > seen
        seen = end
    assert not text[seen:].strip()


# Sentences longer than the overlap are not repeated.
@pytest.mark.parametrize("name", ["short sentences", "letters"])
def test_neighbours_overlap_by_no_more_than_the_overlap(name):
    text = LONG[name]
    found = spans(text)

    overlaps = [text[start:end] for (start, _), (_, end) in zip(found[1:], found[:-1], strict=True) if start < end]
    # A part ends at MAX_LINE_CHARS, and nothing overlaps.
    assert len(overlaps) >= len(found) - 1 - len(text) // (MAX_LINE_CHARS // 2)
    assert all(estimate_tokens(overlap) <= OVERLAP_TOKENS for overlap in overlaps)


def test_a_cut_falls_between_sentences_where_it_can():
    for start, end in spans(ENGLISH):
        if end < len(ENGLISH) and ENGLISH[start:].startswith("On day"):
            assert ENGLISH[end - 1] == "."


def test_a_line_without_any_break_is_cut_into_words_that_stay_whole():
    words = " ".join(f"word{n}" for n in range(4000))

    assert all(word.startswith("word") for text in passages(words) for word in text.split())


def test_a_short_text_is_its_one_passage_unchanged():
    for text in ("", " ", "hello", "  spaces stay  ", "x" * 4 * PASSAGE_TOKENS, "好" * PASSAGE_TOKENS, "a\n\nb"):
        assert passages(text) == [text]


def test_one_token_more_makes_a_second_passage():
    assert len(passages("好" * (PASSAGE_TOKENS + 1))) == 2
    assert len(passages("word " * (PASSAGE_TOKENS + 1))) == 2


def test_a_long_text_of_white_space_is_one_passage():
    assert passages("\n" * 20_000) == ["\n" * 20_000]
    assert spans("\n \n" * 9000) == []


def test_markdown_is_cut_at_its_headings():
    body = "Words of this section stand here and there. " * 6
    text = f"# One\n\n{body}\n\n## Two\n\n{body}\n\n# Three\n\n{body}"

    starts = [text[start:end].partition("\n")[0] for start, end in spans(text, markdown=True)]

    assert starts == ["# One", "## Two", "# Three"]
