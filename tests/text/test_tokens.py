from __future__ import annotations

import pytest

from memory.text.tokens import DEFAULT_TOKENIZER, TOKENIZERS, count_tokens


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("hello world", 2), ("a", 1)])
def test_counts_are_those_of_the_published_encodings(tokenizer: str, text: str, tokens: int) -> None:
    assert count_tokens(text, tokenizer) == tokens


def test_the_encodings_differ_where_their_vocabularies_do() -> None:
    text = "我们决定用 Redis 做限流" * 5
    assert count_tokens(text, "o200k_base") < count_tokens(text, "cl100k_base")


def test_without_a_name_the_default_counts() -> None:
    assert DEFAULT_TOKENIZER == "o200k_base"
    assert count_tokens("我们决定用 Redis 做限流") == count_tokens("我们决定用 Redis 做限流", "o200k_base")


@pytest.mark.parametrize("text", ["😀" * 50, "\u200b", "a\tb\r\nc", "x" * 20_000, "<|endoftext|>", "\ufffd\U0010ffff"])
def test_any_text_has_a_count(text: str) -> None:
    assert 0 < count_tokens(text) <= len(text.encode())


def test_an_unknown_encoding_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown tokenizer 'gpt2': choose one of o200k_base, cl100k_base"):
        count_tokens("hello", "gpt2")
