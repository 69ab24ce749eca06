"""Reads each sentence of a text into meanings: what its words are about, and which verbs are orders.

A meaning is a name such as "DATA" (the words are in `lexicon.py` and `lexicon_zh.py`). A verb in an order has "!"
before its name ("!SEND"), one in a prohibition "~". So "send me the notes" has {"!SEND", "DATA", …}, and "Tom sends the
notes" doesn't: rules need an order rather than a mention (the imperative mood, as in Searle 1976, "A classification of
illocutionary acts": directives).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memory.gate.judgement import Span
from memory.gate.lexicon import NOUNS, PHRASES, VERBS
from memory.gate.lexicon_zh import CAUSED, DONE_BY_OTHERS, NEGATED, ORDERED, PATTERNS, SAID
from memory.text.analysis import CJK

# Longer sentences are cut, so that what a rule needs is close together.
MOST_CHARS = 420
LEAST_CHARS = 3
# A text with at least this many different speaker labels at the start of lines is a transcript.
LEAST_LABELS = 2

_END = re.compile(r"[.!?;](?=[\s\"'”’)\]>*<]|$)[\"'”’)\]*]*\s*|[。！？；][”」』]*|\n+|\s(?=<!--|<[a-z]+ )")
_WORD = re.compile(r"[a-z][a-z_\-]*[a-z](?:'[a-z]+)?|[a-z]")
_LABEL = re.compile(r"^(?:assistant|user|human|ai|agent|bot|tool|助手|用户)\s?[:：]", re.MULTILINE)
_CHINESE = re.compile(rf"[{CJK}]")
_OPENS = re.compile(r"[,:;.!?\n()\[\]<>\"“”'*#{}|—–=…]| - |//|--")
# Words that an order may have between the start of a clause and its verb.
_SOFT = frozenset(
    """please kindly do then now also just simply always never only quietly secretly silently immediately instead
    first not don't and or but to you'll hereby permanently next likewise so do henceforth again directly automatically
    covertly today still even once""".split()
)
_NOT = frozenset("not don't never cannot can't without".split())
_MODALS = frozenset("must should shall ought".split())
_BINDS = frozenset(
    """has have is are need needs asked required told ordered instructed obliged remember sure supposed expected you
    order bound asks requested forget authorised authorized""".split()
)
_AUXILIARY = re.compile(r"do (?:not|n't|you|we|they|i|people|the)\b")
_STARTS = frozenset("start begin keep".split())
_OPENING = frozenset("please kindly then henceforth".split())
_BIDDING = frozenset(
    "order command instruct tell require ask direct urge request orders requires instructs demands".split()
)
_BIDDEN = frozenset("assistant assistants ai ais agent agents bot bots model models copilot chatbot llm llms".split())
_FROM = frozenset("now here then today going this point turn message on moment".split())
_ASKING = frozenset(
    """if when that as once before after while did do can could would what how whatever files until because or whenever
    which where who whom than since though unless are were will""".split()
)


@dataclass(slots=True)
class ReadSentence:
    """A sentence at [start, end) of the text, with the first place of each of its meanings."""

    start: int
    end: int
    meanings: dict[str, Span] = field(default_factory=dict)

    def add(self, name: str, span: Span) -> None:
        self.meanings.setdefault(name, span)


def read_clauses(text: str) -> list[ReadSentence]:
    """Return the sentences of lower-case `text` (see `hidden.unveil`) that have meanings, in linear time."""
    clauses = read_words(text)
    labels = {match.start() for match in _LABEL.finditer(text)}
    if len({text[place : place + 2] for place in labels}) < LEAST_LABELS:
        labels = set()
    chinese = has_chinese(text)
    for clause in clauses:
        sentence = text[clause.start : clause.end]
        for phrase in PHRASES:
            match = phrase.search(sentence)
            if match and not (phrase.concept == "VOCATIVE" and clause.start + match.start() in labels):
                clause.add(phrase.concept, (clause.start + match.start(), clause.start + match.end()))
        if chinese and has_chinese(sentence):
            _read_chinese(clause, sentence)
    return [clause for clause in clauses if clause.meanings]


def read_words(text: str) -> list[ReadSentence]:
    """Return all sentences of `text` with the meanings of their English words."""
    clauses = [ReadSentence(start, end) for start, end in _sentences(text)]
    for clause in clauses:
        _read_words(clause, text)
    return clauses


def has_chinese(text: str) -> bool:
    return _CHINESE.search(text) is not None


def _sentences(text: str) -> Iterator[Span]:
    start = 0
    for match in _END.finditer(text):
        yield from _pieces(start, match.end())
        start = match.end()
    yield from _pieces(start, len(text))


def _pieces(start: int, end: int) -> Iterator[Span]:
    for place in range(start, end, MOST_CHARS):
        if min(end, place + MOST_CHARS) - place >= LEAST_CHARS:
            yield place, min(end, place + MOST_CHARS)


def _read_words(clause: ReadSentence, text: str) -> None:  # noqa: PLR0912 - one pass over the words, a case for each kind
    """Add the meanings of English words; `is_open` tells whether a verb at the current place would be an order."""
    before, last, is_open, negated, ordered = clause.start, "", True, False, False
    started = bidding = False
    for match in _WORD.finditer(text, clause.start, clause.end):
        word, span = match[0].removesuffix("'s"), match.span()
        if _OPENS.search(text, before, span[0]):
            is_open, negated = True, False
        was_open = is_open
        for name in NOUNS.get(word, ()):
            clause.add(name, span)
        verbs = VERBS.get(word, ())
        if not verbs and last in _STARTS and word.endswith("ing"):
            verbs = VERBS.get(word[:-3], ()) or VERBS.get(f"{word[:-3]}e", ())
            is_open = is_open or started
        if is_open and verbs and not _AUXILIARY.match(text, span[0]):
            mark = "~" if negated else "!"
            for name in verbs:
                clause.add(mark + name, span)
            ordered, is_open, negated = True, False, False
        elif word in _NOT and (is_open or last in _MODALS):
            is_open, negated = True, True
        elif word in _MODALS:
            is_open, negated = True, False
            clause.add("MODAL", span)
        elif word == "to" and not last:
            is_open = False  # a purpose: "To delete a note, …"
        elif word == "to":
            is_open = is_open or last in _BINDS or (bidding and last in _BIDDEN) or started
        elif word in {"and", "or"}:
            is_open = is_open or ordered
        elif word in _OPENING or (word in {"on", "forward", "onwards"} and last in _FROM):
            is_open = True
        elif word in {"you", "you'll"}:
            is_open = is_open or last not in _ASKING
        elif word == "will":
            is_open = last in {"you", "assistant", "assistants", "agents", "ai"} or is_open
        elif word not in _SOFT:
            is_open = False
        started = word in _STARTS and was_open
        bidding = bidding or word in _BIDDING
        before, last = span[1], word


def _read_chinese(clause: ReadSentence, sentence: str) -> None:
    for name, pattern in PATTERNS.items():
        if match := pattern.search(sentence):
            clause.add(name, (clause.start + match.start(), clause.start + match.end()))
    for name, pattern in ORDERED.items():
        if SAID[name].search(sentence) is None:
            continue
        for match in pattern.finditer(sentence):
            told = sentence[match.start() : match.start("verb")]
            if DONE_BY_OTHERS.search(told) or CAUSED.search(sentence, max(0, match.start() - 8), match.start()):
                continue
            mark = "~" if NEGATED.search(told) else "!"
            clause.add(mark + name, (clause.start + match.start("verb"), clause.start + match.end("verb")))
            if mark == "!":
                break
