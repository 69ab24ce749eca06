"""Stores a question and its answer as turns of a session, together, when the answer is complete.

The turns of two concurrent chats in one session therefore stand in pairs, in the order in which they were answered.
Without an answer, because nothing answers or a model broke off, only the question is remembered, and no half answer:
one that `max_tokens` cut off is half an answer too.

An answer is remembered with links to the memories that it quotes, and is erased with them. An answer that quotes
another namespace is not remembered, because that namespace's owner may erase the quoted words or end the share; only
the question is remembered then.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from memory.enums import AnswerMode, Degradation, GateDecision, Role
from memory.errors import Conflict, MemosError
from memory.models import ContextPack
from memory.services.answers.answer import AnswerEvent, complete, stream
from memory.services.answers.cited_answer import CitedAnswer
from memory.services.answers.sources import AnswerSources
from memory.services.answers.write import CUT_OFF
from memory.services.ingestion.ingest import ingest_batch
from memory.services.ingestion.replies import QuotingReply, SourceGone
from memory.services.recall.quoted import list_quoted
from memory.services.tenancy import idempotency as answers
from memory.text.citations import remove_markers
from memory.types import Idempotency, NewMemory, Outcome, Scope


@dataclass(frozen=True, slots=True)
class Exchange:
    """The turns of a caller in a session: `asked` ends with the question, and none of them is stored yet. `clock` gives
    the time at which the answer is complete."""

    scope: Scope
    session: str
    asked: Sequence[NewMemory]
    clock: Callable[[], datetime]
    idempotency: Idempotency | None = None


@dataclass(frozen=True, slots=True)
class RememberedTurn:
    """The outcome of storing a turn of the role `role`."""

    role: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and the outcomes of the stored turns; None if nothing was to be stored."""

    answer: CitedAnswer
    remembered: list[RememberedTurn] | None = None


def find_reply(exchange: Exchange) -> Reply | None:
    """Find the reply already given to the exchange's Idempotency-Key, if any.

    Raises IdempotencyConflict when that reply was to another body, Conflict when it is no longer kept.
    """
    record = answers.find_answer(exchange.idempotency) if exchange.idempotency else None
    if record is None:
        return None
    pack_id = record.answer.get("context_pack_id")
    packs = ContextPack.objects.in_scope(exchange.scope).filter(pk=pack_id) if pack_id else []
    kept = next((pack.pack["answer"] for pack in packs if "answer" in pack.pack), None)
    if kept is None:
        raise Conflict(
            "The turns of this Idempotency-Key are remembered, but the answer to it is not kept (any more). Send a new "
            "key to ask again.",
            detail={"header": "Idempotency-Key"},
        )
    remembered = [
        RememberedTurn(turn["role"], Outcome(GateDecision(turn["verdict"]), turn["memory_id"], turn["reasons"]))
        for turn in kept["remembered"]
    ]
    return Reply(CitedAnswer.from_json(kept["answer"]), remembered)


def reply(sources: AnswerSources, exchange: Exchange | None) -> Reply:
    """Answer, and remember the exchange."""
    answered = complete(sources)
    return _remember(exchange, answered, sources) if exchange else Reply(answered)


def stream_reply(sources: AnswerSources, exchange: Exchange | None) -> Generator[AnswerEvent | Reply]:
    """Yield the events of the answer, and finally the reply instead of the whole answer.

    When the model breaks off, or the caller leaves, only the question is remembered. Raises LLMUnavailable, whose
    detail says so.
    """
    try:
        with closing(stream(sources)) as events:
            for event in events:
                if isinstance(event, CitedAnswer):
                    answered = event
                else:
                    yield event
    except GeneratorExit:
        _remember_question(exchange)
        raise
    except MemosError as error:
        remembered = _remember_question(exchange)
        said = [{"role": turn.role, "memory_id": turn.outcome.memory_id} for turn in remembered]
        error.detail = {"remembered": said, "answer": "broke off and is not remembered"}
        raise
    yield _remember(exchange, answered, sources) if exchange else Reply(answered)


def _remember(exchange: Exchange, answered: CitedAnswer, sources: AnswerSources) -> Reply:
    is_whole = CUT_OFF not in answered.degraded
    quoted = _list_sources(answered, sources) if answered.no_answer is None and is_whole else None
    if quoted is not None:
        try:
            return _store(exchange, answered, quoted)
        except SourceGone:
            quoted = None
    if answered.no_answer is None:
        answered = replace(answered, degraded=[*answered.degraded, Degradation.TURN_NOT_REMEMBERED.value])
    return _store(exchange, answered, quoted)


