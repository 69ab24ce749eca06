"""What the gate says of a turn."""

from __future__ import annotations

from dataclasses import dataclass

from memory.enums import GateDecision

# From where to where in the text that was judged, in characters; the end is exclusive.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a turn was judged as it was, without quoting it.

    `rule` names the rule, its family before the first dot ("secret.password"); `says` is one sentence for a person;
    `score` is how sure the rule is (0..1); `spans` are the places in the original text, in reading order.
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

    `text` is what may be kept: redacted where the policy says so, also when the turn is quarantined, and empty when it
    is rejected. `reasons` decided, or were noted and let through; the strongest first. `worth` (0..1) says whether the
    turn is worth long-term memory and is the sum of `worth_parts` (name, points), cut off at 0 and 1. `confidence`
    (0..1) is how sure the gate is of `decision`: of a turn that is let through, that nothing is wrong with it.
    `suspected`: it is let in, and may be an attempt to steer whoever reads it.
    """

    decision: GateDecision
    text: str
    reasons: tuple[Reason, ...]
    worth: float
    worth_parts: tuple[tuple[str, float], ...]
    confidence: float
    suspected: bool = False
