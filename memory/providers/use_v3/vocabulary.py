"""Cuts text into the pieces of the model's vocabulary: a unigram language model (Kudo 2018), as SentencePiece does it.

`tokenizers` takes 125 MB for this vocabulary of 128,000 pieces; a trie takes 2 MB, and words are cached. No piece holds
a space inside, so a text is cut word by word.
"""

from __future__ import annotations

import struct
from array import array
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

import marisa_trie
import numpy as np

from memory.providers.minilm.weights import WeightsError

UNKNOWN, BEGIN, END = 0, 1, 2
# Only the first pieces of a longer text are read.
MAX_PIECES = 256
# The first entries of the vocabulary are control codes.
_CONTROL = 6
# The character for a space in pieces.
_SPACE = "\u2581"
# The number of cached words, and the characters of the longest.
_WORDS, _WORD_CHARS = 16_384, 24
# The longest piece has 16 characters.
_PIECE_CHARS = 16
# An unknown character is so much less likely than the least likely piece.
_UNKNOWN_PENALTY = 10.0


class Vocabulary:
    """Cuts texts into pieces. Raises WeightsError when `file` is damaged."""

    def __init__(self, file: Path) -> None:
        # Its library takes 10 MB, which processes that ask another for vectors do without.
        from tokenizers.normalizers import Precompiled  # noqa: PLC0415

        try:
            with np.load(file) as held:
                self._trie = marisa_trie.Trie().frombytes(held["trie"].tobytes())
                self._ids = array("i", held["ids"].tobytes())
                self._scores = array("f", held["scores"].tobytes())
                self._normalizer = Precompiled(held["normalizer"].tobytes())
        except (ValueError, EOFError, KeyError, OSError, RuntimeError) as error:
            raise WeightsError(f"{file} is damaged") from error
        self._unknown = min(self._scores) - _UNKNOWN_PENALTY
        self._cut_word = lru_cache(maxsize=_WORDS)(self._cut)

    def encode(self, text: str) -> list[int]:
        """Returns the ids of the pieces of `text`, between those that begin and end a text."""
        ids = [BEGIN]
        for word in self._normalizer.normalize_str(text).split(" "):
            if word:
                cut = self._cut_word if len(word) <= _WORD_CHARS else self._cut
                ids += cut(_SPACE + word)
            if len(ids) > MAX_PIECES:
                break
        if len(ids) == 1:
            ids.append(UNKNOWN)
        return [*ids[: MAX_PIECES - 1], END]

    def _cut(self, word: str) -> list[int]:
        """Returns the most likely pieces of a word (Viterbi), of equals the one whose last piece is the longest."""
        best = [0.0, *[float("-inf")] * len(word)]
        cut_at, pieces = [0] * len(best), [UNKNOWN] * len(best)
        for start in range(len(word)):
            score, has_one = best[start], False
            for piece, number in self._trie.iter_prefixes_with_ids(word[start : start + _PIECE_CHARS]):
                end = start + len(piece)
                has_one = has_one or end == start + 1
                if score + self._scores[number] > best[end]:
                    best[end], cut_at[end], pieces[end] = score + self._scores[number], start, self._ids[number]
            if not has_one and score + self._unknown > best[start + 1]:
                best[start + 1], cut_at[start + 1], pieces[start + 1] = score + self._unknown, start, UNKNOWN
        ids, place = [], len(word)
        while place:
            ids.append(pieces[place])
            place = cut_at[place]
        return ids[::-1]


def write_vocabulary(sentencepiece_model: bytes, target: Path) -> None:
    """Writes the vocabulary of a SentencePiece model in the form in which `Vocabulary` reads it."""
    model = _read_fields(sentencepiece_model)
    numbered: dict[str, tuple[int, float]] = {}
    for number, content in enumerate(model[1]):
        if number >= _CONTROL:
            fields = _read_fields(content)
            numbered[fields[1][0].decode()] = number, struct.unpack("<f", fields[2][0])[0]
    trie = marisa_trie.Trie(numbered)
    ids, scores = np.zeros(len(trie), np.int32), np.zeros(len(trie), np.float32)
    for piece, (number, score) in numbered.items():
        key = trie[piece]
        ids[key], scores[key] = number, score
    with target.open("wb") as file:
        np.savez(
            file,
            trie=np.frombuffer(trie.tobytes(), np.uint8),
            ids=ids,
            scores=scores,
            # This old layout has the normaliser's rules in the message of the trainer.
            normalizer=np.frombuffer(_read_fields(model[3][0])[2][0], np.uint8),
        )


def _read_fields(message: bytes) -> dict[int, list[bytes]]:
    """Returns the contents of the fields of a Protocol Buffers message by their numbers: of fixed and measured length;
    other numbers are stepped over."""
    fields: dict[int, list[bytes]] = defaultdict(list)
    place = 0
    while place < len(message):
        tag, place = _read_number(message, place)
        kind = tag & 7
        if kind == 0:
            _, place = _read_number(message, place)
            continue
        length = {1: 8, 5: 4}.get(kind)
        if length is None:
            length, place = _read_number(message, place)
        fields[tag >> 3].append(message[place : place + length])
        place += length
    return fields


def _read_number(message: bytes, place: int) -> tuple[int, int]:
    """Returns a number of variable length, and the place behind it."""
    number = shift = 0
    while True:
        byte = message[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7
