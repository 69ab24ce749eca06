"""Asks the question of a stored pack again, to show what would differ today. A dry run: nothing is stored."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memory import audit
from memory.enums import AuditEvent
from memory.errors import NotFound
from memory.models import AuditLog, Condensation, ContextPack
from memory.services.recall.probe import ProbeSetting
from memory.services.recall.query import QueryAnswer, query
from memory.services.recall.why import why
from memory.types import Scope, list_forms

# The most missing memories that are explained one by one, because each takes a search.
MAX_EXPLAINED = 5
# The events of a query are written with its pack, and their ids are made after the pack's, within a minute of UUIDv7.
_EVENT_WITHIN = 60_000 << 80


@dataclass(frozen=True, slots=True)
class ReplayTerms:
    """The terms of a pack's question, as far as they are known. `filtered`: it had a filter, which is not stored.

    `known` is False when the audit event is missing: then moments and filter are unknown.
    """

    known: bool
    filtered: bool
    as_of: datetime | None
    valid_at: datetime | None
    max_tokens: int | None
    top_k: int


@dataclass(frozen=True, slots=True)
class Replay:
    """The answer of today. `why_gone`: the known reasons why memories of the pack do not come back, by memory id."""

    terms: ReplayTerms
    answer: QueryAnswer
    why_gone: dict[uuid.UUID, str]


def replay(scope: Scope, pack: ContextPack, *, as_of_then: bool = False, now: datetime) -> Replay:
    """Ask the pack's question again, for as many memories as it returned then, under the pack's budget of tokens.

    `as_of_then` asks what was recorded and believed when the pack was made. Raises EmbeddingUnavailable,
    SearchTimedOut.
    """
    terms = terms_of(scope, pack)
    setting = ProbeSetting(
        top_k=terms.top_k, as_of=pack.created_at if as_of_then else terms.as_of, valid_at=terms.valid_at
    )  # fmt: skip
    ask = setting.ask(pack.query_text, now=now)
    answer = query(scope, ask, session=pack.session, max_tokens=terms.max_tokens)
    here = {str(hit.id) for hit in answer.retrieval.hits}
    gone = [identity for identity in hit_ids(pack.pack) if identity not in here]
    reasons = {entry["id"]: entry["reason"] for entry in answer.dropped}
    why_gone = {uuid.UUID(identity): reasons[identity] for identity in gone if identity in reasons}
    for identity in [identity for identity in gone if identity not in reasons][:MAX_EXPLAINED]:
        try:
            why_gone[uuid.UUID(identity)] = why(scope, ask, memory_id=uuid.UUID(identity)).reason
        except NotFound:
            why_gone[uuid.UUID(identity)] = "It is not there any more: it was erased or its session was reset."
    return Replay(replace(terms, as_of=ask.as_of), answer, why_gone)


def terms_of(scope: Scope, pack: ContextPack) -> ReplayTerms:
    """Return the known terms of the pack's question."""
    rows = AuditLog.objects.in_scope(scope).filter(
        session__in=list_forms(pack.session),
        event_type=AuditEvent.QUERY,
        subject=str(pack.pk),
        id__gte=pack.pk,
        id__lt=uuid.UUID(int=pack.pk.int + _EVENT_WITHIN),
    )
    details = rows.values_list("details", flat=True).first()
    known = details or {}
    manifest = pack.pack.get("manifest") or {}
    return ReplayTerms(
        known=details is not None,
        filtered=bool(known.get("filtered")),
        as_of=_moment(known.get("as_of")),
        valid_at=_moment(known.get("valid_at")),
        max_tokens=manifest.get("max_tokens"),
        top_k=min(50, pack.retrieved_count) or 6,
    )


def hit_ids(pack: dict[str, Any]) -> list[str]:
    """Return the ids of the pack's hits, best first."""
    return [str(chunk["id"]) for chunk in (pack.get("retrieval") or {}).get("raw_chunks") or ()]


def card_sources(scope: Scope, summary_id: uuid.UUID | str | None) -> dict[str, list[list[str]]]:
    """Return the memories behind each item of a summary's card, by section; empty when the summary is gone."""
    if not summary_id:
        return {}
    found = Condensation.objects.in_scope(scope).filter(pk=summary_id).values_list("item_sources", flat=True).first()
    return dict(found or {})


def record_read(scope: Scope, pack: ContextPack, *, now: datetime) -> None:
    """Record one audit event for a staff member who read a pack."""
    audit.record(
        scope,
        AuditEvent.CONSOLE_READ,
        session=pack.session,
        subject=str(pack.pk),
        details={"what": "context_pack", "hits": pack.retrieved_count},
        now=now,
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
