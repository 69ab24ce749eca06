"""Ranks the sentences of a session by how much they say for their cost, and finds near-duplicates.

Selection is greedy, by a relevance that falls with the terms already covered: maximal marginal relevance (Carbonell &
Goldstein 1998) by weighted term coverage, scaled by cost (Lin & Bilmes 2010, "Multi-document summarization via budgeted
maximization of submodular functions"). Further sentences of the same turn gain less (the diversity reward of Lin &
Bilmes 2011, "A class of submodular functions for document summarization"). Gains are re-evaluated lazily (Minoux 1978).
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from memory.text import sentences
from memory.text.analysis import is_cjk, terms

NOVELTY_SHARE = 0.8
# Factor for the gain of each further sentence of the same turn.
SAME_TURN_SHARE = 0.5
DUPLICATE_SIMILARITY = 0.75

LIGHT_WEIGHT = 0.35
CJK_PAIR_WEIGHT = 0.5
POSTING_LIMIT = 64

FIRST_PERSON_WEIGHT = 1.6
SECOND_PERSON_WEIGHT = 0.7
REACTION_WEIGHT = 0.5
ANNOTATION_WEIGHT = 0.6
NAME_WEIGHT = 1.15
NUMBER_WEIGHT = 1.25

_CJK_FUNCTION = frozenset(
    "的了是在我你他她它们这那就也都和与及吗呢吧啊呀哦嗯很还又才个之而且但把被给让对从到着过得地不没会要能可么什怎谁哪"
)
# Stems of adverbs that don't change the meaning.
_ADVERBS = frozenset(
    "absolut actual also definit even ever exact just much probabl realli still super total veri".split()
)
# Stems of words that are frequent in conversations about anything.
_LIGHT = frozenset(
    """alway amaz anyth awesom beauti bet bit bye can cool correct could cute day delici enjoy everyon everyth excit
    fantast feel felt find found fun gave get give glad go goe gone good gorgeous got great guess happi hear
    heard help hey hi hope incred interest keep kept kind knew know let like look lot love made make mani may
    mayb might need never new next nice oh ok okay peopl perfect pleas pretti proud put right said saw say see
    seem seen someon someth sorri sort start sure sweet take talk tell thank thing think thought time today told
    took tri true use want watch way went wish wonder would wow ye yeah""".split()
)

_NAME = re.compile(
    r"(?<=[^.!?\s] )[A-Z](?!\b)[\w'’-]*|\b[A-Z]{2,}\b|[a-z][A-Z]|[\"“「《『][^\"”」》』]{2,40}[\"”」》』]"
)
_NUMBER = re.compile(
    r"\d+(?:[.,:/-]\d+)*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|november|december|yesterday"
    r"|tomorrow|tonight|(?:last|next) (?:week|month|year|night|summer|winter|fall|spring|weekend)|ago)\b"
    r"|[一二两三四五六七八九十百千万]+(?:[个天周月年点号日元块次人岁]|小时|分钟)|(?:周|星期|礼拜)[一二三四五六日天末]"
    r"|[昨明][天晚]|后天|[上下]周|去年|明年",
    re.IGNORECASE,
)
_SECOND_PERSON = re.compile(r"\byour?\b|[你您]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SentenceCandidate:
    """A sentence to choose from: content terms, relevance (>= 0), cost in tokens (> 0), and turn (empty: its own)."""

    terms: frozenset[str]
    relevance: float
    cost: int
    turn: str = ""


def content_terms(text: str) -> frozenset[str]:
    """Return the index terms of `text` that carry content; for Chinese, the pairs without function characters."""
    return frozenset(term for term in terms(text) if not _is_function(term))


def is_light(term: str) -> bool:
    """Tell whether `term` belongs to a word that most conversations contain."""
    return term in _LIGHT


def quality(body: str) -> float:
    """Score how informative `body` looks, from 1.0: by whom it speaks of, and by names, numbers and dates."""
    score = 1.0
    if sentences.is_reaction(body):
        score *= REACTION_WEIGHT
    elif sentences.is_first_person(body):
        score *= FIRST_PERSON_WEIGHT
    if _SECOND_PERSON.search(body):
        score *= SECOND_PERSON_WEIGHT
    if body.startswith(("[", "【")):
        score *= ANNOTATION_WEIGHT
    if _NAME.search(body):
        score *= NAME_WEIGHT
    if _NUMBER.search(body):
        score *= NUMBER_WEIGHT
    return score


def numbers(text: str) -> tuple[str, ...]:
    """Return the numbers, weekdays, months and relative dates of `text`, sorted, to compare sentences by."""
    return tuple(sorted({number.lower() for number in _NUMBER.findall(text)}))


def term_weights(documents: Sequence[Collection[str]]) -> dict[str, float]:
    """Weigh each term of `documents`, which holds one collection of terms per sentence.

    A term that recurs belongs to the topic of the session, but one in every sentence distinguishes nothing. The weight
    is (1 + ln df) * ln(1 + n / df), reduced for light words and for the overlapping pairs of Chinese characters.
    """
    frequency = Counter(term for document in documents for term in set(document))
    count = len(documents)
    return {term: (1 + math.log(df)) * math.log(1 + count / df) * _specificity(term) for term, df in frequency.items()}


def select(candidates: Sequence[SentenceCandidate], weights: Mapping[str, float], budget: int) -> list[int]:
    """Return the positions of the candidates to keep, best first; their costs add up to at most `budget` tokens."""
    covered: set[str] = set()
    told: Counter[str] = Counter()
    chosen: list[int] = []
    heap = [(-_gain(candidate, weights, covered, told), position) for position, candidate in enumerate(candidates)]
    heapq.heapify(heap)
    while heap and budget > 0:
        _, position = heapq.heappop(heap)
        candidate = candidates[position]
        if candidate.cost > budget:
            continue
        gain = -_gain(candidate, weights, covered, told)
        if heap and gain > heap[0][0]:
            heapq.heappush(heap, (gain, position))
            continue
        chosen.append(position)
        covered |= candidate.terms
        if candidate.turn:
            told[candidate.turn] += 1
        budget -= candidate.cost
    return chosen


def duplicate_of(documents: Sequence[frozenset[str]], keys: Sequence[object]) -> list[int]:
    """Return for each document the position of the first near-identical one, which may be its own.

    Documents are near-identical if their keys are equal and the Jaccard similarity of their terms is at least
    `DUPLICATE_SIMILARITY`. Only documents that share one of their rarest terms are compared (prefix filtering, Bayardo,
    Ma & Srikant 2007), and only the latest `POSTING_LIMIT` for each term, so that the time is linear.
    """
    frequency = Counter(term for document in documents for term in document)
    index: dict[tuple[object, str], deque[int]] = {}
    first: list[int] = []
    for position, document in enumerate(documents):
        ranked = sorted(document, key=lambda term: (frequency[term], term))
        prefix = ranked[: len(ranked) - math.ceil(DUPLICATE_SIMILARITY * len(ranked)) + 1]
        seen = dict.fromkeys(other for term in prefix for other in index.get((keys[position], term), ()))
        same = next((other for other in seen if _jaccard(document, documents[other]) >= DUPLICATE_SIMILARITY), position)
        first.append(same)
        if same == position:
            for term in prefix:
                index.setdefault((keys[position], term), deque(maxlen=POSTING_LIMIT)).append(position)
    return first


def _gain(candidate: SentenceCandidate, weights: Mapping[str, float], covered: set[str], told: Counter[str]) -> float:
    total = math.fsum(weights.get(term, 0.0) for term in candidate.terms)
    new = math.fsum(weights.get(term, 0.0) for term in candidate.terms if term not in covered)
    novelty = new / total if total else 0.0
    share = SAME_TURN_SHARE ** told[candidate.turn]
    return candidate.relevance * (1 - NOVELTY_SHARE + NOVELTY_SHARE * novelty) * share / candidate.cost


def _jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared) if shared else 0.0


def _is_function(term: str) -> bool:
    if not is_cjk(term[0]):
        return term in _ADVERBS
    return len(term) == 1 or not _CJK_FUNCTION.isdisjoint(term)


def _specificity(term: str) -> float:
    if is_cjk(term[0]):
        return CJK_PAIR_WEIGHT
    return LIGHT_WEIGHT if term in _LIGHT else 1.0
