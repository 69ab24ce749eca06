"""Chooses the label of a topic, and the sentences that sum it up, as spans of its memories' texts.

A term weighs more, the more of the topic's memories contain it and the fewer others do. This is class-based TF-IDF
(Grootendorst 2022, "BERTopic: Neural topic modeling with a class-based TF-IDF procedure"), counting memories instead of
occurrences. Sentences are chosen like those of session summaries (`memory.text.salience`).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memory.text import salience, sentences
from memory.text.analysis import CJK, is_cjk, terms

LABEL_WORDS = 3
SUMMARY_SENTENCES = 3
# Total length of a summary in characters.
SUMMARY_CHARS = 450
# Number of the topic's most frequent terms that are counted in the whole namespace.
COUNTED_TERMS = 60
# Factor for words that are names or parts of names.
NAME_SHARE = 1.25
# From this number of memories on, a word of a single memory can't be the topic's label.
SHARED_FROM = 3
MAX_WORD_CHARS = 40
# Minimum number of terms, and minimum share of letters, of a sentence in a summary.
LEAST_TERMS = 3
LEAST_LETTERS = 0.6
# Weight of a memory at the edge of its topic, relative to one in the middle.
EDGE_SHARE = 0.5
# Only this much of a longer text is read.
READ_CHARS = 4_000

# The end of "18th" is not a word.
_WORD = re.compile(rf"[{CJK}]{{2,}}|(?<![^\W_{CJK}])[^\W\d_{CJK}][^\W_{CJK}]*(?:['’\-][^\W_{CJK}]+)*")


class TextPlace(NamedTuple):
    """A part of a memory's text, in characters."""

    memory_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TopicText:
    """The text of a memory of a topic.

    `retired` holds the spans of statements that no longer hold, `names` the spans of names, both as (start, end).
    `closeness` is the memory's cosine similarity to the middle of the topic.
    """

    memory_id: str
    text: str
    retired: Sequence[tuple[int, int]] = ()
    names: Sequence[tuple[int, int]] = ()
    closeness: float = 1.0


@dataclass(slots=True)
class _Word:
    """A word, or a name of several words, with the memories that contain it and the places of each spelling."""

    parts: frozenset[str]
    is_name: bool = False
    memories: set[str] = field(default_factory=set)
    spelled: dict[str, list[TextPlace]] = field(default_factory=lambda: defaultdict(list))


class TopicWords:
    """The words of a topic's memories."""

    def __init__(self, texts: Sequence[TopicText]) -> None:
        self._texts = len(texts)
        self._words: dict[str, _Word] = {}
        for one in texts:
            self._read(one)
        least = 2 if self._texts >= SHARED_FROM else 1
        shared = {key: word for key, word in self._words.items() if len(word.memories) >= least}
        self._words = shared or self._words

    def list_terms(self) -> list[str]:
        """Return the index terms that the caller has to count for `choose`."""
        held: Counter[str] = Counter()
        for word in self._words.values():
            for term in word.parts:
                held[term] += len(word.memories)
        return sorted(held, key=lambda term: (-held[term], term))[:COUNTED_TERMS]

    def choose(self, holding: Mapping[str, int], *, memories: int) -> list[TextPlace]:
        """Return up to `LABEL_WORDS` words that distinguish the topic best from others, best first.

        Each is returned as a place where its most frequent spelling occurs. `holding` says how many of the namespace's
        `memories` contain a term.
        """
        weights = {
            key: weight for key, word in self._words.items() if (weight := self._weigh(word, holding, memories)) > 0
        }
        chosen: list[TextPlace] = []
        told: set[str] = set()
        for key in sorted(weights, key=lambda key: (-weights[key], key)):
            word = self._words[key]
            if word.parts & told or _overlaps(key, chosen, self._words):
                continue
            told |= word.parts
            places = max(word.spelled.values(), key=lambda places: (len(places), places[0]))
            chosen.append(places[0])
            if len(chosen) == LABEL_WORDS:
                break
        return chosen

    def _weigh(self, word: _Word, holding: Mapping[str, int], memories: int) -> float:
        held = min((holding[term] for term in word.parts if term in holding), default=0)
        everywhere = max(held, len(word.memories))
        share = len(word.memories) / max(1, self._texts)
        return share * math.log1p(memories / everywhere) * (NAME_SHARE if word.is_name else 1.0)

    def _read(self, one: TopicText) -> None:
        text = one.text[:READ_CHARS]
        named = [(start, end) for start, end in one.names if start < end <= len(text)]
        for start, end in named:
            if _is_inside(start, end, one.retired):
                continue
            parts = frozenset(terms(text[start:end]))
            if parts and end - start <= MAX_WORD_CHARS:
                self._add(" ".join(sorted(parts)), parts, text, TextPlace(one.memory_id, start, end), is_name=True)
        for match in _WORD.finditer(text):
            for start, end in _split(match):
                if end - start <= MAX_WORD_CHARS and not _touches(start, end, (*one.retired, *named)):
                    self._add_word(text, TextPlace(one.memory_id, start, end))

    def _add_word(self, text: str, place: TextPlace) -> None:
        found = [term for term in terms(text[place.start : place.end]) if len(term) > 1]
        # Take a pair of Chinese characters, or a word with a single stem in other scripts.
        if len(found) == 1 and not salience.is_light(found[0]) and salience.content_terms(found[0]):
            self._add(found[0], frozenset(found), text, place)

    def _add(self, key: str, parts: frozenset[str], text: str, place: TextPlace, *, is_name: bool = False) -> None:
        word = self._words.setdefault(key, _Word(parts))
        word.is_name |= is_name
        word.memories.add(place.memory_id)
        word.spelled[text[place.start : place.end]].append(place)


