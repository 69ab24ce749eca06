"""The input and the output of the gate's detectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memory.enums import GateAction
from memory.gate.judgement import Reason
from memory.gate.policy import GatePolicy
from memory.gate.redaction import Detection, without_overlaps


class GateInput(NamedTuple):
    """A turn as the gate sees it: its text, the name of its speaker ("" if unknown), and the policy."""

    text: str
    speaker: str
    policy: GatePolicy


class GateFindings(NamedTuple):
    """The findings of one detector, and the action that the policy asks for.

    `marks` are the places that `GateAction.REDACT` removes from the text. `steering` (0..1) is the probability that the
    turn tries to steer its reader.
    """

    action: GateAction
    reasons: Sequence[Reason]
    marks: Sequence[Detection] = ()
    steering: float = 0.0


Detector = Callable[[GateInput], GateFindings]


def explain_marks(family: str, marks: Iterable[Detection]) -> list[Reason]:
    """Return one reason of the `family` for each kind of `marks`."""
    kinds: dict[str, list[Detection]] = {}
    for one in without_overlaps(marks):
        kinds.setdefault(one.kind, []).append(one)
    return [
        Reason(
            f"{family}.{kind.replace(' ', '_').replace('-', '')}",
            f"It holds {'an' if kind[0] in 'aei' else 'a'} {kind}."
            if len(those) == 1
            else f"It holds {len(those)} of: {kind}.",
            max(one.score for one in those),
            tuple((one.start, one.end) for one in those),
        )
        for kind, those in kinds.items()
    ]
