"""Finds the statements of a session for a card: quoted sentences with speaker, day, sources and weight.

The weight of a statement is a product of factors: its speaker's role (ROLE_WEIGHTS), its kind (BUCKET_WEIGHTS), its
form (`salience.quality`: first person, names, numbers and dates), whether it answers a question or opens the session,
and how often it was repeated.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memory.text import cues, salience, sentences
from memory.text.cues import BUCKETS
from memory.text.event_dates import add_dates, first_date, remove_dates

MAX_SOURCES = 16
SHORT_ANSWER_TERMS = 3
MAX_QUESTION_CHARS = 120
SUPERSEDED_SHARE = 0.5

ROLE_WEIGHTS = {"user": 1.0, "agent": 0.8, "system": 0.6, "tool": 0.4}
BUCKET_WEIGHTS = {
    "facts": 1.0,
    "preferences": 1.1,
    "constraints": 1.3,
    "decisions": 1.3,
    "risks": 1.3,
    "actions": 1.1,
}
# Apply in the turn after another person's question, and in the first turns of a session, which name its subject.
ANSWER_WEIGHT = 1.1
OPENING_WEIGHT = 1.3
OPENING_TURNS = 2
# Factor for the logarithm of the number of turns that repeat a statement.
REPETITION_WEIGHT = 0.2

_PREFIX = re.compile(r"(?P<speaker>[^\s():：]{1,24}(?: [^\s():：]{1,24}){0,2})?(?: ?\((?P<day>\d{4}-\d{2}-\d{2})\))?: ")
_YES_NO = re.compile(r"(?:yes|yeah|yep|yup|no|nope|nah)\b|是的?|对|有|没有?|不", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Turn:
    """A memory of a session: its id, text, role (user|agent|system|tool), speaker and time."""

    id: str
    text: str
    role: str = "user"
    speaker: str = ""
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SummaryStatement:
    """A sentence in one of the `BUCKETS`; `day` (ISO 8601) is when it was said, "" if unknown."""

    bucket: str
    body: str
    speaker: str
    day: str
    sources: tuple[str, ...]
    terms: frozenset[str]
    weight: float

    def item(self, with_day: bool) -> str:
        """Return the item of a card, "Speaker (YYYY-MM-DD): sentence", without the day if the sentence has a date."""
        day = f"({self.day})" if with_day and self.day and not first_date(self.body) else ""
        label = " ".join(filter(None, (self.speaker, day)))
        return f"{label}: {self.body}" if label else self.body


def statement_of(item: str) -> str:
    """Return the text of a card's item, without its speaker and day."""
    label = _PREFIX.match(item)
    return item[label.end() :] if label else item


def statements_of(turns: Sequence[Turn], earlier: Mapping[str, Any]) -> list[SummaryStatement]:
    """Merge the statements of an `earlier` card and of the `turns` after it, oldest first.

    Duplicates are merged, and statements that a later one changes are dropped.
    """
    found = [*_previous(earlier), *_new(turns, opening=not any(earlier.get(bucket) for bucket in BUCKETS))]
    return _without_superseded(_without_duplicates(found))


def _new(turns: Sequence[Turn], *, opening: bool) -> Iterator[SummaryStatement]:
    names = frozenset(term for turn in turns for term in salience.content_terms(turn.speaker))
    question: tuple[str, Turn] | None = None
    for place, turn in enumerate(turns):
        commands = set(cues.find_commands(turn.text))
        spoken = sentences.split_sentences(cues.split_code(turn.text)[0])
        start = 0
        answers = question is not None and (question[1].speaker, question[1].role) != (turn.speaker, turn.role)
        factor = (ANSWER_WEIGHT if answers else 1.0) * (OPENING_WEIGHT if opening and place < OPENING_TURNS else 1.0)
        answer = _answer(question, spoken[0], turn, names, factor=factor) if question and answers and spoken else None
        if answer:
            start = 1
            yield answer
        for sentence in spoken[start:]:
            body = sentences.strip_fillers(sentence)
            terms = salience.content_terms(body)
            if sentence.removeprefix("$ ") in commands or sentences.is_question(body) or sentences.is_small_talk(body):
                continue
            if any(term not in names and not salience.is_light(term) for term in terms):
                statement = _statement(turn, body, terms, about=body, factor=factor)
                # A lone word without a cue is an exclamation.
                if len(terms - names) > 1 or statement.bucket != "facts" or sentences.is_first_person(body):
                    yield statement
        last = spoken[-1] if spoken else ""
        question = (last, turn) if sentences.is_question(last) and len(last) <= MAX_QUESTION_CHARS else None


def _answer(
    question: tuple[str, Turn], sentence: str, turn: Turn, names: frozenset[str], *, factor: float
) -> SummaryStatement | None:
    """Quote `sentence` with the question it answers, if it says too little alone and the question adds something."""
    text, asked = question
    terms = salience.content_terms(sentence) - names
    terms_of_question = salience.content_terms(text) - names
    topics = sum(1 for term in terms_of_question if not salience.is_light(term))
    if not topics or len(terms) > SHORT_ANSWER_TERMS or sentences.is_question(sentence):
        return None
    yes_no = _YES_NO.match(sentence) is not None and topics > 1
    if not yes_no and (sentences.is_small_talk(sentence) or all(map(salience.is_light, terms))):
        return None
    body = f"({sentences.strip_fillers(text)}) {sentence}"
    statement = _statement(turn, body, terms | terms_of_question, about=sentence, factor=factor)
    return replace(statement, sources=(asked.id, turn.id))