def choose_sentences(texts: Sequence[TopicText]) -> list[TextPlace]:
    """Return up to `SUMMARY_SENTENCES` sentences that cover most of what the memories say, in the order of `texts`."""
    read: list[tuple[TextPlace, str, float]] = []
    for one in texts:
        text = one.text[:READ_CHARS]
        for start, end in sentences.sentence_spans(text):
            body = text[start:end]
            if _tells(body) and not _touches(start, end, one.retired):
                read.append((TextPlace(one.memory_id, start, end), body, one.closeness))
    documents = [salience.content_terms(body) for _, body, _ in read]
    weights = salience.term_weights(documents)
    candidates = [
        salience.SentenceCandidate(
            found,
            _mass(found, weights) * salience.quality(body) * (EDGE_SHARE + (1 - EDGE_SHARE) * max(0.0, closeness)),
            len(body),
            place.memory_id,
        )
        if len(found) >= LEAST_TERMS
        else salience.SentenceCandidate(found, 0.0, len(body))
        for (place, body, closeness), found in zip(read, documents, strict=True)
    ]
    chosen = [row for row in salience.select(candidates, weights, SUMMARY_CHARS) if candidates[row].relevance > 0]
    return [read[row][0] for row in sorted(chosen[:SUMMARY_SENTENCES])]


def _mass(found: Collection[str], weights: Mapping[str, float]) -> float:
    return math.fsum(weights.get(term, 0.0) for term in found)


def _tells(body: str) -> bool:
    letters = sum(character.isalpha() or character.isspace() for character in body)
    return (
        letters >= LEAST_LETTERS * len(body) and not sentences.is_small_talk(body) and not sentences.is_question(body)
    )


def _split(match: re.Match[str]) -> list[tuple[int, int]]:
    """Return the spans of each pair of characters in a Chinese run, or else of the word."""
    start, end = match.span()
    if not is_cjk(match.group()[0]):
        return [(start, end)]
    return [(place, place + 2) for place in range(start, end - 1)]


def _overlaps(key: str, chosen: Iterable[TextPlace], words: Mapping[str, _Word]) -> bool:
    """Tell whether a pair of Chinese characters overlaps a chosen one, so that both belong to one word."""
    if not is_cjk(key[0]):
        return False
    own = {place for places in words[key].spelled.values() for place in places}
    return any(
        place.memory_id == other.memory_id and place.start < other.end and other.start < place.end
        for other in chosen
        for place in own
    )


def _is_inside(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(first <= start and end <= last for first, last in spans)


def _touches(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start < last and first < end for first, last in spans)
