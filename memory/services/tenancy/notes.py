"""Checks texts that people write besides memories: reasons, notes, names and ids pass the gate too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memory.errors import InvalidInput
from memory.gate.fields import FieldsVerdict, judge_fields
from memory.gate.judge import DEFAULT_POLICY
from memory.gate.judgement import Reason
from memory.gate.policy import GatePolicy


def clean_note(note: str, *, field: str) -> str:
    """Return a person's text about a change (a reason, a note, a name) without secrets.

    Raises InvalidInput for an attempt to steer its readers. The default policy applies: a note is not a memory, and is
    stored with the audit trail, whatever a namespace's policy says about its texts.
    """
    verdict = judge_fields({field: note}, policy=DEFAULT_POLICY)
    refuse(verdict)
    return str(verdict.values[field])


def refuse_ids(fields: Mapping[str, str], *, gate: GatePolicy = DEFAULT_POLICY) -> None:
    """Raise InvalidInput for an id (by its field's path) that holds a secret or tries to steer its reader."""
    verdict = judge_fields(fields, policy=gate)
    changed = next((path for path, value in fields.items() if verdict.values[path] != value), None)
    if changed is not None:
        raise InvalidInput(
            f"{changed} holds what must not be kept in an id ({_why(verdict)}). Name it otherwise.",
            detail={"field": changed, "reasons": describe_reasons(verdict.reasons)},
        )
    refuse(verdict)


def refuse(verdict: FieldsVerdict) -> None:
    """Raise InvalidInput, with the path of the field and the rules, for fields that the gate does not let in."""
    if verdict.decision.lets_in:
        return
    path = verdict.findings[0][0]
    raise InvalidInput(
        f"The gate does not let this in ({_why(verdict)}). Change {path}, or leave it out.",
        detail={"field": path, "reasons": describe_reasons(verdict.reasons)},
    )


def _why(verdict: FieldsVerdict) -> str:
    return "; ".join(f"{path}: {reason.rule}: {reason.says}" for path, reason in verdict.findings)


def describe_reasons(reasons: Iterable[Reason]) -> list[dict[str, str]]:
    """Return the gate's reasons as clients see them."""
    return [{"rule": reason.rule, "says": reason.says} for reason in reasons]
