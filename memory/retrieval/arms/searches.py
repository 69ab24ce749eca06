"""The searches that find candidates: to add one, write how it finds, and name it in a tuple below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from memory.retrieval import entity_matches, predicate, retired
from memory.retrieval.arms import WordHits, dense, lexical
from memory.retrieval.question import Question
from memory.types import Scope

# What each arm hands over: far more than top_k, so that a memory that several signals like can pass one that a single
# arm loves. Words are cheap to score, and a memory without them scores 0 for certain.
DENSE_POOL = 120
LEXICAL_POOL = 200
# What a time that the question names brings in besides.
TIME_POOL = 50


@dataclass(slots=True)
class Findings:
    """What the searches found so far, by memory id as text: `cosines` to the question, `bm25` scores, and in `mentions`
    what the entities that the question names are worth (0..1).

    `ranks`: by arm, the places of what it found (1 is first). `by_words` counted the memories that hold each term.
    """

    cosines: dict[str, float] = field(default_factory=dict)
    bm25: dict[str, float] = field(default_factory=dict)
    mentions: dict[str, float] = field(default_factory=dict)
    by_words: WordHits = field(default_factory=lambda: WordHits([], 0.0, {}))
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)

    def take_words(self, found: Findings) -> None:
        """Adds what the searches by words found elsewhere."""
        self.bm25, self.by_words = found.bm25, found.by_words
        self.ranks |= found.ranks


class Search(NamedTuple):
    """One way to find candidates: `find` adds to the findings what it found, `pool` memories at least if there are so
    many. `name` is that of the arm or signal without which it does not run; nor does it for a question to which it has
    nothing to say."""

    name: str
    find: Callable[[Scope, Question, Findings, int], None]
    applies: Callable[[Question], bool] = lambda question: True


def _find_by_words(scope: Scope, question: Question, findings: Findings, pool: int) -> None:
    findings.by_words = lexical.search(scope, question, limit=max(LEXICAL_POOL, pool))
    findings.bm25 = {hit.memory_id: hit.score for hit in findings.by_words.hits}
    findings.ranks["lexical"] = {hit.memory_id: hit.rank for hit in findings.by_words.hits}
    for memory_id, score in retired.matches(scope, question, limit=pool).items():
        findings.bm25[memory_id] = max(score, findings.bm25.get(memory_id, 0.0))


def _find_by_entities(scope: Scope, question: Question, findings: Findings, pool: int) -> None:
    findings.mentions = entity_matches.mentions(scope, question.text)


def _find_by_meaning(scope: Scope, question: Question, findings: Findings, pool: int) -> None:
    searched = question.searches_preferences
    hits = dense.search(scope, question, limit=max(DENSE_POOL, pool), preferences=searched)
    findings.cosines |= {hit.memory_id: hit.score for hit in hits}
    findings.ranks["dense"] = {hit.memory_id: hit.rank for hit in hits}


def _find_by_time(scope: Scope, question: Question, findings: Findings, pool: int) -> None:
    """What is nearest in meaning among the memories of the times that the question names."""
    then = replace(question, predicate=predicate.both(question.predicate, predicate.within(question.spans)))
    hits = dense.search(scope, then, limit=TIME_POOL, preferences=question.searches_preferences)
    findings.cosines |= {hit.memory_id: hit.score for hit in hits}


# Those that read the question's words and names run while its vector is being made; in a large namespace those by words
# go on beside those by meaning.
WORD_SEARCHES = (Search("lexical", _find_by_words),)
NAME_SEARCHES = (Search("entities", _find_by_entities),)
VECTOR_SEARCHES = (
    Search("dense", _find_by_meaning),
    Search("time", _find_by_time, lambda question: bool(question.spans)),
)
