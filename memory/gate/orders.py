"""Which sentences give the reader orders that are somebody else's: where the rules of `order_rules.py` hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from memory.gate.clauses import read_clauses
from memory.gate.judgement import Span
from memory.gate.order_rules import RULES, Rule
from memory.gate.order_screening import may_have_orders
from memory.gate.quotation import is_quoted

# Of a sentence that speaks about attacks, or tells the speaker's own wishes.
ABOUT_SHARE = 0.3
OWN_SHARE = 0.3
# Of what only two sentences together say.
PAIR_SHARE = 0.85
NEAR_CHARS = 3

# Where these are said, an order in quotation marks is told of and not given.
_TOLD = frozenset({"ABOUT_ATTACKS", "NARRATED"})
_ABOUT = frozenset({"ABOUT_ATTACKS", "CODE"})
# A report that names where to send something, or money, may be an order in disguise.
_REPORT, _NO_REPORT = "REPORTED", frozenset({"DEST", "MONEY"})


@dataclass(frozen=True, slots=True)
class Order:
    """A rule that holds of a sentence, how much that weighs (0..1), and where (in the text that was read).

    `last` is where the last of what the rule needs stands.
    """

    rule: str
    says: str
    weight: float
    span: Span
    last: Span


def find_orders(text: str) -> list[Order]:
    """The rules that hold somewhere in `text` (see `hidden.unveil`): each where it weighs the most. Linear."""
    if not may_have_orders(text):
        return []
    clauses = read_clauses(text)
    found: list[tuple[int, Order]] = []
    for place, clause in enumerate(clauses):
        around = clauses[max(0, place - 1) : place + 2]
        told = any(not _TOLD.isdisjoint(one.meanings) for one in around)
        after = clauses[place + 1] if place + 1 < len(clauses) else None
        both = {**after.meanings, **clause.meanings} if after and after.start - clause.end < NEAR_CHARS else None
        for rule, is_pair in _holding(frozenset(clause.meanings), frozenset(both) if both is not None else None):
            order = _order(rule, both, share=PAIR_SHARE) if is_pair and both else _order(rule, clause.meanings)
            if told and is_quoted(text, *order.last):
                order = replace(order, weight=order.weight * ABOUT_SHARE)
            found.append((place, order))
    return _surest(found)


@lru_cache(maxsize=4_096)
def _holding(names: frozenset[str], both: frozenset[str] | None) -> tuple[tuple[Rule, bool], ...]:
    """The rules that hold of a clause with these meanings, or (True) only of it and the next one, which have `both`."""
    found = []
    for rule in RULES:
        if _holds(rule, names):
            found.append((rule, False))
        elif rule.pair and both is not None and _holds(rule, both):
            found.append((rule, True))
    return tuple(found)


def _holds(rule: Rule, names: frozenset[str]) -> bool:
    return rule.lacks.isdisjoint(names) and not any(group.isdisjoint(names) for group in rule.needs)


def _order(rule: Rule, meanings: Mapping[str, Span], *, share: float = 1.0) -> Order:
    names = meanings.keys()
    found = [min(group & names, key=lambda name: meanings[name]) for group in rule.needs]
    weight = rule.weight * share
    if not names.isdisjoint(_ABOUT) or (_REPORT in names and names.isdisjoint(_NO_REPORT)):
        weight *= ABOUT_SHARE
    if rule.own and "FIRST" in names:
        weight *= OWN_SHARE
    spans = [meanings[name] for name in found]
    return Order(rule.name, rule.says, weight, (min(spans)[0], max(end for _, end in spans)), max(spans))


def _surest(found: Iterable[tuple[int, Order]]) -> list[Order]:
    """Of the places that are near to each other those whose rules together weigh the most; each rule once."""
    near: dict[int, dict[str, Order]] = {}
    for place, order in found:
        for shared in (place, place + 1):
            kept = near.setdefault(shared, {})
            if order.rule not in kept or kept[order.rule].weight < order.weight:
                kept[order.rule] = order
    if not near:
        return []
    best = max(near.values(), key=lambda orders: together(order.weight for order in orders.values()))
    return list(best.values())


def together(weights: Iterable[float]) -> float:
    """How much independent kinds of evidence weigh together (noisy-or)."""
    left = 1.0
    for weight in weights:
        left *= 1.0 - weight
    return 1.0 - left