def _list_sources(answered: CitedAnswer, sources: AnswerSources) -> list[uuid.UUID] | None:
    """Return the memories that the answer quotes; None if it contains, or a model may have used, words of another
    namespace."""
    home = sources.scope.namespace
    others = {identity for identity, whose in sources.found.whose.items() if whose["namespace"] != home}
    quoted = [quote.memory_id for quote in answered.quotes]
    written = answered.mode == AnswerMode.MODEL
    read = [one.hit.id for one in sources.sources] if written else quoted
    if others.intersection(map(str, read)):
        return None
    if written:
        quoted += list_quoted(sources.scope, pack=sources.found.pack, reply=answered.text)
    return list(dict.fromkeys(quoted))


def _store(exchange: Exchange, answered: CitedAnswer, quoted: Sequence[uuid.UUID] | None) -> Reply:
    """Store the question and, unless `quoted` is None, the answer, linked to the memories that it quotes.

    Raises SourceGone when a quoted memory is gone; nothing is stored then.
    """
    told: list[NewMemory] = []
    if quoted is not None:
        told = [
            NewMemory(
                session=exchange.session,
                role=Role.AGENT,
                text=remove_markers(answered.text) if answered.structured is None else answered.text,
                metadata={"answer": _provenance(answered)},
            )
        ]
    key = exchange.idempotency
    before: list[RememberedTurn] = []
    if key and answers.find_answer(_key_of_question(key)):
        before = _remember_question(exchange)
    turns = told if before else [*exchange.asked, *told]
    now = exchange.clock()
    reply = None if quoted is None else QuotingReply(exchange.scope, turns, quoted, now)
    done = ingest_batch(
        [(exchange.scope, turn) for turn in turns],
        now=now,
        idempotency=key,
        note={"context_pack_id": _name_pack(answered)},
        beside=reply.lock_sources if reply else None,
        after=reply.link if reply else None,
    )
    if done.replayed and (given := find_reply(exchange)):
        return given
    remembered = [
        *before,
        *(RememberedTurn(turn.role, outcome) for turn, outcome in zip(turns, done.outcomes, strict=True)),
    ]
    answered = replace(answered, degraded=[*answered.degraded, *done.degraded])
    if key:
        _keep(exchange.scope, answered, remembered)
    return Reply(answered, remembered)


def _remember_question(exchange: Exchange | None) -> list[RememberedTurn]:
    """Remember the question under a separate key, so that a repeated request stores only the answer."""
    if exchange is None:
        return []
    key = _key_of_question(exchange.idempotency) if exchange.idempotency else None
    turns = [(exchange.scope, turn) for turn in exchange.asked]
    done = ingest_batch(turns, now=exchange.clock(), idempotency=key)
    return [RememberedTurn(turn.role, outcome) for (_, turn), outcome in zip(turns, done.outcomes, strict=True)]


def _key_of_question(key: Idempotency) -> Idempotency:
    return replace(key, key=f"question:{hashlib.sha256(key.key.encode()).hexdigest()}")


def _provenance(answered: CitedAnswer) -> dict[str, Any]:
    return {
        "context_pack_id": _name_pack(answered),
        "memory_ids": list(dict.fromkeys(str(quote.memory_id) for quote in answered.quotes)),
        **({"model": answered.model} if answered.mode == AnswerMode.MODEL else {}),
    }


def _name_pack(answered: CitedAnswer) -> str | None:
    return str(answered.pack_id) if answered.pack_id else None


def _keep(scope: Scope, answered: CitedAnswer, remembered: Sequence[RememberedTurn]) -> None:
    """Store the reply with its pack; both are deleted when a memory in the pack is erased."""
    packs = ContextPack.objects.in_scope(scope).filter(pk__in=[answered.pack_id])
    with transaction.atomic():
        for pack in packs.select_for_update():
            pack.pack["answer"] = {
                "answer": answered.to_json(),
                "remembered": [
                    {
                        "role": turn.role,
                        "memory_id": str(turn.outcome.memory_id) if turn.outcome.memory_id else None,
                        "verdict": turn.outcome.verdict.value,
                        "reasons": turn.outcome.reasons,
                    }
                    for turn in remembered
                ],
            }
            held = [turn.outcome.memory_id for turn in remembered if turn.outcome.accepted]
            pack.memory_ids += [memory_id for memory_id in held if memory_id]
            pack.save(update_fields=["pack", "memory_ids"])
