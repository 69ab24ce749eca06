"""Condenses the turns of a session into a card of short extracted statements, without a model.

Sentences are sorted into buckets, ranked by what they add for their tokens, and quoted with their speaker. A card can
be rolled on: the statements of the previous card compete with those of the new turns for the same budget.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from memory.text import cues, salience, sentences
from memory.text.cues import BUCKETS
from memory.text.tokens import count_tokens

CARD_SCHEMA = "memos.memory_card.v2"
MIN_CARD_TOKENS = 160
MAX_CARD_TOKENS = 600
SOURCE_SHARE = 0.25
COMMAND_SHARE = 0.2
LONG_INPUT_CHARS = 4000
EXCERPT_CHARS = 160
EXCERPT_SHARE = 0.15
MAX_SOURCES = 16
SHORT_ANSWER_TERMS = 3
MAX_QUESTION_CHARS = 120
SUPERSEDED_SHARE = 0.5

# Relevance is the summed term weight of a statement to this power (long statements gain less), times what follows.
MASS_EXPONENT = 0.7
ROLE_WEIGHTS = {"user": 1.0, "agent": 0.8, "system": 0.6, "tool": 0.4}
BUCKET_WEIGHTS = {
    "facts": 1.0,
    "preferences": 1.1,
    "constraints": 1.3,
    "decisions": 1.3,
    "risks": 1.3,
    "actions": 1.1,
}
OLDEST_WEIGHT = 0.9

_PREFIX = re.compile(r"(?P<speaker>[^\s():：]{1,24}(?: [^\s():：]{1,24}){0,2})?(?: ?\((?P<day>\d{4}-\d{2}-\d{2})\))?: ")
_YES_NO = re.compile(r"(?:yes|yeah|yep|yup|no|nope|nah)\b|是的?|对|有|没有?|不", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Turn:
    """One memory of a session: its id, its text, who said it, in which role (user|agent|system|tool), and when."""

    id: str
    text: str
    role: str = "user"
    speaker: str = ""
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Statement:
    bucket: str
    body: str
    speaker: str
    day: str
    sources: tuple[str, ...]
    terms: frozenset[str]
    weight: float

    def item(self, dated: bool) -> str:
        label = " ".join(filter(None, (self.speaker, f"({self.day})" if dated and self.day else "")))
        return f"{label}: {self.body}" if label else self.body


def build_card(
    turns: Sequence[Turn],
    *,
    previous: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    date_every_item: bool = False,
) -> dict[str, Any]:
    """The card of `turns` (oldest first), rolled on from `previous`, an earlier card of any maker, if there is one.

    A JSON-able dict: "schema"; the BUCKETS, each a list of items "Speaker (YYYY-MM-DD): sentence", oldest first;
    "pitfalls", the same as "risks"; "commands", a list of shell commands; "period", with "from" and "to" (ISO 8601 or
    None); "raw_excerpt", a string, for long input only; "sources", for each bucket a list of lists of turn ids,
    parallel to its items. Items leave the date to the period in a card of a single day, unless `date_every_item`.

    The card without "sources" takes at most `max_tokens` (see `card_tokens`) but for the frame of an empty card, about
    80 tokens. The default is a quarter of the tokens of the turns on top of the items of the previous card, at least
    MIN_CARD_TOKENS and at most MAX_CARD_TOKENS.
    """
    earlier = previous if isinstance(previous, Mapping) else {}
    statements = _without_superseded(_without_duplicates([*_previous_statements(earlier), *_new_statements(turns)]))
    dated = date_every_item or len({statement.day for statement in statements if statement.day}) > 1
    if max_tokens is None:
        max_tokens = _default_budget(turns, earlier)

    card: dict[str, Any] = {"schema": CARD_SCHEMA, **{bucket: [] for bucket in BUCKETS}}
    card |= {"pitfalls": [], "commands": [], "period": _period(turns, earlier)}
    spare = max_tokens - card_tokens(card)
    card["commands"] = _commands(turns, earlier, int(spare * COMMAND_SHARE))
    if sum(len(turn.text) for turn in turns) > LONG_INPUT_CHARS:
        excerpt = _excerpt(turns)
        if excerpt and _item_tokens(excerpt) <= spare * EXCERPT_SHARE:
            card["raw_excerpt"] = excerpt

    chosen = _choose(statements, max_tokens - card_tokens(card), dated=dated)
    while True:
        _fill(card, [statements[position] for position in sorted(chosen)], dated=dated)
        if not chosen or card_tokens(card) <= max_tokens:
            return card
        chosen.pop()


def card_tokens(card: Mapping[str, Any]) -> int:
    """The tokens of `card` as compact JSON without its "sources"."""
    shown = {key: value for key, value in card.items() if key != "sources"}
    return count_tokens(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))


def _fill(card: dict[str, Any], statements: Sequence[_Statement], *, dated: bool) -> None:
    card["sources"] = {}
    for bucket in BUCKETS:
        members = [statement for statement in statements if statement.bucket == bucket]
        card[bucket] = [statement.item(dated) for statement in members]
        card["sources"][bucket] = [list(statement.sources) for statement in members]
    card["pitfalls"] = list(card["risks"])


def _choose(statements: Sequence[_Statement], budget: int, *, dated: bool) -> list[int]:
    weights = salience.term_weights([statement.terms for statement in statements])
    candidates = []
    for position, statement in enumerate(statements):
        mass = math.fsum(weights[term] for term in statement.terms)
        age = OLDEST_WEIGHT + (1 - OLDEST_WEIGHT) * (position + 1) / len(statements)
        copies = 2 if statement.bucket == "risks" else 1
        candidates.append(
            salience.Candidate(
                terms=statement.terms,
                relevance=mass**MASS_EXPONENT * statement.weight * age,
                cost=copies * _item_tokens(statement.item(dated)),
            )
        )
    return salience.select(candidates, weights, budget)


def _new_statements(turns: Sequence[Turn]) -> Iterator[_Statement]:
    names = frozenset(term for turn in turns for term in salience.content_terms(turn.speaker))
    question: tuple[str, Turn] | None = None
    for turn in turns:
        commands = set(cues.find_commands(turn.text))
        spoken = sentences.split_sentences(cues.split_code(turn.text)[0])
        start = 0
        if question and spoken and (question[1].speaker, question[1].role) != (turn.speaker, turn.role):
            answer = _answer(question[0], question[1], spoken[0], turn, names)
            if answer:
                start = 1
                yield answer
        for sentence in spoken[start:]:
            body = sentences.strip_fillers(sentence)
            terms = salience.content_terms(body)
            if sentence.removeprefix("$ ") in commands or sentences.is_question(body) or sentences.is_small_talk(body):
                continue
            if any(term not in names and not salience.is_light(term) for term in terms):
                statement = _statement(turn, body, terms, about=body)
                # A lone word without a cue is an exclamation.
                if len(terms - names) > 1 or statement.bucket != "facts" or sentences.is_first_person(body):
                    yield statement
        last = spoken[-1] if spoken else ""
        question = (last, turn) if sentences.is_question(last) and len(last) <= MAX_QUESTION_CHARS else None


def _answer(question: str, asked: Turn, sentence: str, turn: Turn, names: frozenset[str]) -> _Statement | None:
    """`sentence` quoted with the question it answers, if it says too little without and the question says something."""
    terms = salience.content_terms(sentence) - names
    asked_terms = salience.content_terms(question) - names
    topics = sum(1 for term in asked_terms if not salience.is_light(term))
    if not topics or len(terms) > SHORT_ANSWER_TERMS or sentences.is_question(sentence):
        return None
    yes_no = _YES_NO.match(sentence) is not None and topics > 1
    if not yes_no and (sentences.is_small_talk(sentence) or all(map(salience.is_light, terms))):
        return None
    body = f"({sentences.strip_fillers(question)}) {sentence}"
    statement = _statement(turn, body, terms | asked_terms, about=sentence)
    return replace(statement, sources=(asked.id, turn.id))


def _statement(turn: Turn, body: str, terms: frozenset[str], *, about: str) -> _Statement:
    bucket = cues.classify(body)
    return _Statement(
        bucket=bucket,
        body=body,
        speaker=" ".join(turn.speaker.split()) or (turn.role if sentences.is_first_person(body) else ""),
        day=turn.occurred_at.date().isoformat() if turn.occurred_at else "",
        sources=(turn.id,),
        terms=terms,
        weight=ROLE_WEIGHTS.get(turn.role, 1.0) * BUCKET_WEIGHTS[bucket] * salience.quality(about),
    )


def _previous_statements(earlier: Mapping[str, Any]) -> Iterator[_Statement]:
    """The items of an earlier card, oldest day first; anything that is not a string is passed over."""
    start, end = _bounds(earlier)
    only_day = start.date().isoformat() if start and end and start.date() == end.date() else ""
    all_sources = earlier.get("sources")
    found: list[_Statement] = []
    for bucket in BUCKETS:
        items = earlier.get(bucket) or (earlier.get("pitfalls") if bucket == "risks" else None)
        sources = all_sources.get(bucket) if isinstance(all_sources, Mapping) else None
        for position, item in enumerate(items if isinstance(items, list) else ()):
            if not isinstance(item, str) or not item.strip():
                continue
            ids = sources[position] if isinstance(sources, list) and position < len(sources) else None
            label = _PREFIX.match(item)
            body = " ".join(item[label.end() if label else 0 :].split())[: sentences.MAX_SENTENCE_CHARS * 2]
            known = tuple(_strings(ids))
            found.append(
                _Statement(
                    bucket=bucket,
                    body=body,
                    speaker=(label["speaker"] if label else None) or "",
                    day=(label["day"] if label else None) or only_day,
                    sources=known,
                    terms=salience.content_terms(body),
                    weight=BUCKET_WEIGHTS[bucket] * salience.quality(body),
                )
            )
    return iter(sorted(found, key=lambda statement: statement.day))


def _without_duplicates(statements: Sequence[_Statement]) -> list[_Statement]:
    """One statement, the newest, for near-identical ones, with the sources of all; repetition adds to its weight."""
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
    merged: list[_Statement] = []
    for members in sorted(groups.values(), key=lambda positions: positions[-1]):
        newest = statements[members[-1]]
        ids = list(dict.fromkeys(source for position in members for source in statements[position].sources))
        weight = newest.weight * (1 + 0.2 * math.log(max(1, len(ids))))
        merged.append(replace(newest, sources=tuple(ids[-MAX_SOURCES:]), weight=weight))
    return merged


def _without_superseded(statements: Sequence[_Statement]) -> list[_Statement]:
    """`statements` (oldest first) without those that a later one says have changed."""
    weights = salience.term_weights([statement.terms for statement in statements])
    index: dict[str, deque[int]] = {}
    dropped: set[int] = set()
    for position, statement in enumerate(statements):
        if cues.announces_change(statement.body):
            given_up = [salience.content_terms(phrase) for phrase in cues.given_up(statement.body)]
            related = {other for term in statement.terms for other in index.get(term, ())}
            dropped |= {other for other in related if _supersedes(statement, statements[other], given_up, weights)}
        for term in statement.terms:
            if not salience.is_light(term):
                index.setdefault(term, deque(maxlen=salience.POSTING_LIMIT)).append(position)
    return [statement for position, statement in enumerate(statements) if position not in dropped]


def _supersedes(
    newer: _Statement, older: _Statement, given_up: Sequence[frozenset[str]], weights: Mapping[str, float]
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


def _commands(turns: Sequence[Turn], earlier: Mapping[str, Any], budget: int) -> list[str]:
    """The latest commands that fit, oldest first."""
    found = [*_strings(earlier.get("commands")), *(found for turn in turns for found in cues.find_commands(turn.text))]
    kept: list[str] = []
    for command in dict.fromkeys(reversed(found)):
        cost = _item_tokens(command[: cues.MAX_COMMAND_CHARS])
        if cost <= budget:
            kept.append(command[: cues.MAX_COMMAND_CHARS])
            budget -= cost
    return kept[::-1]


def _excerpt(turns: Sequence[Turn]) -> str:
    opening = next((turn.text for turn in turns if turn.text.strip()), "").lstrip()
    text = " ".join(opening[: EXCERPT_CHARS * 2].split())
    return text if len(text) <= EXCERPT_CHARS else text[: EXCERPT_CHARS - 1] + "…"


def _period(turns: Sequence[Turn], earlier: Mapping[str, Any]) -> dict[str, str | None]:
    moments = [moment for moment in (*_bounds(earlier), *(turn.occurred_at for turn in turns)) if moment]
    moments.sort(key=lambda moment: moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return {"from": _iso(moments[0]), "to": _iso(moments[-1])} if moments else {"from": None, "to": None}


def _bounds(card: Mapping[str, Any]) -> tuple[datetime | None, datetime | None]:
    period = card.get("period")
    values = (period.get("from"), period.get("to")) if isinstance(period, Mapping) else (None, None)
    return _moment(values[0]), _moment(values[1])


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes").replace("+00:00", "Z")


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str) and item] if isinstance(value, list) else []


def _item_tokens(item: str) -> int:
    """The tokens of `item` in a JSON list, at most."""
    return count_tokens(json.dumps(item, ensure_ascii=False)) + 1


def _default_budget(turns: Sequence[Turn], earlier: Mapping[str, Any]) -> int:
    kept = sum(count_tokens(item) for bucket in BUCKETS for item in _strings(earlier.get(bucket)))
    added = sum(count_tokens(turn.text) for turn in turns)
    return max(MIN_CARD_TOKENS, min(MAX_CARD_TOKENS, kept + int(SOURCE_SHARE * added)))
