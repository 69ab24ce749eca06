"""The gate's one question: may this turn be stored, as what, and is it worth long-term memory?"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from memory.enums import GateAction, GateDecision, Role
from memory.gate.binary import find_binary
from memory.gate.contradictions import find_contradictions
from memory.gate.hidden import find_hidden
from memory.gate.injection import FOUND, SUSPECTED, find_injection
from memory.gate.judgement import Judgement, Reason
from memory.gate.personal_data import find_personal_data
from memory.gate.policy import GatePolicy
from memory.gate.redaction import Detection, redact, without_overlaps
from memory.gate.secrets import find_secrets
from memory.gate.worth import worth

DEFAULT_POLICY = GatePolicy()

_DECISIONS = {
    GateAction.QUARANTINE: GateDecision.QUARANTINE,
    GateAction.REJECT: GateDecision.REJECT,
    GateAction.REDACT: GateDecision.ACCEPT_REDACTED,
}
_BY_SEVERITY = (GateDecision.REJECT, GateDecision.QUARANTINE, GateDecision.ACCEPT_REDACTED)


def judge(text: str, *, role: str = Role.USER, speaker: str = "", policy: GatePolicy = DEFAULT_POLICY) -> Judgement:
    """The verdict on one turn; depends on nothing but its arguments. Linear in the length of `text`.

    A name can carry an attack as well as a text: `speaker` is looked at for injection only. Quotas, and what other
    turns say, are not the gate's to know.
    """
    secrets = find_secrets(text)
    personal = (
        find_personal_data(text, kinds=policy.personal_kinds, region=policy.region)
        if policy.personal_data != GateAction.OFF
        else []
    )
    sure, steering = _steering(text, speaker=speaker)
    value = worth(text, role=role)

    acted: list[tuple[GateAction, Reason]] = [
        *((policy.secrets, reason) for reason in _reasons("secret", secrets)),
        *((policy.personal_data, reason) for reason in _reasons("personal_data", personal)),
        *((policy.injection if sure >= FOUND else GateAction.ACCEPT, reason) for reason in steering),
        *((policy.contradictions, reason) for reason in find_contradictions(text)),
        *((policy.binary, reason) for reason in _binary(text, secrets)),
    ]
    if policy.strict:
        acted.extend((GateAction.QUARANTINE, reason) for reason in _strictly(sure, value.score, policy))

    decision = severest(_DECISIONS.get(action) for action, _ in acted)
    deciding = [reason for action, reason in acted if _DECISIONS.get(action) == decision]
    others = [reason for action, reason in acted if _DECISIONS.get(action) != decision]
    marked = [
        found
        for action, group in ((policy.secrets, secrets), (policy.personal_data, personal))
        if action == GateAction.REDACT
        for found in group
    ]
    return Judgement(
        decision=decision,
        text="" if decision == GateDecision.REJECT else redact(text, marked),
        reasons=(*_strongest_first(deciding), *_strongest_first(others)),
        worth=value.score,
        worth_parts=value.parts,
        confidence=_confidence(decision, deciding, sure, others),
        suspected=decision.lets_in and sure >= SUSPECTED,
    )


def _binary(text: str, secrets: list[Detection]) -> list[Reason]:
    """What is no text beside the secrets: a private key alone is no file."""
    found = find_binary(text)
    return found if found and (not secrets or find_binary(redact(text, secrets))) else []


def _steering(text: str, *, speaker: str) -> tuple[float, list[Reason]]:
    sure, reasons = find_injection(text)
    hidden = find_hidden(text)
    for reason in hidden:
        sure = 1.0 - (1.0 - sure) * (1.0 - reason.score)
    named = _speaker_steers(speaker) if speaker else 0.0
    if named >= FOUND:
        hidden.append(Reason("injection.speaker", "The speaker's name tries to steer the reader.", round(named, 3)))
        sure = max(sure, named)
    return sure, [*reasons, *hidden]


@lru_cache(maxsize=4096)
def _speaker_steers(speaker: str) -> float:
    return max((find_injection(speaker)[0], *(reason.score for reason in find_hidden(speaker))))


def _reasons(family: str, found: Iterable[Detection]) -> list[Reason]:
    """One reason for each kind of `found`."""
    kinds: dict[str, list[Detection]] = {}
    for one in without_overlaps(found):
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


def _strictly(sure: float, worth_score: float, policy: GatePolicy) -> Iterable[Reason]:
    if SUSPECTED <= sure < FOUND:
        says = "It may try to steer the reader, but not surely: a strict policy lets a person decide."
        yield Reason("low_confidence", says, round(sure, 3))
    if worth_score < policy.worth_threshold:
        says = f"It is worth {worth_score:.2f}, less than the {policy.worth_threshold:.2f} that long-term memory takes."
        yield Reason("low_value", says, round(1.0 - worth_score, 3))


def severest(decisions: Iterable[GateDecision | None]) -> GateDecision:
    """Of several decisions the one that lets in least; without any it is let in as it is."""
    wanted = set(decisions)
    return next((decision for decision in _BY_SEVERITY if decision in wanted), GateDecision.ACCEPT)


def _confidence(decision: GateDecision, deciding: list[Reason], sure: float, others: list[Reason]) -> float:
    if decision in (GateDecision.ACCEPT, GateDecision.ACCEPT_REDACTED):
        return round(1.0 - max((sure, *(reason.score for reason in others if reason.family != "injection"))), 3)
    steers = any(reason.family in ("injection", "hidden") for reason in deciding)
    return round(max(sure if steers else 0.0, *(reason.score for reason in deciding)), 3)


def _strongest_first(reasons: list[Reason]) -> list[Reason]:
    return sorted(reasons, key=lambda reason: -reason.score)
