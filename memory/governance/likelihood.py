"""How likely it is that a claim which seems to tell of a change is about an earlier claim, where no rule is sure: a
logistic regression on what the two have in common, on the words that announce a change, and on how near they are in
meaning.

`bench/settling/learn.py` makes the weights, from hand-written pairs of messages of which half only look like updates,
and from the learn half of the set beside it. They hold for cosines of all-MiniLM-L6-v2, for Chinese through its
glosses. An N weighs one and a half U, so that 0.75 stands for few wrong retirements. By cross-validation, of the pairs
written beside the rules 23 % (English) and 29 % (Chinese) of the updates are at least so likely and 0.9 % and 0.8 % of
the others; of the pairs of people who did not know the rules 4 to 21 % and 2 to 5 %; of two facts about the same person
or thing, on sheets that were held out, none of 766, and of two unrelated messages none of 5,901. Boosted stumps and
trees of depth two and three were no better, nor were cosines of single words.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from memory.governance.updates import SURE, differing, is_joined
from memory.text.analysis import cjk_share
from memory.text.attributes import attributes
from memory.text.claims import Claim, telling
from memory.text.clauses import clauses
from memory.text.holders import is_another, is_exception, is_other_thing, is_same_holder
from memory.text.update_cues import ANNOUNCING, OUTRIGHT, addresses, cues
from memory.text.values import values

# A clause of more telling terms than these may say more than one thing.
MOST_TERMS = 10
# Verbs that say what something is; of others, what one does to two things holds for both.
_STATES = frozenset(("be", "是", "姓", "叫", "在"))
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
)
WEIGHTS = {
    "bias": -3.32,
    "chinese": 0.01,
    "statement": 4.13,
    "clause": 2.00,
    "chinese statement": 3.67,
    "chinese clause": 2.88,
    "clauses": 1.38,
    "length": 0.84,
    "ruled": 2.02,
    "ruled surely": 0.07,
    "cue: as before": -2.09,
    "cue: new": -0.30,
    "cue: now": 0.14,
    "cue: no longer": -0.37,
    "cue: from then": 0.35,
    "cue: at last": 0.40,
    "cue: changes": -0.17,
    "cue: over": 0.52,
    "cue: plan": -0.46,
    "cue: besides": -0.79,
    "cue: one time": -0.49,
    "cue: was": -0.53,
    "cue: said": -0.13,
    "cue: person": -0.46,
    "cue: its": -0.80,
    "cue: got": -0.42,
    "cue: aspect": 0.71,
    "changes": -0.54,
    "ends": 0.24,
    "was": -0.54,
    "copulas": -0.81,
    "same person": -1.18,
    "new name": 0.82,
    "names differ": -0.09,
    "other value": 0.46,
    "numbered apart": -1.51,
    "terms": -0.60,
    "share of the earlier": -0.40,
    "share of the newer": 0.66,
    "same subject": -0.41,
    "subjects apart": -0.32,
    "further subject": -0.40,
    "two subjects": -0.26,
    "share of the subject": -0.16,
    "subject is object": 0.48,
    "value is subject": 0.03,
    "value is over": 0.99,
    "value stays": 0.28,
    "no value": 0.17,
}


class Nearness(NamedTuple):
    """Cosines (−1..1) of an earlier clause with the newer statement, and with its clause."""

    statement: float
    clause: float


class Meanings(Protocol):
    """How near texts are in meaning, of those whose meaning is known."""

    def know(self, statement: str, clause: str, former: str) -> bool:
        """Whether a newer statement, its clause and an earlier clause are among them."""
        ...

    def measure(self, statement: str, clause: str, formers: Collection[str]) -> Mapping[str, Nearness]:
        """How near each of the earlier clauses `formers` is to a newer statement and its clause; all are known."""
        ...


class NoMeanings:
    """Of no text the meaning is known: what changes is found by rules alone."""

    def know(self, statement: str, clause: str, former: str) -> bool:
        return False

    def measure(self, statement: str, clause: str, formers: Collection[str]) -> Mapping[str, Nearness]:
        return {}


def announces(claim: Claim, said: str) -> bool:
    """Whether a claim of the statement `said` may tell that something is another than before."""
    return claim.asserts and (
        claim.changes or bool(attributes(claim.clause.text)) or not ANNOUNCING.isdisjoint(cues(said))
    )


def says_so(claim: Claim, said: str) -> bool:
    """Whether a claim of the statement `said` tells outright that something is another than before, or over."""
    return claim.changes or not OUTRIGHT.isdisjoint(cues(said))


def may_replace(new: Claim, old: Claim, said: str, *, ruled: bool) -> bool:
    """Whether nothing forbids it. `ruled`: a rule of `updates` finds it."""
    return is_told(new, old, said) and not any(vetoes(new, old, said, ruled=ruled).values())


def is_told(new: Claim, old: Claim, said: str) -> bool:
    """Whether the newer, in the statement `said`, announces something of the same holder, and is no question, plan,
    quotation, memory, addition or exception."""
    if new.past or new.adds or is_another(new, old) or new.quotes or new.asks or not announces(new, said):
        return False
    if not old.asserts or old.asks or old.quotes:
        return False
    return is_same_holder(new, old) and not is_exception(new, old)


def vetoes(new: Claim, old: Claim, said: str, *, ruled: bool) -> dict[str, bool]:
    """What forbids it by itself, however near the two are. The weights are learned beside these, as if they were
    features: else what they explain would be laid to others."""
    said_of_two = new.verb == old.verb and new.verb not in _STATES and not (new.ends or new.negated)
    # "I weigh 81 kg now" says nothing new but the value.
    another_value = new.changes and differing(new.values, old.values) and telling(new.topic) <= telling(old.topic)
    return {
        "other thing": is_other_thing(new, old),
        # In talk between people it is a reply ("so proud of you"), and no fact about who says it.
        "addressee": addresses(old.clause.text) or addresses(new.clause.text),
        "other person": bool((new.people | new.mentions) - old.mentions),
        "same verb": bool(new.verb) and said_of_two and not ruled and not another_value,
        # A fact of its own, about one of whom much else is known.
        "unannounced": not ruled and not says_so(new, said),
    }


def is_simple(old: Claim) -> bool:
    """Whether a clause says one thing only, so that it can go as a whole when that is over."""
    return not is_joined(old) and len(telling(old.topic)) <= MOST_TERMS and len(old.values) < 2


def likelihood(new: Claim, old: Claim, said: str, nearness: Nearness, *, rule: float) -> float:
    """0..1: how likely `new`, in the statement `said`, replaces `old`, of two claims that `may_replace` one another.

    `rule`: how sure a rule of `updates` is that it does, 0 without one."""
    found = features(new, old, said, nearness, rule=rule)
    total = math.fsum(WEIGHTS[name] * value for name, value in found.items())
    return 1 / (1 + math.exp(-total))


def features(new: Claim, old: Claim, said: str, nearness: Nearness, *, rule: float) -> dict[str, float]:
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
        "ruled": float(rule > 0),
        "ruled surely": float(rule >= SURE),
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
        "same person": float(bool((new.people | new.mentions) & old.people)),
        "new name": float(bool(new.names - old.names)),
        "names differ": float(bool(new.names - old.names) and bool(old.names - new.names)),
        "other value": float(bool(differing(new.values, old.values))),
        "numbered apart": float(_differ_in_numbers(new, old)),
    }


def _differ_in_numbers(new: Claim, old: Claim) -> bool:
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
