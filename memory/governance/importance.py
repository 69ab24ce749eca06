"""Rates the importance of a memory from 0 to 1, as a sum of named parts.

Six parts are read from the memory when it is written: who said it, how specific it is, whether it has names, whether it
has numbers or dates, whether it is a standing order, and whether the gate takes it for small talk. The sweep adds three
that are learned later: repetition, people's marks, and use by agents. A sum, unlike a product, lets no part hide
another; the shares keep it within 0..1 without clipping. The parts are those of "importance" in Park et al. 2023
(Generative Agents) and of the salience features of Kupiec, Pedersen & Chen 1995, without asking a model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

from memory.enums import Role
from memory.text.orders import is_standing_order
from memory.text.salience import is_light

BASE = 0.30
# Users know about themselves; an agent mostly repeats or advises; a tool's output is soon outdated.
ROLE_SHARES: dict[str, float] = {Role.USER: 0.06, Role.AGENT: 0.02, Role.SYSTEM: 0.02, Role.TOOL: 0.0}
SPECIFICITY_SHARE = 0.20
# Number of content terms that earns 63 % of the share. A Chinese character or pair counts as a third, because a word of
# two characters makes three of them.
SPECIFIC_TERMS = 8.0
CJK_TERM = 1 / 3
MANY_TERMS = 40.0
FIRST_CJK = "\u3040"
NAMES_SHARE = 0.07
NUMBERS_SHARE = 0.07
# Numbers of names and numbers that earn the whole share; half as many earn half.
ENOUGH_NAMES, ENOUGH_NUMBERS = 2, 2
# Names and numbers are searched only in this much of a text, which bounds the cost.
READ_CHARS = 600
# Keeps even "Be brief." from being an episode: an order holds until it is taken back. The sum is still at most 1.
ORDER_SHARE = 0.08
REPETITION_SHARE = 0.06
MOST_REPEATS = 8
# Subtracted from turns of too little worth (memory.gate.worth), which makes unspecific ones episodes.
SMALL_TALK_SHARE = -0.12
# Subtracted from a possible prompt injection until a person has reviewed it.
SUSPECTED_SHARE = -0.20
FEEDBACK_SHARE = 0.18
# Number of marks that earns half of the share.
FEEDBACK_HALF = 1.0
ACCESS_SHARE = 0.06
MOST_USES = 32
DECIMALS = 4
_MAY_ORDER = (Role.USER, Role.SYSTEM)

# Matches a capital inside a sentence, an acronym, or words in quotation marks or Chinese title marks.
_NAME = re.compile(r"(?<=[a-z0-9,;:’'] )(?!I\b)[A-Z]\w|\b[A-Z]{2,}\b|[“「《『][^”」》』]{2,40}[”」》』]")
_NUMBER = re.compile(r"\d+|[一二三四五六七八九十百千万两]+(?=[个天周月年点号日元块次人岁])")


@dataclass(frozen=True, slots=True)
class Learned:
    """Facts about a memory that become known after it was written.

    `repeats` counts the namespace's memories with the same text, including this one; `useful` and `not_useful` count
    judgements of it as a hit (RelevanceJudgement); `uses` counts the packs that contained it.
    """

    repeats: int = 1
    useful: int = 0
    not_useful: int = 0
    uses: int = 0


NOTHING_LEARNED = Learned()


@dataclass(frozen=True, slots=True)
class Importance:
    """The importance as a `value`, and its named `shares`, which sum to it up to rounding."""

    value: float
    shares: dict[str, float]


def importance(
    text: str,
    role: str,
    terms: Collection[str],
    learned: Learned = NOTHING_LEARNED,
    *,
    small_talk: bool = False,
    suspected: bool = False,
) -> Importance:
    """Compute the importance (0..1) of a memory with the distinct index terms `terms`."""
    specific = specificity(terms)
    shares = {
        "base": BASE,
        "role": ROLE_SHARES.get(role, 0.0),
        "specificity": SPECIFICITY_SHARE * specific,
        "names": NAMES_SHARE * _measure_share(_NAME, text, ENOUGH_NAMES),
        "numbers": NUMBERS_SHARE * _measure_share(_NUMBER, text, ENOUGH_NUMBERS),
    }
    if small_talk:
        shares["small_talk"] = SMALL_TALK_SHARE
    if suspected:
        shares["suspected"] = SUSPECTED_SHARE
    if learned is not NOTHING_LEARNED:
        # Repeating "Thanks!" a hundred times doesn't make it news.
        shares["repetition"] = REPETITION_SHARE * specific * _of_logarithm(learned.repeats - 1, MOST_REPEATS - 1)
        marks = learned.useful - learned.not_useful
        shares["feedback"] = FEEDBACK_SHARE * marks / (abs(marks) + FEEDBACK_HALF)
        shares["access"] = ACCESS_SHARE * _of_logarithm(learned.uses, MOST_USES)
    if role in _MAY_ORDER and is_standing_order(text[:READ_CHARS]):
        shares["order"] = min(ORDER_SHARE, 1.0 - sum(shares.values()))
    shares = {name: round(share, DECIMALS) for name, share in shares.items()}
    return Importance(max(0.0, round(sum(shares.values()), DECIMALS)), shares)


def specificity(terms: Collection[str]) -> float:
    """Rate how specific a text is by its distinct content terms, from 0 to 1."""
    count = 0.0
    for term in terms:
        if term[0] >= FIRST_CJK:
            count += CJK_TERM
        elif not is_light(term):
            count += 1.0
        if count >= MANY_TERMS:
            return 1.0
    return 1.0 - math.exp(-count / SPECIFIC_TERMS)


def _measure_share(pattern: re.Pattern[str], text: str, enough: int) -> float:
    """Return the share of `enough` matches that the text has, reading no further than necessary."""
    return sum(1 for _ in islice(pattern.finditer(text, 0, READ_CHARS), enough)) / enough


def _of_logarithm(count: int, most: int) -> float:
    return math.log1p(min(max(count, 0), most)) / math.log1p(most)
