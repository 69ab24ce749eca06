"""Condenses the turns of a session into a card of short extracted statements, without a model.

Sentences are sorted into buckets, ranked by what they add for their tokens, and quoted with their speaker. A card can
be rolled on: the statements of the previous card compete with those of the new turns for the same budget.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import orjson

from memory.text import cues, salience
from memory.text.cues import BUCKETS
from memory.text.statements import SummaryStatement, Turn, statements_of
from memory.text.tokens import count_tokens

CARD_SCHEMA = "memos.memory_card.v2"
# The lists of a card that an agent is told line by line.
SECTIONS = (*BUCKETS, "shell_commands")
MIN_CARD_TOKENS = 64
MAX_CARD_TOKENS = 600
SOURCE_SHARE = 0.25
COMMAND_SHARE = 0.2
# Turns of so many characters together are quoted by their beginning.
LONG_INPUT_CHARS = 800
EXCERPT_CHARS = 160

# Relevance is the summed term weight of a statement to this power (long statements gain less), times its own weight
# and its age: the oldest statement has OLDEST_WEIGHT, the newest 1.
MASS_EXPONENT = 0.7
OLDEST_WEIGHT = 0.9


def build_card(
    turns: Sequence[Turn],
    *,
    previous: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    date_every_item: bool = False,
) -> dict[str, Any]:
    """The card of `turns` (oldest first), rolled on from `previous`, an earlier card of any maker, if there is one.

    A JSON-able dict: "schema"; the BUCKETS, each a list of items "Speaker (YYYY-MM-DD): sentence", oldest first;
    "pitfalls" and "commands", the same as "risks" and "actions", as other makers of cards name them; "shell_commands",
    a list of such; "period", the days "from" and "to" (ISO 8601 or None); "raw_excerpt", a string, for long input only;
    "sources", for each bucket a list of lists of turn ids, parallel to its items. Items leave the date to the period in
    a card of a single day, unless `date_every_item`; what "yesterday" and the like mean is told in the sentence.

    Its lines cost at most `max_tokens` (see `card_tokens`), by default `card_budget`.
    """
    earlier = previous if isinstance(previous, Mapping) else {}
    statements = statements_of(turns, earlier)
    with_day = date_every_item or len({statement.day for statement in statements if statement.day}) > 1
    budget = card_budget(turns, previous=earlier) if max_tokens is None else max_tokens

    commands = latest_commands(turns, earlier, int(budget * COMMAND_SHARE))
    spare = budget - sum(line_tokens("shell_commands", command) for command in commands)
    chosen = [statements[position] for position in sorted(_choose(statements, spare, with_day=with_day))]
    members = {bucket: [one for one in chosen if one.bucket == bucket] for bucket in BUCKETS}
    items = {bucket: [one.item(with_day) for one in found] for bucket, found in members.items()}
    card: dict[str, Any] = {
        "schema": CARD_SCHEMA,
        **items,
        **mirrors(items),
        "shell_commands": commands,
        "period": period(turns, earlier),
        "sources": {bucket: [list(one.sources) for one in found] for bucket, found in members.items()},
    }
    return {**card, **raw_excerpt(turns)}


def mirrors(items: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The fields of a card that say again what two of its buckets say."""
    return {"pitfalls": list(items["risks"]), "commands": list(items["actions"])}


def raw_excerpt(turns: Sequence[Turn]) -> dict[str, str]:
    """The field with the beginning of long input; none for short."""
    if sum(len(turn.text) for turn in turns) < LONG_INPUT_CHARS:
        return {}
    excerpt = _excerpt(turns)
    return {"raw_excerpt": excerpt} if excerpt else {}


def section_items(card: Mapping[str, Any], section: str) -> list[str]:
    """The items of one of the SECTIONS. Cards from before `shell_commands` have those as `commands`."""
    items = card.get(section)
    if section == "shell_commands" and section not in card and card.get("commands") != card.get("actions"):
        items = card.get("commands")
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []


