"""Judges whether a turn may be stored, in which form, and whether it is worth long-term memory."""

from __future__ import annotations

from collections.abc import Iterable

from memory.enums import GateAction, GateDecision, Role
from memory.gate.detectors import DETECTORS
from memory.gate.findings import GateInput
from memory.gate.injection import FOUND, SUSPECTED
from memory.gate.judgement import Judgement, Reason
from memory.gate.policy import GatePolicy
from memory.gate.redaction import redact
from memory.gate.worth import worth

DEFAULT_POLICY = GatePolicy()

_DECISIONS = {
    GateAction.QUARANTINE: GateDecision.QUARANTINE,
    GateAction.REJECT: GateDecision.REJECT,
    GateAction.REDACT: GateDecision.ACCEPT_REDACTED,
}
_BY_SEVERITY = (GateDecision.REJECT, GateDecision.QUARANTINE, GateDecision.ACCEPT_REDACTED)


def judge(text: str, *, role: str = Role.USER, speaker: str = "", policy: GatePolicy = DEFAULT_POLICY) -> Judgement:
    """Return the verdict on one turn, which depends on nothing but the arguments, in linear time.

    Names can carry attacks as well: `speaker` is checked for injection only. Quotas and other turns are not the gate's
    concern.
    """
    turn = GateInput(text, speaker, policy)
    findings = [detect(turn) for detect in DETECTORS]
    sure = max(found.steering for found in findings)
    value = worth(text, role=role)

    acted = [(found.action, reason) for found in findings for reason in found.reasons]
    if policy.strict:
        acted.extend((GateAction.QUARANTINE, reason) for reason in _strictly(sure, value.score, policy))

    decision = severest(_DECISIONS.get(action) for action, _ in acted)
    deciding = [reason for action, reason in acted if _DECISIONS.get(action) == decision]
    others = [reason for action, reason in acted if _DECISIONS.get(action) != decision]
    marked = [mark for found in findings if found.action == GateAction.REDACT for mark in found.marks]
    return Judgement(
        decision=decision,
        text="" if decision == GateDecision.REJECT else redact(text, marked),
        reasons=(*_strongest_first(deciding), *_strongest_first(others)),
        worth=value.score,
        worth_parts=value.parts,
        confidence=_confidence(decision, deciding, sure, others),
        suspected=decision.lets_in and sure >= SUSPECTED,
    )


def _strictly(sure: float, worth_score: float, policy: GatePolicy) -> Iterable[Reason]:
    if SUSPECTED <= sure < FOUND:
        says = "It may try to steer the reader, but not surely: a strict policy lets a person decide."
        yield Reason("low_confidence", says, round(sure, 3))
    if worth_score < policy.worth_threshold:
        says = f"It is worth {worth_score:.2f}, less than the {policy.worth_threshold:.2f} that long-term memory takes."
        yield Reason("low_value", says, round(1.0 - worth_score, 3))


def severest(decisions: Iterable[GateDecision | None]) -> GateDecision:
    """Return the decision that lets in least; without any decision, accept."""
    wanted = set(decisions)
    return next((decision for decision in _BY_SEVERITY if decision in wanted), GateDecision.ACCEPT)


def _confidence(decision: GateDecision, deciding: list[Reason], sure: float, others: list[Reason]) -> float:
    if decision in (GateDecision.ACCEPT, GateDecision.ACCEPT_REDACTED):
        return round(1.0 - max((sure, *(reason.score for reason in others if reason.family != "injection"))), 3)
    steers = any(reason.family in ("injection", "hidden") for reason in deciding)
    return round(max(sure if steers else 0.0, *(reason.score for reason in deciding)), 3)


def _strongest_first(reasons: list[Reason]) -> list[Reason]:
    return sorted(reasons, key=lambda reason: -reason.score)
