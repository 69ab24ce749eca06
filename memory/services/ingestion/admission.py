"""Asks the gate about every turn and document, and quarantines those it does not let in."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memory import audit, deadline
from memory.enums import AuditEvent, GateDecision, Role
from memory.errors import InvalidInput
from memory.gate.fields import FieldsVerdict, judge_fields
from memory.gate.judge import judge, severest
from memory.gate.judgement import Judgement, Reason
from memory.models import QuarantinedItem
from memory.models.keys import new_id
from memory.models.memory import content_hash
from memory.services.index.insert import LetIn
from memory.services.tenancy import quota
from memory.services.tenancy.namespaces import keep_namespaces
from memory.services.tenancy.notes import describe_reasons, refuse, refuse_ids
from memory.services.tenancy.policy import in_force
from memory.types import Access, NewDocument, NewMemory, Outcome, Scope

# The metadata key of a second opinion: who gave it, when, and its verdict. Clients cannot write it.
VERDICT_KEY = "memos_gate"
SUSPECTED = Reason(
    "suspected", "It may try to steer the reader: it is let in, quoted in packs, and listed for review.", 1.0
)
# Working memory shows turns of which the gate is at least this sure, if they are worth keeping.
CONFIDENT = 0.8


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """A turn with its id and the gate's judgement. Unless it is rejected, `memory.text` is the text that may be
    stored."""

    id: uuid.UUID
    scope: Scope
    memory: NewMemory
    judgement: Judgement
    let_in: LetIn

    @property
    def admitted(self) -> bool:
        return self.judgement.decision.lets_in

    @property
    def outcome(self) -> Outcome:
        """Return the outcome that the sender gets."""
        rejected = self.judgement.decision == GateDecision.REJECT
        return Outcome(self.judgement.decision, None if rejected else self.id, list_reasons(self.judgement))


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document with the gate's judgement, as in `JudgedTurn`; `id` is that of the quarantined item, if any."""

    id: uuid.UUID
    scope: Scope
    document: NewDocument
    judgement: Judgement


def judge_turn(scope: Scope, memory: NewMemory, *, place: str = "") -> JudgedTurn:
    """Judge a turn by the policy in force. Counts no quota, and reads nothing but the policy.

    `place` ("items[3].") precedes the names of its fields in errors. Raises InvalidInput for a session id that the gate
    does not let in.
    """
    deadline.check()
    policy = in_force(scope.namespace_id)
    refuse_ids({f"{place}session_id": memory.session}, gate=policy.gate)
    judgement = judge(memory.text, role=memory.role, speaker=memory.speaker, policy=policy.gate)
    fields = {"speaker": memory.speaker, "metadata": without_verdict(memory.metadata)}
    verdict = judge_fields(fields, policy=policy.gate)
    judgement = _together(judgement, verdict)
    small_talk = judgement.worth < policy.policy.worth_threshold
    confident = judgement.confidence >= CONFIDENT and not small_talk and not judgement.suspected
    let_in = LetIn(
        small_talk=small_talk,
        working_hours=policy.policy.working_memory_hours if confident else 0,
        noted={"gate": _summarise_judgement(judgement)} if judgement.reasons else {},
        suspected=judgement.suspected,
    )
    if judgement.decision != GateDecision.REJECT:
        memory = replace(memory, text=judgement.text, **verdict.values)
    return JudgedTurn(new_id(), scope, memory, judgement, let_in)


@dataclass(frozen=True, slots=True)
class Admitted:
    """The part of a change that the gate lets in: the `values` as they may be stored, perhaps redacted, and the
    reasons."""

    values: dict[str, Any]
    suspected: bool = False
    decision: GateDecision = GateDecision.ACCEPT
    reasons: tuple[Reason, ...] = ()

    def __add__(self, other: Admitted) -> Admitted:
        return Admitted(
            {**self.values, **other.values},
            self.suspected or other.suspected,
            severest((self.decision, other.decision)),
            (*self.reasons, *other.reasons),
        )

    def describe(self) -> dict[str, Any]:
        """Return the gate's verdict and reasons for the client, as for a new turn."""
        reasons = (*self.reasons, SUSPECTED) if self.suspected else self.reasons
        return {"verdict": self.decision.value, "reasons": describe_reasons(reasons)}


