"""How likely it is that a claim which seems to tell of a change is about an earlier claim, where no rule is sure: a
logistic regression on what the two have in common, on the words that announce a change, and on how near they are in
meaning.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from memory.governance.updates import (
    differing,
    is_exception,
    is_joined,
    is_other_thing,
    is_same_holder,
)
from memory.text.analysis import cjk_share
from memory.text.attributes import attributes
from memory.text.claims import Claim, telling
from memory.text.clauses import clauses
from memory.text.update_cues import ANNOUNCING, cues
from memory.text.values import values

# A clause of more telling terms than these may say more than one thing.
MOST_TERMS = 10
_MOST_CLAUSES = 4
_LONG_WORDS = 25
_CUES = (
    "as before",
    "new",
    "now",
    "no longer",
    "from then",
    "at last",
    "changes",
    "over",
    "plan",
    "besides",
    "one time",
    "was",
    "said",
    "person",
    "its",
    "got",
    "aspect",
    "exclaims",
)
WEIGHTS = {
    "bias": -3.31,
    "chinese": 1.13,
    "statement": 3.81,
    "clause": 2.96,
    "chinese statement": 3.19,
    "chinese clause": 2.36,
    "clauses": 1.55,
    "length": 2.08,
    "ruled": 1.63,
    "cue: as before": -2.13,
    "cue: new": -0.46,
    "cue: now": -0.05,
    "cue: no longer": -0.45,
    "cue: from then": 0.39,
    "cue: at last": 0.30,
    "cue: changes": -0.35,
    "cue: over": 0.45,
    "cue: plan": -0.19,
    "cue: besides": -0.34,
    "cue: one time": -0.75,
    "cue: was": -0.50,
    "cue: said": -0.64,
    "cue: person": -0.17,
    "cue: its": -0.95,
    "cue: got": -0.56,
    "cue: aspect": 0.88,
    "cue: exclaims": 0.48,
    "changes": -0.57,
    "ends": 0.30,
    "was": -0.23,
    "copulas": -0.94,
    "same verb": -1.06,
    "same person": 0.43,
    "other person": -0.63,
    "new name": 0.92,
    "names differ": -0.32,
    "other value": 0.37,
    "numbered apart": -1.52,
    "other thing": -0.17,
    "terms": -0.43,
    "share of the earlier": -0.44,
    "share of the newer": 0.73,
    "same subject": -0.31,
    "subjects apart": -0.39,
    "further subject": -0.52,
    "two subjects": -0.42,
    "share of the subject": -0.59,
    "subject is object": 0.36,
    "value is subject": 0.25,
    "value is over": 0.34,
    "value stays": -0.39,
    "no value": 0.06,
}


class Nearness(NamedTuple):
    """Cosines (−1..1) of an earlier clause with the newer statement, and with its clause."""

    statement: float
    clause: float


def announces(claim: Claim, said: str) -> bool:
    """Whether a claim of the statement `said` may tell that something is another than before."""
    return claim.asserts and (
        claim.changes or bool(attributes(claim.clause.text)) or not ANNOUNCING.isdisjoint(cues(said))
    )


def may_replace(new: Claim, old: Claim, said: str) -> bool:
    """Whether nothing forbids it: the newer, in the statement `said`, announces something, is no question, plan,
    quotation, memory, addition or exception, and both may be about the same holder."""
    if new.past or new.adds or new.quotes or new.asks or not announces(new, said):
        return False
    if not old.asserts or old.asks or old.quotes:
        return False
    return is_same_holder(new, old) and not is_exception(new, old)


def is_simple(old: Claim) -> bool:
    """Whether a clause says one thing only, so that it can go as a whole when that is over."""
    return not is_joined(old) and len(telling(old.topic)) <= MOST_TERMS and len(old.values) < 2


def likelihood(new: Claim, old: Claim, said: str, nearness: Nearness, *, ruled: bool) -> float:
    """0..1: how likely `new`, in the statement `said`, replaces `old`, of two claims that `may_replace` one another.

    `ruled`: a rule of `updates` says so."""
    found = features(new, old, said, nearness, ruled=ruled)
    total = math.fsum(WEIGHTS[name] * value for name, value in found.items())
    return 1 / (1 + math.exp(-total))


def features(new: Claim, old: Claim, said: str, nearness: Nearness, *, ruled: bool) -> dict[str, float]:
    """What the likelihood is reckoned from, by the names of WEIGHTS; every one within −1..1."""
    chinese = cjk_share(old.clause.text) > 0.5
    found = cues(said)
    return {
        "bias": 1.0,
        "chinese": float(chinese),
        "statement": 0.0 if chinese else nearness.statement,
        "clause": 0.0 if chinese else nearness.clause,
        "chinese statement": nearness.statement if chinese else 0.0,
        "chinese clause": nearness.clause if chinese else 0.0,
        "clauses": min(len(clauses(said)), _MOST_CLAUSES) / _MOST_CLAUSES,
        "length": min(_words(old.clause.text, chinese=chinese) / _LONG_WORDS, 1.0),
        "ruled": float(ruled),
        **{f"cue: {name}": float(name in found) for name in _CUES},
        **_of_claims(new, old),
        **_of_topics(new, old, "over" in found or "no longer" in found),
    }


def _words(text: str, *, chinese: bool) -> float:
    return len(text) / 2 if chinese else float(len(text.split()))


def _of_claims(new: Claim, old: Claim) -> dict[str, float]:
    """What the claims are of, each by itself."""
    return {
        "changes": float(new.changes),
        "ends": float(new.ends),
        "was": float(old.past or old.tense == "past"),
        "copulas": float(new.verb == old.verb == "be"),
        "same verb": float(bool(new.verb) and new.verb == old.verb != "be"),
        "same person": float(bool((new.people | new.mentions) & old.people)),
        "other person": float(bool((new.people | new.mentions) - old.mentions)),
        "new name": float(bool(new.names - old.names)),
        "names differ": float(bool(new.names - old.names) and bool(old.names - new.names)),
        "other value": float(bool(differing(new.values, old.values))),
        "numbered apart": float(_numbered_apart(new, old)),
        "other thing": float(is_other_thing(new, old)),
    }


def _numbered_apart(new: Claim, old: Claim) -> bool:
    """Whether their subjects bear other numbers ("turbine 1", "turbine 2")."""
    return bool(differing(values(_subject(new)), values(_subject(old))))


def _subject(claim: Claim) -> str:
    clause = claim.clause
    return clause.text[: max(0, clause.predicate - clause.start)]


def _of_topics(new: Claim, old: Claim, over: bool) -> dict[str, float]:
    """What their subjects and what is said of these share. `over`: the newer says that something ended."""
    mine, theirs = telling(new.topic), telling(old.topic)
    common = mine & theirs
    subject, former = telling(new.subject), telling(old.subject)
    said, held = telling(new.objects) - subject, telling(old.objects) - former
    kept = bool(held & mine)
    return {
        "terms": min(len(common), 3) / 3,
        "share of the earlier": len(common) / max(1, len(theirs)),
        "share of the newer": len(common) / max(1, len(mine)),
        "same subject": float(bool(subject) and subject == former),
        "subjects apart": float(bool(subject) and bool(former) and not subject & former),
        "further subject": float(bool(subject & former) and bool(subject - theirs)),
        "two subjects": float(bool(subject - theirs) and bool(former - mine)),
        "share of the subject": len(former & mine) / len(former) if former else 0.5,
        "subject is object": float(bool(former & said)),
        "value is subject": float(bool(subject & held) and not over),
        "value is over": float(kept and over),
        "value stays": float(kept and not over),
        "no value": float(not held),
    }
