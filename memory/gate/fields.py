"""Judges what accompanies a text: names, ids, titles, notes, and every string within metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from memory.enums import GateAction, GateDecision
from memory.gate.judge import judge, severest
from memory.gate.judgement import Reason
from memory.gate.policy import GatePolicy
from memory.gate.redaction import Detection, redact
from memory.gate.secrets import find_secrets

# Shorter texts are not judged.
LEAST_CHARS = 6
MOST_DEPTH = 32


@dataclass(frozen=True, slots=True)
class FieldsVerdict:
    """The verdict on fields: the severest decision on any of them, and their `values` as they may be stored.

    `findings` has the path of a field ("metadata.source.note") and the reason for each finding.
    """

    decision: GateDecision
    values: dict[str, Any]
    findings: tuple[tuple[str, Reason], ...] = ()
    suspected: bool = False

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons, each prefixed with its field's path."""
        return tuple(replace(reason, says=f"{path}: {reason.says}", spans=()) for path, reason in self.findings)


def judge_fields(fields: Mapping[str, Any], *, policy: GatePolicy) -> FieldsVerdict:
    """Judge `fields` by the rules for texts, including the names and values of nested objects and lists.

    The time is linear. Low worth, contradictions and binary data don't matter in fields.
    """
    if all(len(value) < LEAST_CHARS if isinstance(value, str) else value == {} for value in fields.values()):
        return FieldsVerdict(GateDecision.ACCEPT, dict(fields))
    gate = _find_policy_of_fields(policy)
    findings: list[tuple[str, Reason]] = []
    decisions = {GateDecision.ACCEPT}
    suspected = False

    def read(text: str, path: str, name: str) -> str:
        nonlocal suspected
        decision, kept, reasons, doubtful = _judge(text, name, gate)
        decisions.add(decision)
        suspected = suspected or doubtful
        findings.extend((path, reason) for reason in reasons)
        return kept

    def rewrite(value: Any, path: str, name: str, depth: int) -> Any:
        if isinstance(value, str):
            return read(value, path, name) if len(value) >= LEAST_CHARS else value
        if depth >= MOST_DEPTH:
            return value
        if isinstance(value, Mapping):
            return {
                (read(key, path, "") if len(key) >= LEAST_CHARS else key): rewrite(
                    inner, f"{path}.{key}", key, depth + 1
                )
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [rewrite(inner, f"{path}[{place}]", name, depth + 1) for place, inner in enumerate(value)]
        return value

    values = {name: rewrite(value, name, name, 0) for name, value in fields.items()}
    return FieldsVerdict(severest(decisions), values, tuple(findings), suspected)


@lru_cache(maxsize=256)
def _find_policy_of_fields(policy: GatePolicy) -> GatePolicy:
    return replace(
        policy, strict=False, worth_threshold=0.0, contradictions=GateAction.ACCEPT, binary=GateAction.QUARANTINE
    )


@lru_cache(maxsize=4096)
def _memoise_verdict(text: str, name: str, gate: GatePolicy) -> tuple[GateDecision, str, tuple[Reason, ...], bool]:
    return _verdict(text, name, gate)


def _judge(text: str, name: str, gate: GatePolicy) -> tuple[GateDecision, str, tuple[Reason, ...], bool]:
    """Return the decision, the text to store, reasons and suspicion; short ids and names recur, so they are cached."""
    return _memoise_verdict(text, name, gate) if len(text) <= 64 else _verdict(text, name, gate)


def _verdict(text: str, name: str, gate: GatePolicy) -> tuple[GateDecision, str, tuple[Reason, ...], bool]:
    judgement = judge(text, policy=gate)
    decision, kept, reasons = judgement.decision, judgement.text, judgement.reasons
    if decision == GateDecision.REJECT or not name:
        return decision, kept, reasons, judgement.suspected
    label = f"{name}: "
    named = [
        Detection(one.kind, one.start - len(label), one.end - len(label), one.score)
        for one in find_secrets(label + text)
        if one.start >= len(label)
    ]
    if named and kept == text:
        reasons = (
            Reason(f"secret.{named[0].kind.replace(' ', '_')}", f"It holds a {named[0].kind}.", named[0].score),
            *reasons,
        )
        acted = {GateAction.REDACT: GateDecision.ACCEPT_REDACTED, GateAction.QUARANTINE: GateDecision.QUARANTINE}
        decision = severest({decision, acted.get(gate.secrets, GateDecision.REJECT)})
        kept = redact(text, named) if gate.secrets == GateAction.REDACT else kept
    return decision, kept, reasons, judgement.suspected
