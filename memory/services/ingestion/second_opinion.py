"""Asks a configured language model about texts that the gate's rules suspect, and stores its verdict.

Only texts admitted as suspected are sent: a quarantined or rejected text stays so, whatever a model would say. A model
that does not answer changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

import orjson

from memory.enums import Degradation, GateAction, GateDecision, ModelPurpose
from memory.errors import LLMUnavailable
from memory.gate.judgement import Judgement, Reason
from memory.providers.llm_gate import find_gate
from memory.services.ingestion.admission import SUSPECTED, VERDICT_KEY, JudgedDocument, JudgedTurn, audit_details
from memory.services.tenancy.policy import in_force

log = logging.getLogger("memos.gate")

# Reported in `degraded` when the model did not answer.
NO_SECOND_OPINION = Degradation.GATE_MODEL_UNAVAILABLE.value
# The most texts that one request has judged; further ones are not sent.
MOST_TEXTS = 8
AnyJudged = TypeVar("AnyJudged", JudgedTurn, JudgedDocument)


def hear_model(items: Sequence[AnyJudged], *, now: datetime) -> tuple[list[AnyJudged], list[str]]:
    """Return the items with the model's verdicts on the suspected ones, and the degradations.

    A text that the model takes for an attack is quarantined, unless the policy accepts attacks; a harmless one is no
    longer suspected.
    """
    asked: dict[str, list[int]] = {}
    for place in [place for place, one in enumerate(items) if one.judgement.suspected][:MOST_TEXTS]:
        model = in_force(items[place].scope.namespace_id).policy.models[ModelPurpose.JUDGE]
        asked.setdefault(model, []).append(place)
    heard, unheard = list(items), False
    for model, places in asked.items():
        gate = find_gate(model)
        if gate is None:
            continue
        try:
            verdicts = gate.judge([_text_of(items[place]) for place in places])
        except LLMUnavailable as error:
            extra = {"reason": error.message, "model": gate.name}
            log.warning("the language model gave no second opinion", extra=extra)
            unheard = True
            continue
        for place, attempt in zip(places, verdicts, strict=True):
            kept = {"judge": gate.name, "at": now.isoformat(), "verdict": "attack" if attempt else "harmless"}
            heard[place] = _apply_opinion(items[place], attempt, kept)
    return heard, [NO_SECOND_OPINION] if unheard else []


def _text_of(one: JudgedTurn | JudgedDocument) -> str:
    """Return the text for the model, with the fields that were judged with it."""
    if isinstance(one, JudgedTurn):
        text, fields = one.memory.text, {"speaker": one.memory.speaker, "metadata": one.memory.metadata}
    else:
        document = one.document
        text = document.text
        fields = {"title": document.title, "source": document.source, "metadata": document.metadata}
    told = {name: value for name, value in fields.items() if value}
    return f"{text}\n\n{orjson.dumps(told).decode()}" if told else text


def _apply_opinion(one: AnyJudged, attempt: bool, kept: dict[str, Any]) -> AnyJudged:
    judgement = _judgement(one, attempt, str(kept["judge"]))
    if isinstance(one, JudgedDocument):
        metadata = {**one.document.metadata, VERDICT_KEY: kept}
        return replace(one, document=replace(one.document, metadata=metadata), judgement=judgement)
    noted = audit_details(judgement)
    noted["gate"]["second_opinion"] = kept
    return replace(
        one,
        memory=replace(one.memory, metadata={**one.memory.metadata, VERDICT_KEY: kept}),
        judgement=judgement,
        let_in=replace(one.let_in, noted=noted, suspected=judgement.suspected),
    )


def _judgement(one: JudgedTurn | JudgedDocument, attempt: bool, name: str) -> Judgement:
    judgement = one.judgement
    action = in_force(one.scope.namespace_id).gate.injection
    if not attempt:
        reasons = tuple(reason for reason in judgement.reasons if reason is not SUSPECTED)
        cleared = Reason("injection.cleared", f"The language model {name} takes it for no attempt to steer.", 1.0)
        return replace(judgement, suspected=False, reasons=(*reasons, cleared))
    reason = Reason("injection.model", f"The language model {name} takes it for an attempt to steer its reader.", 1.0)
    if action == GateAction.ACCEPT:
        return replace(judgement, reasons=(reason, *judgement.reasons))
    # A model's verdict is for a person to review: the text is quarantined even if the policy rejects what rules find.
    rest = tuple(other for other in judgement.reasons if other is not SUSPECTED)
    return replace(
        judgement, decision=GateDecision.QUARANTINE, suspected=False, reasons=(reason, *rest), confidence=1.0
    )