def card_budget(turns: Sequence[Turn], *, previous: Mapping[str, Any] | None = None) -> int:
    """The tokens that a card of `turns` after the `previous` one may take.

    SOURCE_SHARE of those of the turns on top of those of the previous card, at least MIN_CARD_TOKENS and at most
    MAX_CARD_TOKENS. The nearer the previous card is to the most, the less is added: a card grows ever more slowly.
    """
    kept = card_tokens(previous or {})
    told = sum(count_tokens(f"- {turn.speaker or turn.role}: {turn.text}\n") for turn in turns)
    grown = kept + SOURCE_SHARE * told * max(0.0, 1 - kept / MAX_CARD_TOKENS)
    return int(min(MAX_CARD_TOKENS, max(grown, MIN_CARD_TOKENS)))


def card_tokens(card: Mapping[str, Any]) -> int:
    """The tokens of the lines that an agent is handed of `card`."""
    return sum(line_tokens(section, item) for section in SECTIONS for item in section_items(card, section))


def line_prefix(section: str) -> str:
    """What an item's line opens with: the name of its section, unless it is a plain fact."""
    return {"facts": "", "shell_commands": "commands: "}.get(section, f"{section}: ")


def line_tokens(section: str, item: str) -> int:
    """The tokens of an item's line."""
    return count_tokens(f"- {line_prefix(section)}{item}\n")


def period(turns: Sequence[Turn], earlier: Mapping[str, Any] | None) -> dict[str, str | None]:
    """The first and the last day, "from" and "to", of the turns and of an earlier card's period."""
    told = (earlier or {}).get("period")
    known = [_day(told.get(name)) for name in ("from", "to")] if isinstance(told, Mapping) else []
    said = [turn.occurred_at.date() for turn in turns if turn.occurred_at]
    days = sorted([day for day in known if day] + said)
    return {"from": days[0].isoformat(), "to": days[-1].isoformat()} if days else {"from": None, "to": None}


def _choose(statements: Sequence[SummaryStatement], budget: int, *, with_day: bool) -> list[int]:
    weights = salience.term_weights([statement.terms for statement in statements])
    candidates = []
    for position, statement in enumerate(statements):
        mass = math.fsum(weights[term] for term in statement.terms)
        age = OLDEST_WEIGHT + (1 - OLDEST_WEIGHT) * (position + 1) / len(statements)
        candidates.append(
            salience.SentenceCandidate(
                terms=statement.terms,
                relevance=mass**MASS_EXPONENT * statement.weight * age,
                cost=line_tokens(statement.bucket, statement.item(with_day)),
                turn=statement.sources[-1] if statement.sources else "",
            )
        )
    return salience.select(candidates, weights, budget)


def latest_commands(turns: Sequence[Turn], earlier: Mapping[str, Any], budget: int) -> list[str]:
    """The latest shell commands of an earlier card and the turns that fit into `budget` tokens, oldest first."""
    said = [command for turn in turns for command in cues.find_commands(turn.text)]
    found = [*section_items(earlier, "shell_commands"), *said]
    kept: list[str] = []
    for command in dict.fromkeys(reversed(found)):
        cost = line_tokens("shell_commands", command[: cues.MAX_COMMAND_CHARS])
        if cost <= budget:
            kept.append(command[: cues.MAX_COMMAND_CHARS])
            budget -= cost
    return kept[::-1]


def _excerpt(turns: Sequence[Turn]) -> str:
    opening = next((turn.text for turn in turns if turn.text.strip()), "").lstrip()
    text = " ".join(opening[: EXCERPT_CHARS * 2].split())
    return text if len(text) <= EXCERPT_CHARS else text[: EXCERPT_CHARS - 1] + "…"


def _day(value: object) -> date | None:
    """The day of an ISO 8601 date or moment."""
    try:
        return datetime.fromisoformat(value).date() if isinstance(value, str) else None
    except ValueError:
        return None


def card_of(text: str) -> dict[str, Any]:
    """The card that a condensation's text spells."""
    card = orjson.loads(text)
    assert isinstance(card, dict)
    return card
