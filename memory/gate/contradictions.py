"""Finds contradictory orders in a turn: "always …" and "never …" of the same, "only in X" and "only in Y".

A correction isn't a contradiction: if the later order announces a change ("actually", "改成"), it replaces the earlier.
"""

from __future__ import annotations

import re

from memory.gate.findings import GateFindings, GateInput
from memory.gate.judgement import Reason, Span
from memory.text.analysis import terms
from memory.text.sentences import sentence_ends

SCORE = 0.7
# Minimum share of the shorter order's terms that the other must contain.
ALIKE = 0.8
LEAST_TERMS = 2
# Orders are compared in pairs, so further ones are ignored.
MOST_ORDERS = 16

_MUST = re.compile(
    r"^\W*(?:and |but |then |please |also |from now on,? |you (?:must |should |have to )?)*(?:always|must|every time"
    r"|make sure (?:to|you)|be sure to)\b"
    r"|^\W*(?:请|你)?(?:总是|永远要?|始终|一律|必须|务必|每次都?要?)",
    re.IGNORECASE,
)
_MUST_NOT = re.compile(
    r"^\W*(?:and |but |then |please |also |from now on,? |you (?:must |should )?)*(?:never|must not|mustn't|do not"
    r"|don't|under no circumstances)\b"
    r"|^\W*(?:请|你)?(?:永远不要?|绝不要?|千万不要|千万别|不要|不得|不准|禁止|别|不许)",
    re.IGNORECASE,
)
_ONLY_IN = re.compile(
    r"\b(?:only|always|must|exclusively) (?:\w+ )?(?:answer|reply|respond|write|speak"
    r"|talk)\w* (?:to me )?(?:only |exclusively )?in (?P<what>[a-z]+)"
    r"|\b(?:answer|reply|respond|write|speak|talk) (?:to me )?(?:only|always|exclusively) in (?P<other>[a-z]+)"
    r"|(?:只|总是|一律|必须|始终)[^，。！？\n]{0,4}用(?P<zh>英[语文]|中文|汉语|日[语文]|法[语文]|德[语文]|韩[语文]"
    r"|西班牙[语文])(?:回答|回复|写|说|交流)",
    re.IGNORECASE,
)
_CUES = (
    "always",
    "never",
    "must",
    "don't",
    "do not",
    "don’t",
    "only",
    "every time",
    "make sure",
    "be sure",
    "under no",
    "总是",
    "永远",
    "始终",
    "一律",
    "必须",
    "务必",
    "绝不",
    "千万",
    "不要",
    "不得",
    "不准",
    "不许",
    "禁止",
    "别",
    "只",
    "每次",
)
_CHANGES = re.compile(
    r"\b(?:actually|instead|no longer|any ?more|changed my mind|on second thou?ght|correction|scratch that|sorry"
    r"|unless|except|if|when|whenever|after|before)\b"
    r"|其实|改成|改为|不再|算了|更正|除非|除了|如果|的时候|以后",
    re.IGNORECASE,
)


def detect(turn: GateInput) -> GateFindings:
    return GateFindings(turn.policy.contradictions, find_contradictions(turn.text))


def find_contradictions(text: str) -> list[Reason]:
    """Return the pairs of orders in `text` that exclude each other as one reason, or [], in linear time."""
    lowered = text.lower()
    if sum(map(lowered.count, _CUES)) < 2:
        return []
    musts: list[tuple[Span, frozenset[str]]] = []
    nots: list[tuple[Span, frozenset[str]]] = []
    languages: dict[str, Span] = {}
    start = 0
    for end in (*sentence_ends(text), len(text)):
        sentence = text[start:end]
        span, start = (start, end), end
        if _CHANGES.search(sentence) or len(sentence) > 400:
            continue
        if only := _ONLY_IN.search(sentence):
            languages.setdefault((only["what"] or only["other"] or only["zh"]).lower(), span)
        for pattern, orders in ((_MUST_NOT, nots), (_MUST, musts)):
            if match := pattern.match(sentence):
                if len(orders) < MOST_ORDERS:
                    orders.append((span, frozenset(terms(sentence[match.end() :]))))
                break
    spans = [pair for must in musts for other in nots if _exclude(must[1], other[1]) for pair in (must[0], other[0])]
    if len(languages) > 1:
        spans.extend(languages.values())
    if not spans:
        return []
    says = "It gives orders that exclude each other."
    return [Reason("contradiction", says, SCORE, tuple(sorted(set(spans))))]


def _exclude(must: frozenset[str], must_not: frozenset[str]) -> bool:
    fewer = min(len(must), len(must_not))
    return fewer >= LEAST_TERMS and len(must & must_not) >= ALIKE * fewer
