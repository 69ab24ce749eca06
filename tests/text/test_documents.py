"""Chunks of a document: exact places, and their headings."""

from __future__ import annotations

import pytest

from memory.text.documents import CHUNK_TOKENS, HEADING_SEPARATOR, MAX_HEADING_CHARS, Chunk, chunks
from memory.text.excerpts import MAX_HIT_CHARS
from memory.text.passages import estimate_tokens

BODY = "Words of this section stand here, and they fill the line. " * 20


def headings(text: str) -> list[str]:
    return [chunk.heading for chunk in chunks(text, markdown=True)]


def test_the_path_of_headings_follows_their_levels():
    text = f"Intro.\n\n# A\n\n{BODY}\n\n### Deep\n\n{BODY}\n\n## B\n\n{BODY}\n\nC\n=\n\n{BODY}"

    assert list(dict.fromkeys(headings(text))) == ["", "A", "A > Deep", "A > B", "C"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_places_are_exact_with_every_kind_of_line_end(end):
    text = end.join(["# Ünï 中文", "", BODY, "", "  ## Zwei 🎉", "", BODY, ""])

    found = chunks(text, markdown=True)

    parts = [text[chunk.start : chunk.end] for chunk in found]
    assert parts == [part.strip() for part in parts]
    assert parts[0].startswith(f"# Ünï 中文{end}")
    assert [chunk.heading for chunk in found if chunk.start > text.index("Zwei")][-1].endswith("Zwei 🎉")
    assert {chunk.heading for chunk in found} == {"Ünï 中文", "Ünï 中文 > Zwei 🎉"}


def test_a_heading_goes_with_what_follows_it():
    text = f"# One\n\n## Two\n\n{BODY}"

    first = chunks(text, markdown=True)[0]

    assert text[first.start : first.end].startswith("# One\n\n## Two\n\nWords")
    assert first.heading == "One > Two"


def test_the_mark_of_a_code_block_goes_with_its_code():
    text = "Run this:\n\n```python\n" + "print('some words of code')\n" * 80 + "```\n"

    found = [text[chunk.start : chunk.end] for chunk in chunks(text, markdown=True)]

    assert len(found) > 2
    assert not [chunk for chunk in found if chunk.strip("`") == "python"]


def test_headings_at_the_end_are_kept():
    # The text before the last heading fills a chunk.
    text = f"# First\n\n{BODY[: 4 * CHUNK_TOKENS - 11]}\n\n# Last\n"

    last = chunks(text, markdown=True)[-1]

    assert (text[last.start : last.end], last.heading) == ("# Last", "Last")


def test_what_only_looks_like_a_heading_is_none():
    text = f"```\n# comment\n```\n\n> # quoted\n\n- # item\n\n    # code\n\n#hashtag\n\n{BODY}"

    assert set(headings(text)) == {""}


def test_long_paths_keep_their_inner_headings():
    text = "".join(f"{'#' * level} {'h' * 60}{level}\n\n" for level in range(1, 7)) + BODY

    paths = headings(text)

    assert all(len(path) <= MAX_HEADING_CHARS for path in paths)
    assert paths[-1].endswith("6")
    assert len(paths[-1].split(HEADING_SEPARATOR)) == 3
    assert len(headings(f"# {'x' * 5000}\n\n{BODY}")[-1]) == MAX_HEADING_CHARS


def test_plain_text_has_no_headings():
    text = f"# Not a heading\n\n{BODY}"

    assert {chunk.heading for chunk in chunks(text, markdown=False)} == {""}


def test_white_space_has_no_chunks_and_headings_alone_have_one():
    assert chunks("\n \n" * 100, markdown=True) == []
    assert chunks("", markdown=False) == []
    assert chunks("# A", markdown=True) == [Chunk(0, 3, "A")]
    assert len(chunks("# A\n\n## B\n", markdown=True)) == 1


def test_chunks_lose_nothing_and_stay_near_their_length():
    text = "\n\n".join(f"{'#' * (number % 3 + 1)} Heading {number}\n\n{BODY[: number * 37]}" for number in range(40))

    found = chunks(text, markdown=True)

    seen = 0
    for start, end, *_ in found:
        assert not text[seen:start].strip()
        assert estimate_tokens(text[start:end]) <= CHUNK_TOKENS + MAX_HEADING_CHARS // 4
        seen = max(seen, end)
    assert not text[seen:].strip()


def test_pages_end_at_form_feeds():
    text = "# One\n\n" + "First words of it. " * 60 + "\n\n\f\n\n# Two\n\n" + "Second words of it. " * 60
    found = chunks(text, markdown=True)

    assert {chunk.page for chunk in found if chunk.heading == "One"} == {1}
    assert {(chunk.page, chunk.last_page) for chunk in found if chunk.heading == "Two"} == {(2, 2)}
    assert chunks("Plain.", markdown=True)[0].to_dict() == {"start": 0, "end": 6, "heading": ""}


def test_chunks_within_a_table_know_its_columns():
    rows = "".join(f"| Firm {row} | {row * 7} |\n" for row in range(200))
    text = f"# Accounts\n\n| Name | Total |\n|:---|---:|\n{rows}\nAfter the table.\n"
    found = chunks(text, markdown=True)

    assert found[0].table == ""
    assert {chunk.table for chunk in found[1:-1]} == {"Name | Total"}
    assert found[1].context == "Accounts > Name | Total"
    assert chunks("| a | b |\n\nText.", markdown=True)[0].table == ""
    assert chunks("Text | with\n--- | ---\nbars", markdown=False)[0].table == ""


@pytest.mark.parametrize("markdown", [True, False])
def test_no_chunk_is_longer_than_a_hit(markdown):
    sections = (
        f"## Glazes of kiln {number} {'and its shelves ' * (number % 11)}\n\n"
        + " ".join(f"Shelf {shelf} holds {shelf * 7} jars of glaze." for shelf in range(number))
        for number in range(60)
    )

    found = chunks("\n\n".join(sections), markdown=markdown)

    assert 700 < max(one.end - one.start for one in found) <= MAX_HIT_CHARS
