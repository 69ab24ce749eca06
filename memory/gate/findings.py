"""What a detector of the gate is given, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memory.enums import GateAction
from memory.gate.judgement import Reason
from memory.gate.policy import GatePolicy
from memory.gate.redaction import Detection, without_overlaps


class GateInput(NamedTuple):
    """A turn as the gate looks at it: its text, the name of its speaker ('' if nobody says), and whose policy holds."""

    text: str
    speaker: str
    policy: GatePolicy


class GateFindings(NamedTuple):
    """What one detector found: why, and what the policy wants done for it.

    `marks` are the places that GateAction.REDACT takes out of the text. `steering` (0..1) is how surely the turn tries
    to steer whoever reads it.
    """

    action: GateAction
    reasons: Sequence[Reason]
    marks: Sequence[Detection] = ()
    steering: float = 0.0


Detector = Callable[[GateInput], GateFindings]


def explain_marks(family: str, marks: Iterable[Detection]) -> list[Reason]:
    """One reason of the `family` for each kind of `marks`."""
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
