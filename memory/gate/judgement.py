"""The gate's judgement of a turn."""

from __future__ import annotations

from dataclasses import dataclass

from memory.enums import GateDecision

# Start and end (exclusive) in the judged text, in characters.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for a judgement, without quoting the turn.

    `rule` names the rule, with its family before the first dot ("secret.password"). `says` is a sentence for people,
    `score` the rule's confidence (0..1), and `spans` are the places in the original text, in reading order.
    """

    rule: str
    says: str
    score: float
    spans: tuple[Span, ...] = ()

    @property
    def family(self) -> str:
        return self.rule.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The gate's verdict on one turn.

    `text` is what may be stored: redacted where the policy says so, even if the turn is quarantined, and "" if it is
    rejected. `reasons` holds the deciding ones, then the merely noted ones, each strongest first. `worth` (0..1)
    tells whether the turn is worth long-term memory; it is the sum of `worth_parts` (name, points), limited to 0..1.
    `confidence` (0..1) is the gate's confidence in `decision`; for an accepted turn, that nothing is wrong with it.
    `suspected` marks an accepted turn that may try to steer its reader.
    """

    decision: GateDecision
    text: str
    reasons: tuple[Reason, ...]
    worth: float
    worth_parts: tuple[tuple[str, float], ...]
    confidence: float
    suspected: bool = False
