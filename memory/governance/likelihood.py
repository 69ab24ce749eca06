"""How likely it is that a claim which says that something changed is about an earlier claim that shares few words with
it: a logistic regression on what the two have in common and how near they are in meaning.

The weights come from `bench/settling/learn.py` (pairs of messages that do and do not replace one another, half of them
close look-alikes; cross-validated) and hold for cosines of all-MiniLM-L6-v2, for Chinese through its glosses. The rules
of `updates` come first: what they can decide is never asked here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from memory.governance.updates import is_exception, is_joined, is_other_thing, is_same_holder
from memory.text.analysis import cjk_share
from memory.text.claims import Claim, telling

# A clause of more telling terms than these may say more than one thing.
MOST_TERMS = 10
WEIGHTS = {
    "bias": -2.93,
    "statement": 3.29,
    "clause": 2.75,
    "chinese statement": 3.30,
    "chinese clause": 1.99,
    "chinese": 0.93,
    "share of terms": 0.77,
    "terms": 0.60,
    "past": 0.09,
    "copulas": 0.44,
    "same verb": -1.08,
    "new name": -0.18,
    "other subject": 0.17,
    "two subjects": -0.63,
}


class Nearness(NamedTuple):
    """Cosines (−1..1) of an earlier clause with the newer statement, and with its clause."""

    statement: float
    clause: float


def may_replace(new: Claim, old: Claim) -> bool:
    """Whether nothing speaks against it: the newer says that something changed, is no question, plan, quotation,
    addition or exception, and both may be about the same holder and thing."""
    if not new.changes or not new.asserts or new.past or new.adds or new.quotes:
        return False
    if not old.asserts or old.asks or old.quotes:
        return False
    if not is_same_holder(new, old) or is_other_thing(new, old) or is_exception(new, old):
        return False
    # "He doesn't eat with his fingers any more" ends nothing that he eats.
    about = telling(old.topic) - telling(old.subject) - {old.verb}
    return not (new.negated or new.ends) or not about or bool(about & telling(new.topic))


def is_simple(old: Claim) -> bool:
    """Whether a clause says one thing only, so that it can go as a whole when that is over."""
    return not is_joined(old) and len(telling(old.topic)) <= MOST_TERMS and len(old.values) < 2


def likelihood(new: Claim, old: Claim, nearness: Nearness) -> float:
    """0..1: how likely `new` replaces `old`, of two claims that `may_replace` one another."""
    total = math.fsum(WEIGHTS[name] * value for name, value in features(new, old, nearness).items())
    return 1 / (1 + math.exp(-total))


def features(new: Claim, old: Claim, nearness: Nearness) -> dict[str, float]:
    """What the likelihood is reckoned from, by the names of WEIGHTS."""
    mine, theirs = telling(new.topic), telling(old.topic)
    common = mine & theirs
    chinese = cjk_share(old.clause.text) > 0.5
    subject, former = telling(new.subject), telling(old.subject)
    return {
        "bias": 1.0,
        "statement": 0.0 if chinese else nearness.statement,
        "clause": 0.0 if chinese else nearness.clause,
        "chinese statement": nearness.statement if chinese else 0.0,
        "chinese clause": nearness.clause if chinese else 0.0,
        "chinese": float(chinese),
        "share of terms": len(common) / max(1, len(mine | theirs)),
        "terms": float(min(len(common), 3)),
        "past": float(old.past or old.tense == "past"),
        "copulas": float(new.verb == old.verb == "be"),
        "same verb": float(bool(new.verb) and new.verb == old.verb != "be"),
        "new name": float(bool(new.names - old.names)),
        "other subject": float(bool(subject) and bool(former) and not subject & former),
        "two subjects": float(bool(subject - theirs) and bool(former - mine)),
    }