def admit_text(access: Access, *, namespace_id: int, text: str, role: str, speaker: str) -> Admitted:
    """Return a changed text (`text`) as the policy in force lets it in. Staff decide for themselves.

    A change cannot wait in quarantine: where a new turn would, this raises InvalidInput, which names the rules.
    """
    if access.actor.startswith("staff:"):
        return Admitted({"text": text})
    # A text that is worth little as a turn may be a good correction.
    gate = replace(in_force(namespace_id).gate, worth_threshold=0.0)
    judgement = judge(text, role=role, speaker=speaker, policy=gate)
    if not judgement.decision.lets_in:
        why = "; ".join(f"{reason.rule}: {reason.says}" for reason in judgement.reasons)
        raise InvalidInput(
            f"The gate does not let this text in ({why}). Change the text, or have staff make the change.",
            detail={"field": "text", "reasons": list_reasons(judgement)},
        )
    return Admitted({"text": judgement.text}, judgement.suspected, judgement.decision, judgement.reasons)


def admit_fields(access: Access, *, namespace_id: int, fields: Mapping[str, Any]) -> Admitted:
    """Return changed fields (by their paths: `speaker`, `metadata`) as the policy lets them in, as `admit_text` does.

    Raises InvalidInput, which names the field and the rules.
    """
    if access.actor.startswith("staff:"):
        return Admitted(dict(fields))
    verdict = judge_fields(fields, policy=in_force(namespace_id).gate)
    refuse(verdict)
    return Admitted(verdict.values, verdict.suspected, verdict.decision, verdict.reasons)


