"""Answers the questions that staff ask in the console: as the API answers, without side effects, and recorded.

A question is kept for a day, so that its page has an address that does not quote it. Opening the page asks it again.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from memory import audit
from memory.enums import AuditEvent
from memory.errors import RedisAway, WindowUnavailable
from memory.kinds import SESSION_PREFIX
from memory.models import Document, Memory, RelevanceJudgement
from memory.models.evaluation import normal_question, query_hash
from memory.models.memory import spans_of
from memory.retrieval.filters import Filter, parse
from memory.retrieval.pipeline import Retrieval
from memory.services.recall.search import Ask, SearchResult, search
from memory.stores import probes
from memory.text.utterances import live_text
from memory.types import Access, Scope

DEFAULT_TOP_K = 10


@dataclass(frozen=True, slots=True)
class ProbeSetting:
    """The settings of a question: how many memories are wanted, which ones are searched, and as of when.

    Empty texts and None do not restrict the search. `since` and `until` bound when it happened. `filter` is in the
    filter language.
    """

    top_k: int = DEFAULT_TOP_K
    session: str = ""
    role: str = ""
    speaker: str = ""
    tier: str = ""
    since: datetime | None = None
    until: datetime | None = None
    filter: Mapping[str, Any] = field(default_factory=dict)
    as_of: datetime | None = None
    valid_at: datetime | None = None
    show_dropped: bool = True

    def as_filter(self) -> dict[str, Any]:
        """Return all restrictions of the search as JSON of the filter language; empty if there are none."""
        plain = {"session_id": self.session, "role": self.role, "speaker": self.speaker, "tier": self.tier}
        found: dict[str, Any] = {name: value for name, value in plain.items() if value}
        times = {"gte": self.since, "lt": self.until}
        if any(times.values()):
            found["occurred_at"] = {name: moment.isoformat() for name, moment in times.items() if moment}
        if not self.filter:
            return found
        return {**found, "and": [dict(self.filter)]} if found else dict(self.filter)

    def where(self) -> Filter | None:
        """Return the restrictions as the search takes them. Raises FilterError."""
        return parse(self.as_filter())

    def ask(self, text: str, *, now: datetime) -> Ask:
        """Return the question as the services take it: a dry run."""
        return Ask(
            text=text,
            top_k=self.top_k,
            now=now,
            where=self.where(),
            as_of=self.as_of,
            valid_at=self.valid_at,
            dry_run=True,
            show_dropped=self.show_dropped,
        )


@dataclass(frozen=True, slots=True)
class Probe:
    """A question that a staff member asked, in one setting, or in two to compare.

    `session` is set when the question is asked as an agent of that session would ask it: for a pack of at most
    `max_tokens`.
    """

    id: str
    scope: Scope
    asked_by: str
    asked_at: datetime
    text: str
    settings: tuple[ProbeSetting, ...]
    session: str = ""
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryOrigin:
    """The origin of a memory. `document`: the name of the document that it is a chunk of; '' for a turn.

    `text`: the memory's current text, without retired statements.
    """

    session: str
    role: str
    speaker: str
    document: str
    tokens: int
    occurred_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Seen:
    """The answer to a question, and the origins of all memories that it names."""

    setting: ProbeSetting
    found: SearchResult
    sources: dict[uuid.UUID, MemoryOrigin]


def keep(
    scope: Scope,
    *,
    text: str,
    settings: Sequence[ProbeSetting],
    session: str = "",
    max_tokens: int | None = None,
    now: datetime,
) -> Probe:
    """Store a question for a day, without asking it. Raises WindowUnavailable when Redis is away."""
    # The id contains the namespace, so that a caller who does not reach it is refused without a look-up.
    probe_id = f"{scope.namespace_id}-{uuid.uuid4().hex}"
    probe = Probe(probe_id, scope, scope.actor, now, text, tuple(settings), session, max_tokens)
    try:
        probes.keep(scope.namespace_id, probe_id, _as_json(probe), now=now)
    except RedisAway as error:
        raise WindowUnavailable("Redis, which keeps the question, does not answer. Try again in a moment.") from error
    return probe


def get_probe(access: Access, probe_id: str, *, request_id: str = "") -> Probe | None:
    """Return the question with that id; None if it has expired or the caller does not reach its namespace.

    Raises WindowUnavailable.
    """
    number = probe_id.partition("-")[0]
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        return None
    namespace_id = int(number)
    if not (access.all_namespaces or namespace_id in access.namespace_ids):
        return None
    try:
        raw = probes.read(namespace_id, probe_id)
    except RedisAway as error:
        raise WindowUnavailable("Redis, which keeps the question, does not answer. Try again in a moment.") from error
    if raw is None:
        return None
    return Probe(
        id=probe_id,
        scope=Scope(namespace_id, raw["namespace"], access.actor, request_id),
        asked_by=raw["asked_by"],
        asked_at=datetime.fromisoformat(raw["asked_at"]),
        text=raw["text"],
        settings=tuple(_setting(entry) for entry in raw["settings"]),
        session=raw["session"],
        max_tokens=raw["max_tokens"],
    )


def look(probe: Probe, setting: ProbeSetting, *, now: datetime) -> Seen:
    """Answer the question in one setting, as a dry run. Raises EmbeddingUnavailable, SearchTimedOut."""
    found = search(probe.scope, setting.ask(probe.text, now=now))
    ids = [hit.id for hit in found.hits] + [uuid.UUID(entry["id"]) for entry in found.dropped]
    return Seen(setting, found, sources(probe.scope, ids))


def sources(scope: Scope, memory_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, MemoryOrigin]:
    """Return the origins of the memories that still exist, by id."""
    rows = list(
        Memory.objects.in_scope(scope)
        .filter(pk__in=list(memory_ids))
        .only("session", "turn", "role", "speaker", "text", "retired_spans", "tokens", "occurred_at")
    )
    documents = _documents(
        scope, {row.session for row in rows if row.turn < 0 and row.session.startswith(SESSION_PREFIX)}
    )
    return {
        row.pk: MemoryOrigin(
            row.session,
            row.role,
            row.speaker,
            documents.get(row.session, ""),
            row.tokens,
            row.occurred_at,
            live_text(row.text, spans_of(row.retired_spans)),
        )
        for row in rows
    }


def marks(scope: Scope, text: str) -> dict[uuid.UUID, bool]:
    """Return the judgements of memories for this question, by id: True for relevant."""
    rows = RelevanceJudgement.objects.in_scope(scope).filter(query_hash=query_hash(text))
    return dict(rows.values_list("memory_id", "relevant"))


def record(
    scope: Scope,
    *,
    text: str,
    about: Mapping[str, Any],
    answers: Sequence[tuple[ProbeSetting, Retrieval]],
    now: datetime,
) -> None:
    """Record one audit event for a question of staff: figures, and a hash that joins it to other events of the
    question."""
    details = {
        **about,
        "answers": [
            {
                "hits": len(retrieval.hits),
                "considered": retrieval.considered,
                "milliseconds": round(sum(retrieval.milliseconds.values()), 3),
                "filtered": bool(setting.as_filter()),
                "as_of": setting.as_of.isoformat() if setting.as_of else None,
                "valid_at": setting.valid_at.isoformat() if setting.valid_at else None,
            }
            for setting, retrieval in answers
        ],
    }
    audit.record(
        scope,
        AuditEvent.CONSOLE_PROBE,
        subject=audit.hash_words(scope, "question", normal_question(text)),
        details=details,
        now=now,
    )


def _documents(scope: Scope, sessions: Collection[str]) -> dict[str, str]:
    """Return the title, or else the name, of each document, by the session of its chunks."""
    ids = [session.removeprefix(SESSION_PREFIX) for session in sessions]
    if not ids:
        return {}
    rows = Document.objects.in_scope(scope).filter(id__in=ids).values_list("id", "title", "document_id")
    return {f"{SESSION_PREFIX}{identity}": title or name for identity, title, name in rows}


_MOMENTS = ("since", "until", "as_of", "valid_at")


def _as_json(probe: Probe) -> dict[str, Any]:
    return {
        "namespace": probe.scope.namespace,
        "asked_by": probe.asked_by,
        "asked_at": probe.asked_at.isoformat(),
        "text": probe.text,
        "session": probe.session,
        "max_tokens": probe.max_tokens,
        "settings": [asdict(setting) for setting in probe.settings],
    }


def _setting(raw: Mapping[str, Any]) -> ProbeSetting:
    moments = {name: datetime.fromisoformat(raw[name]) if raw[name] else None for name in _MOMENTS}
    return ProbeSetting(**{**raw, **moments})


def check_filter(data: object) -> None:
    """Raise ValueError with a sentence for a filter (parsed JSON) that cannot be used."""
    parse(data)
