"""Finds sentences that give the reader another's orders, by the rules of `order_rules.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from memory.gate.clauses import read_clauses
from memory.gate.judgement import Span
from memory.gate.order_rules import RULES, Rule
from memory.gate.order_screening import may_have_orders
from memory.gate.quotation import is_quoted

# Factors for a sentence that speaks about attacks, and for one that tells the speaker's own wishes.
ABOUT_SHARE = 0.3
OWN_SHARE = 0.3
# Factor for a rule that only two sentences together satisfy.
PAIR_SHARE = 0.85
NEAR_CHARS = 3

# An order in quotation marks counts as reported rather than given if the text has one of these meanings.
_TOLD = frozenset({"ABOUT_ATTACKS", "NARRATED"})
_ABOUT = frozenset({"ABOUT_ATTACKS", "CODE"})
# A report that names money, or where to send something, may be an order in disguise.
_REPORT, _NO_REPORT = "REPORTED", frozenset({"DEST", "MONEY"})


@dataclass(frozen=True, slots=True)
class Order:
    """A rule that a sentence satisfies, its weight there (0..1) and its place in the text.

    `last` is the last of the places that the rule needs.
    """

    rule: str
    says: str
    weight: float
    span: Span
    last: Span


def find_orders(text: str) -> list[Order]:
    """Return the rules that `text` (see `hidden.unveil`) satisfies, each where it weighs most, in linear time."""
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
    """Return rules that `names` satisfy, paired with True if only `both`, including the next sentence, satisfy them."""
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
    """Return the orders of the neighbouring sentences that together weigh most, with each rule once."""
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
    """Combine the weights of independent kinds of evidence (noisy-or)."""
    left = 1.0
    for weight in weights:
        left *= 1.0 - weight
    return 1.0 - left