def without_verdict(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata without a second opinion that the sender made up."""
    return {name: value for name, value in metadata.items() if name != VERDICT_KEY}


def _together(judgement: Judgement, verdict: FieldsVerdict) -> Judgement:
    """Join the judgements of a text and of its fields; a suspicion is the last reason."""
    decision = severest((judgement.decision, verdict.decision))
    suspected = decision.lets_in and (judgement.suspected or verdict.suspected)
    ordered = (
        (*verdict.reasons, *judgement.reasons)
        if decision != judgement.decision
        else (
            *judgement.reasons,
            *verdict.reasons,
        )
    )
    return replace(
        judgement,
        decision=decision,
        text="" if decision == GateDecision.REJECT else judgement.text,
        reasons=(*ordered, SUSPECTED) if suspected else ordered,
        confidence=judgement.confidence
        if decision == judgement.decision
        else max((reason.score for reason in verdict.reasons), default=judgement.confidence),
        suspected=suspected,
    )


def refuse_document_fields(scope: Scope, *, ids: Mapping[str, str], fields: Mapping[str, Any]) -> None:
    """Raise InvalidInput for names of a document that the gate does not let in, before anything of it is stored."""
    gate = in_force(scope.namespace_id).gate
    refuse_ids(ids, gate=gate)
    refuse(judge_fields({**fields, "metadata": without_verdict(fields["metadata"])}, policy=gate))


def judge_document(scope: Scope, document: NewDocument) -> JudgedDocument:
    """Judge a document as `judge_turn` judges a turn: as a whole, with its title, source and metadata.

    A document is given on purpose, so it is never worth too little; otherwise the rules are those of a user's words.
    """
    deadline.check()
    gate = replace(in_force(scope.namespace_id).gate, worth_threshold=0.0)
    refuse_ids({"session_id": document.session, "document_id": document.document_id}, gate=gate)
    judgement = judge(document.text, role=Role.SYSTEM, speaker=document.title, policy=gate)
    fields = {"title": document.title, "source": document.source, "metadata": without_verdict(document.metadata)}
    verdict = judge_fields(fields, policy=gate)
    judgement = _together(judgement, verdict)
    if judgement.decision != GateDecision.REJECT:
        document = replace(document, text=judgement.text, **verdict.values)
    return JudgedDocument(new_id(), scope, document, judgement)


def within_quota(turns: Sequence[JudgedTurn], *, now: datetime) -> list[JudgedTurn]:
    """Return the turns, quarantining the ones that exceed a quota. To be called in the writing transaction.

    The first turns of each namespace are let in.
    """
    wanted = Counter(turn.scope.namespace_id for turn in turns if turn.admitted)
    granted = quota.take(wanted, now=now)
    left = {namespace_id: grant.memories for namespace_id, grant in granted.items()}
    found = []
    for turn in turns:
        namespace_id = turn.scope.namespace_id
        if turn.admitted and namespace_id in left:
            if left[namespace_id] > 0:
                left[namespace_id] -= 1
            else:
                turn = replace(turn, judgement=over_quota(turn.judgement, granted[namespace_id]))  # noqa: PLW2901
        found.append(turn)
    return found


def over_quota(judgement: Judgement, granted: quota.Granted) -> Judgement:
    """Return the judgement of a text that exceeds a quota."""
    reason = Reason(granted.rule, granted.says, 1.0)
    return replace(judgement, decision=GateDecision.QUARANTINE, reasons=(reason, *judgement.reasons), confidence=1.0)


def keep_out(turns: Iterable[JudgedTurn], *, now: datetime) -> None:
    """Store the quarantined turns, and record quarantined and rejected ones in the audit log. Inside the transaction.

    Raises NamespaceGone.
    """
    events = []
    items, scopes = [], []
    for turn in turns:
        if turn.admitted:
            continue
        memory, judgement = turn.memory, turn.judgement
        if judgement.decision == GateDecision.QUARANTINE:
            fields = _fields(turn.id, turn.scope, memory.text, memory.occurred_at or now, judgement, now=now)
            scopes.append(turn.scope)
            items.append(
                QuarantinedItem(
                    session=memory.session,
                    role=memory.role,
                    speaker=memory.speaker,
                    metadata=memory.metadata,
                    **fields,
                )
            )
        details = {"memory_id": str(turn.id), "role": memory.role, "characters": len(memory.text)}
        events.append(_event(turn.id, turn.scope, memory.session, judgement, details, now=now))
    if items:
        keep_namespaces(scopes)
        QuarantinedItem.objects.bulk_create(items)
    audit.record_many(events)


def keep_document_out(kept: JudgedDocument, *, version: int, now: datetime) -> None:
    """Store or record a document as `keep_out` does a turn. `version`: that of the text in force; 0 if there is
    none."""
    document, judgement = kept.document, kept.judgement
    if judgement.decision == GateDecision.QUARANTINE:
        fields = _fields(kept.id, kept.scope, document.text, document.occurred_at or now, judgement, now=now)
        keep_namespaces([kept.scope])
        QuarantinedItem.objects.create(
            session=document.session,
            role=Role.SYSTEM,
            speaker="",
            metadata=document.metadata,
            document={
                "document_id": document.document_id,
                "title": document.title,
                "source": document.source,
                "format": document.format,
                "version": version,
            },
            **fields,
        )
    details = {"document_id": document.document_id, "characters": len(document.text)}
    audit.record_many([_event(kept.id, kept.scope, document.session, judgement, details, now=now)])


def list_reasons(judgement: Judgement) -> list[dict[str, str]]:
    """Return the gate's reasons as clients see them."""
    return describe_reasons(judgement.reasons)


def audit_details(judgement: Judgement) -> dict[str, Any]:
    """Return the judgement for an audit event; empty without reasons."""
    return {"gate": _summarise_judgement(judgement)} if judgement.reasons else {}


def _fields(
    identity: uuid.UUID, scope: Scope, text: str, occurred_at: datetime, judgement: Judgement, *, now: datetime
) -> dict[str, Any]:
    """Return the columns that turns and documents share."""
    return {
        "id": identity,
        "namespace_id": scope.namespace_id,
        "text": text,
        "characters": len(text),
        "occurred_at": occurred_at,
        "rule": judgement.reasons[0].rule,
        "reasons": [
            {"rule": reason.rule, "says": reason.says, "score": reason.score, "spans": len(reason.spans)}
            for reason in judgement.reasons
        ],
        "confidence": judgement.confidence,
        "content_hash": content_hash(text),
        "created_at": now,
    }


def _event(
    identity: uuid.UUID,
    scope: Scope,
    session: str,
    judgement: Judgement,
    details: Mapping[str, Any],
    *,
    now: datetime,
) -> dict[str, Any]:
    rejected = judgement.decision == GateDecision.REJECT
    return audit.fields(
        scope,
        AuditEvent.INGEST_REJECT if rejected else AuditEvent.QUARANTINE,
        session=session,
        subject=str(identity),
        details={**details, "rule": judgement.reasons[0].rule, "gate": _summarise_judgement(judgement)},
        now=now,
    )


def _summarise_judgement(judgement: Judgement) -> dict[str, Any]:
    """Return the verdict, and each rule with the number of places where it applies, but never the text."""
    rules: defaultdict[str, int] = defaultdict(int)
    for reason in judgement.reasons:
        rules[reason.rule] += len(reason.spans)
    return {
        "verdict": judgement.decision.value,
        "rules": dict(rules),
        "worth": judgement.worth,
        "confidence": judgement.confidence,
    }
