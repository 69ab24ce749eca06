"""Screens out texts that can't contain orders, so that most need no search for every phrase of the lexicon.

The words of a sentence decide which rules are still possible. Only the phrases that those need are searched for, until
none of them can match. This doesn't decide whether a rule matches: what it forbids isn't checked, nor who is addressed.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache, lru_cache
from typing import NamedTuple

from memory.gate.clauses import ReadSentence, has_chinese, read_words
from memory.gate.lexicon import PHRASES, Phrase
from memory.gate.order_rules import RULES, Rule

_phrases: defaultdict[str, list[Phrase]] = defaultdict(list)
for _phrase in PHRASES:
    _phrases[_phrase.concept].append(_phrase)
_bits = {meaning: 1 << place for place, meaning in enumerate(_phrases)}


class Need(NamedTuple):
    """Meanings that only phrases can have, one of which must occur; `bits` has the bit of each."""

    bits: int
    meanings: tuple[str, ...]


Needs = tuple[Need, ...]


def may_have_orders(text: str) -> bool:
    """Return False only if `text` (see `hidden.unveil`) satisfies no rule of `order_rules.py`, in linear time."""
    if has_chinese(text):
        return True
    before: _Sentence | None = None
    for clause in read_words(text):
        sentence = _Sentence(clause, text)
        if sentence.meets_any(_list_needs(sentence.names, pairs=False)):
            return True
        if before is not None:
            both = before.names | sentence.names
            if sentence.meets_any(_list_needs(both, pairs=True), before):
                return True
        before = sentence
    return False


class _Sentence:
    """A sentence with the meanings of its words, which remembers the phrases that were searched for in it."""

    def __init__(self, clause: ReadSentence, text: str) -> None:
        self.names = frozenset(clause.meanings)
        self._text = text[clause.start : clause.end]
        # Bits of meanings that were found, and of meanings that were not.
        self._present = 0
        self._absent = 0

    def meets_any(self, alternatives: tuple[Needs, ...], before: _Sentence | None = None) -> bool:
        """Tell whether the sentence, or the one before it, has all that one of the alternatives needs."""
        for needs in alternatives:
            for need in needs:
                if not (before is not None and before._has(need)) and not self._has(need):
                    break
            else:
                return True
        return False

    def _has(self, need: Need) -> bool:
        bits, meanings = need
        if bits & self._present:
            return True
        if bits & ~self._absent:
            for meaning in meanings:
                if not _bits[meaning] & self._absent and self._look_for(meaning):
                    return True
        return False

    def _look_for(self, meaning: str) -> bool:
        for phrase in _phrases[meaning]:
            if phrase.search(self._text):
                self._present |= _bits[meaning]
                return True
        self._absent |= _bits[meaning]
        return False


@lru_cache(maxsize=4_096)
def _list_needs(names: frozenset[str], *, pairs: bool) -> tuple[Needs, ...]:
    """Return what each possible rule needs besides `names`, in the order of the searches.

    Rules that need other words than `names` are left out.
    """
    left = (_read_needs(names, rule) for rule in RULES if rule.pair or not pairs)
    ordered = {tuple(sorted(needs, key=_turn_of)) for needs in left if needs is not None}
    return tuple(map(_make_needs, sorted(ordered, key=lambda needs: [*map(_turn_of, needs)])))


@cache
def _make_needs(groups: tuple[frozenset[str], ...]) -> Needs:
    """Share one object among equal needs: there are a few hundred, and each list of `_list_needs` has some forty."""
    return tuple(map(_make_need, groups))


@cache
def _make_need(meanings: frozenset[str]) -> Need:
    in_turn = sorted(meanings, key=lambda meaning: (_turns[meaning], meaning))
    return Need(sum(_bits[meaning] for meaning in in_turn), tuple(in_turn))


def _read_needs(names: frozenset[str], rule: Rule) -> tuple[frozenset[str], ...] | None:
    needs = []
    for group in rule.needs:
        if group.isdisjoint(names):
            by_phrases = frozenset(meaning for meaning in group if meaning in _phrases)
            if not by_phrases:
                return None
            needs.append(by_phrases)
    return tuple(needs)


def _turn_of(meanings: frozenset[str]) -> int:
    return max(_turns[meaning] for meaning in meanings)


def _order_searches() -> dict[str, int]:
    """Return the order in which to search for meanings.

    While nothing is found, the cheapest searches should rule out the most rules (greedy set cover: Chvatal 1979, "A
    greedy heuristic for the set-covering problem"). Long patterns are expensive.
    """
    left = [needs for rule in RULES if (needs := _read_needs(frozenset(), rule)) is not None]
    lengths = {meaning: sum(len(one.pattern.pattern) for one in phrases) for meaning, phrases in _phrases.items()}
    turns: dict[str, int] = {}

    def cost(meanings: frozenset[str]) -> float:
        new = sum(lengths[meaning] for meaning in meanings if meaning not in turns)
        return new / sum(meanings in needs for needs in left)

    while left:
        best = min({group for needs in left for group in needs}, key=lambda group: (cost(group), sorted(group)))
        turns |= {meaning: len(turns) for meaning in best if meaning not in turns}
        left = [needs for needs in left if best not in needs]
    return {**dict.fromkeys(lengths, len(turns)), **turns}


_turns = _order_searches()
