"""Counts tokens with a named tokenizer, so that a budget means the same to MemOS and to the model that is paid for.

`o200k_base` and `cl100k_base` are OpenAI's byte-pair encodings as bundled with `rs_bpe`, without a download.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Protocol

from rs_bpe.bpe import openai as _encodings

TOKENIZERS = ("o200k_base", "cl100k_base")
DEFAULT_TOKENIZER = "o200k_base"
# Counts of texts up to this length are cached, which takes a few MB at most.
_SHORT_CHARS = 1_000


class _Encoding(Protocol):
    def count(self, text: str) -> int: ...


@cache
def _encoding(name: str) -> _Encoding:
    if name not in TOKENIZERS:
        raise ValueError(f"unknown tokenizer {name!r}: choose one of {', '.join(TOKENIZERS)}")
    encoding: _Encoding = getattr(_encodings, name)()
    return encoding


def count_tokens(text: str, tokenizer: str = DEFAULT_TOKENIZER) -> int:
    """Return how many tokens `text` costs under the named encoding."""
    return _of_short(text, tokenizer) if len(text) <= _SHORT_CHARS else _encoding(tokenizer).count(text)


@lru_cache(maxsize=2_048)
def _of_short(text: str, tokenizer: str) -> int:
    """Count a short text, cached because every question of a session counts the turns of its window again."""
    return _encoding(tokenizer).count(text)


def beginning(text: str, limit: int, tokenizer: str = DEFAULT_TOKENIZER) -> str:
    """Return the beginning of `text` that costs at most `limit` tokens."""
    while (tokens := count_tokens(text, tokenizer)) > limit:
        text = text[: len(text) * limit // tokens]
    return text