def _statement(turn: Turn, body: str, terms: frozenset[str], *, about: str, factor: float) -> SummaryStatement:
    bucket = cues.classify(body)
    return SummaryStatement(
        bucket=bucket,
        body=add_dates(body, turn.occurred_at) if turn.occurred_at else body,
        speaker=" ".join(turn.speaker.split()) or (turn.role if sentences.is_first_person(body) else ""),
        day=turn.occurred_at.date().isoformat() if turn.occurred_at else "",
        sources=(turn.id,),
        terms=terms,
        weight=ROLE_WEIGHTS.get(turn.role, 1.0) * BUCKET_WEIGHTS[bucket] * salience.quality(about) * factor,
    )


def _previous(earlier: Mapping[str, Any]) -> Iterator[SummaryStatement]:
    """Yield the items of an earlier card, oldest day first; anything that isn't a string is skipped."""
    only_day = _only_day(earlier)
    all_sources = earlier.get("sources")
    found: list[SummaryStatement] = []
    for bucket in BUCKETS:
        items = earlier.get(bucket) or (earlier.get("pitfalls") if bucket == "risks" else None)
        sources = all_sources.get(bucket) if isinstance(all_sources, Mapping) else None
        for position, item in enumerate(items if isinstance(items, list) else ()):
            if not isinstance(item, str) or not item.strip():
                continue
            ids = sources[position] if isinstance(sources, list) and position < len(sources) else None
            label = _PREFIX.match(item)
            body = " ".join(item[label.end() if label else 0 :].split())[: sentences.MAX_SENTENCE_CHARS * 2]
            plain = remove_dates(body)
            found.append(
                SummaryStatement(
                    bucket=bucket,
                    body=body,
                    speaker=(label["speaker"] if label else None) or "",
                    day=(label["day"] if label else None) or only_day or first_date(body),
                    sources=tuple(strings(ids)),
                    terms=salience.content_terms(plain),
                    weight=BUCKET_WEIGHTS[bucket] * salience.quality(plain),
                )
            )
    return iter(sorted(found, key=lambda statement: statement.day))


def _only_day(card: Mapping[str, Any]) -> str:
    """Return the day of a card that covers a single day, else ""."""
    period = card.get("period")
    first, last = (period.get("from"), period.get("to")) if isinstance(period, Mapping) else (None, None)
    days = {moment[:10] for moment in (first, last) if isinstance(moment, str)}
    day = days.pop() if len(days) == 1 else ""
    return day if re.fullmatch(r"\d{4}-\d\d-\d\d", day) else ""


def strings(value: object) -> list[str]:
    """Return the non-empty strings of a list that may hold anything; [] if it isn't a list."""
    return [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else []


def _without_duplicates(statements: Sequence[SummaryStatement]) -> list[SummaryStatement]:
    """Merge near-identical statements into the newest, with the sources of all and a weight that grows with them."""
    keys = [
        (
            cues.is_negated(statement.body),
            salience.numbers(statement.body),
            statement.speaker if sentences.is_first_person(statement.body) else "",
        )
        for statement in statements
    ]
    groups: dict[int, list[int]] = {}
    for position, first in enumerate(salience.duplicate_of([statement.terms for statement in statements], keys)):
        groups.setdefault(first, []).append(position)
    merged: list[SummaryStatement] = []
    for members in sorted(groups.values(), key=lambda positions: positions[-1]):
        newest = statements[members[-1]]
        ids = list(dict.fromkeys(source for position in members for source in statements[position].sources))
        weight = newest.weight * (1 + REPETITION_WEIGHT * math.log(max(1, len(ids))))
        merged.append(replace(newest, sources=tuple(ids[-MAX_SOURCES:]), weight=weight))
    return merged


def _without_superseded(statements: Sequence[SummaryStatement]) -> list[SummaryStatement]:
    """Drop every statement that a later one changes; `statements` are ordered oldest first."""
    weights = salience.term_weights([statement.terms for statement in statements])
    index: dict[str, deque[int]] = {}
    dropped: set[int] = set()
    for position, statement in enumerate(statements):
        if cues.announces_change(statement.body):
            given_up = [salience.content_terms(phrase) for phrase in cues.find_given_up(statement.body)]
            related = {other for term in statement.terms for other in index.get(term, ())}
            dropped |= {other for other in related if _supersedes(statement, statements[other], given_up, weights)}
        for term in statement.terms:
            if not salience.is_light(term):
                index.setdefault(term, deque(maxlen=salience.POSTING_LIMIT)).append(position)
    return [statement for position, statement in enumerate(statements) if position not in dropped]


def _supersedes(
    newer: SummaryStatement, older: SummaryStatement, given_up: Sequence[frozenset[str]], weights: Mapping[str, float]
) -> bool:
    if set(newer.sources) & set(older.sources):
        return False
    if sentences.is_first_person(older.body) and older.speaker != newer.speaker:
        return False
    shared = newer.terms & older.terms
    if any(phrase and phrase <= older.terms for phrase in given_up) and (
        len(shared) > 1 or newer.bucket == older.bucket != "facts"
    ):
        return True
    common = math.fsum(weights[term] for term in shared)
    return common >= SUPERSEDED_SHARE * math.fsum(weights[term] for term in older.terms)
