"""Condenses the turns of a session into a card of short extracted statements, without a model.

Sentences are sorted into buckets, ranked by what they add for their tokens, and quoted with their speaker. A card can
be updated: the statements of the previous card compete with those of the new turns for the same budget.
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
# The lists of a card that are rendered line by line for an agent.
SECTIONS = (*BUCKETS, "shell_commands")
MIN_CARD_TOKENS = 64
MAX_CARD_TOKENS = 600
SOURCE_SHARE = 0.25
COMMAND_SHARE = 0.2
# Input with at least this many characters is quoted by its beginning.
LONG_INPUT_CHARS = 800
EXCERPT_CHARS = 160

# Relevance is the summed term weight of a statement to this power (so that long statements gain less), times its own
# weight and its age: the oldest statement has OLDEST_WEIGHT, the newest 1.
MASS_EXPONENT = 0.7
OLDEST_WEIGHT = 0.9


def build_card(
    turns: Sequence[Turn],
    *,
    previous: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    date_every_item: bool = False,
) -> dict[str, Any]:
    """Return the card of `turns` (oldest first) as a JSON-serialisable dict, updating the `previous` one, if any.

    - "schema";
    - each of `BUCKETS`: a list of items "Speaker (YYYY-MM-DD): sentence", oldest first;
    - "pitfalls" and "commands": copies of "risks" and "actions", under the names that other makers of cards use;
    - "shell_commands": a list of commands;
    - "period": the days "from" and "to" (ISO 8601 or None);
    - "raw_excerpt": a string, only for long input;
    - "sources": for each bucket a list of lists of turn ids, parallel to its items.

    Items of a card of a single day omit the date unless `date_every_item` is set. Sentences spell out what "yesterday"
    and the like mean. The lines cost at most `max_tokens` (see `card_tokens`), by default `card_budget`.
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
    """Return the fields of a card that repeat two of its buckets under other names."""
    return {"pitfalls": list(items["risks"]), "commands": list(items["actions"])}


def raw_excerpt(turns: Sequence[Turn]) -> dict[str, str]:
    """Return a field with the beginning of long input, {} for short input."""
    if sum(len(turn.text) for turn in turns) < LONG_INPUT_CHARS:
        return {}
    excerpt = _excerpt(turns)
    return {"raw_excerpt": excerpt} if excerpt else {}


def section_items(card: Mapping[str, Any], section: str) -> list[str]:
    """Return the items of one of `SECTIONS`. Cards from before `shell_commands` have them in `commands`."""
    items = card.get(section)
    if section == "shell_commands" and section not in card and card.get("commands") != card.get("actions"):
        items = card.get("commands")
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []


def card_budget(turns: Sequence[Turn], *, previous: Mapping[str, Any] | None = None) -> int:
    """Return how many tokens a card of `turns` that updates the `previous` card may take.

    It may take the tokens of the previous card plus `SOURCE_SHARE` of those of the turns, within `MIN_CARD_TOKENS` and
    `MAX_CARD_TOKENS`. The addition shrinks as the previous card gets closer to the maximum.
    """
    kept = card_tokens(previous or {})
    told = sum(count_tokens(f"- {turn.speaker or turn.role}: {turn.text}\n") for turn in turns)
    grown = kept + SOURCE_SHARE * told * max(0.0, 1 - kept / MAX_CARD_TOKENS)
    return int(min(MAX_CARD_TOKENS, max(grown, MIN_CARD_TOKENS)))


def card_tokens(card: Mapping[str, Any]) -> int:
    """Return the number of tokens of the lines of `card` that an agent gets."""
    return sum(line_tokens(section, item) for section in SECTIONS for item in section_items(card, section))


def line_prefix(section: str) -> str:
    """Return the start of an item's line: the name of its section, or "" for plain facts."""
    return {"facts": "", "shell_commands": "commands: "}.get(section, f"{section}: ")


def line_tokens(section: str, item: str) -> int:
    """Return the number of tokens of an item's line."""
    return count_tokens(f"- {line_prefix(section)}{item}\n")


def period(turns: Sequence[Turn], earlier: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return the first and the last day ("from" and "to") of the turns and of an earlier card's period."""
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
    """Return the latest shell commands of an earlier card and the turns that fit into `budget` tokens, oldest first."""
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
    """Return the day of an ISO 8601 date or time, None for anything else."""
    try:
        return datetime.fromisoformat(value).date() if isinstance(value, str) else None
    except ValueError:
        return None


def card_of(text: str) -> dict[str, Any]:
    """Parse the text of a condensation into its card."""
    card = orjson.loads(text)
    assert isinstance(card, dict)
    return card
