"""Answers a question: finds the session's window and summary, and the memories that answer it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction

from memory import tracing
from memory.audit import APPEND_EVENTS, COMMIT_OF_READS
from memory.enums import AuditEvent
from memory.errors import WindowUnavailable
from memory.models.arrays import number_array, uuid_array
from memory.models.keys import new_id
from memory.models.queries.tenancy import KEEP_NAMESPACES
from memory.models.sql import fetch
from memory.retrieval.columns.store import last_seen
from memory.retrieval.durable import DurableMemory, list_durable
from memory.retrieval.hits import Hit
from memory.retrieval.pack import build, chunk
from memory.retrieval.pipeline import Retrieval
from memory.retrieval.render import WindowMessages, render_pack
from memory.retrieval.rendered_pack import RenderedPack
from memory.services.ingestion.ingest import WINDOW_SKIPPED
from memory.services.recall.context import Summary, session_context
from memory.services.recall.search import NOTHING_FOUND, Ask, SearchResult, details_of, explain_hits, find, start
from memory.services.recall.search_across import HitOf, name_owners, search_across
from memory.services.summaries import refresh
from memory.services.tenancy.namespaces import miss_namespaces
from memory.services.tenancy.policy import in_force
from memory.stores import window as window_store
from memory.text.json_values import encode
from memory.text.tokens import count_tokens
from memory.types import Scope, WindowMessage, in_zone

log = logging.getLogger("memos.query")

FALLBACK_SUMMARY_CHARS = 2000


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """Everything that a query found, and its text for an agent.

    `token_original`: the tokens that an agent would carry without memory, which are the session's whole history and
    memories from elsewhere; `token_condensed`: the tokens of the text.

    `pack_id` is None for a dry run and for an answer from several namespaces, of which no pack is kept. `answerable`:
    see `SearchResult`. `across`: the hits of several namespaces; `whose`: the owner of each memory, by its id.
    """

    pack_id: uuid.UUID | None
    pack: dict[str, Any]
    rendered: RenderedPack
    retrieval: Retrieval
    answerable: bool
    dropped: list[dict[str, Any]]
    summary: Summary | None
    summary_enqueued: bool
    condensed_summary: str
    token_original: int
    degraded: list[str]
    across: Sequence[HitOf] = ()
    whose: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def explanations(self) -> list[dict[str, Any]]:
        """Explain each hit's score, in the hits' order."""
        return [one.explanation for one in self.across] or explain_hits(self.retrieval)

    @property
    def token_condensed(self) -> int:
        """Return the number of tokens of the text for the agent."""
        return self.rendered.tokens

    @property
    def similarity(self) -> float:
        """Return the best cosine similarity; 0 without a hit."""
        return max((hit.similarity for hit in self.retrieval.hits), default=0.0)


def query(
    scope: Scope,
    ask: Ask,
    *,
    session: str,
    max_tokens: int | None = None,
    known: Collection[str] = (),
    beside: Sequence[Scope] = (),
) -> QueryAnswer:
    """Answer a question from the namespace's memories and the session's window and summary; store the pack.

    The pack's text for the agent has at most `max_tokens`; None takes MEMOS_PACK_MAX_TOKENS. It leaves out texts that
    are `known` to the agent. `ask.as_of` also leaves out later records of the window and the summaries, and requests no
    summary. Without Redis the window is empty and `degraded` says so. A dry run keeps no pack and requests no summary.
    The pack does not keep the rejected candidates.

    The namespaces of `beside` are searched too; session, pinned memories and summary are those of `scope`. Then no pack
    is kept, because it would hold words that other owners may erase, and each namespace records the question.

    Raises EmbeddingUnavailable, SearchTimedOut, NamespaceGone.
    """
    now = ask.now
    started = start(ask)
    with tracing.span("recall context"):
        seen = last_seen(scope, started.model.id) if ask.among is None else None
        there, degraded = _read_window(scope, session)
        context = session_context(scope, session=session, now=now, messages=there, as_of=ask.as_of, seen=seen)
        messages = context.window
        durable = _durable(scope, ask) if context.has_pinned else []
    summary = context.summary
    across: Sequence[HitOf] = ()
    if beside:
        searched = search_across([scope, *beside], ask, started=started)
        across, found = searched.hits, searched.to_result()
    else:
        found = find(scope, ask, started=started, changes=context.changes)
    owners = name_owners(across) if across else [{} for _ in found.hits]
    step = _window_step(in_force(scope.namespace_id).policy.summary_messages)
    tokenizer = settings.MEMOS_TOKENIZER
    rendered = render_pack(
        procedural=context.procedural,
        card=summary.card if summary else None,
        window=WindowMessages(messages, max(0, context.messages - len(there)), context.covered, step),
        hits=found.hits,
        max_tokens=max_tokens or settings.MEMOS_PACK_MAX_TOKENS or None,
        tokenizer=tokenizer,
        count=partial(count_tokens, tokenizer=tokenizer),
        durable=durable,
        known=known,
        answerable=found.answerable,
    )
    pack = build(
        namespace=scope.namespace,
        session=session,
        query_text=ask.text,
        procedural=context.procedural,
        durable=durable,
        window=messages,
        summary=summary.text if summary else "",
        summary_id=str(summary.id) if summary else None,
        chunks=[{**chunk(hit), **whose} for hit, whose in zip(found.hits, owners, strict=True)],
        answerable=found.answerable,
        rendered=rendered,
    )
    knowledge = rendered.knowledge if found.hits or messages else ""
    answer = QueryAnswer(
        pack_id=None if ask.dry_run or beside else new_id(),
        pack=pack,
        rendered=rendered,
        retrieval=found.retrieval,
        answerable=found.answerable,
        dropped=found.dropped,
        summary=summary,
        summary_enqueued=False,
        condensed_summary=summary.text if summary else knowledge[:FALLBACK_SUMMARY_CHARS].strip(),
        token_original=rendered.procedural_tokens
        + context.history_tokens
        + _tokens_from_elsewhere(session, found.hits, messages, durable),
        degraded=[*found.degraded, *degraded],
        across=across,
        whose={str(one.hit.id): whose for one, whose in zip(across, owners, strict=False)},
    )
    if answer.pack_id is None:
        return answer
    with tracing.span("recall store"):
        return _store(scope, answer, found, ask, session=session, summary_due=context.summary_due)


def answer_of_no_namespace(namespace: str, ask: Ask, *, session: str, max_tokens: int | None = None) -> QueryAnswer:
    """Return an empty answer for an unknown namespace; `degraded` says that it is unknown. Stores nothing."""
    procedural: dict[str, Any] = {"prompt": None, "tools": []}
    tokenizer = settings.MEMOS_TOKENIZER
    rendered = render_pack(
        procedural=procedural,
        card=None,
        window=WindowMessages(),
        hits=[],
        max_tokens=max_tokens or settings.MEMOS_PACK_MAX_TOKENS or None,
        tokenizer=tokenizer,
        count=partial(count_tokens, tokenizer=tokenizer),
        answerable=False,
    )
    pack = build(
        namespace=namespace,
        session=session,
        query_text=ask.text,
        procedural=procedural,
        durable=[],
        window=[],
        summary="",
        summary_id=None,
        chunks=[],
        answerable=False,
        rendered=rendered,
    )
    return QueryAnswer(
        pack_id=None,
        pack=pack,
        rendered=rendered,
        retrieval=NOTHING_FOUND.retrieval,
        answerable=False,
        dropped=[],
        summary=None,
        summary_enqueued=False,
        condensed_summary="",
        token_original=0,
        degraded=NOTHING_FOUND.degraded,
    )


def _window_step(refresh_messages: int) -> int:
    """Return the number of turns by which a full window's start moves: a third of it at most.

    A new summary is requested after this many messages, and mostly two, question and answer, come between queries.
    """
    return max(1, min(refresh_messages + 2, settings.MEMOS_WINDOW_MESSAGES // 3))


def _read_window(scope: Scope, session: str) -> tuple[list[WindowMessage], list[str]]:
    try:
        return window_store.read(scope.namespace_id, session), []
    except WindowUnavailable as error:
        log.warning("session window skipped", extra={"reason": error.message})
        return [], [WINDOW_SKIPPED]


def _durable(scope: Scope, ask: Ask) -> list[DurableMemory]:
    """Return the pinned memories that meet the filters of the search, because a filter may stand for access rights."""
    pinned = list_durable(
        scope, among=ask.among, holding_at=ask.holding_at, as_of=ask.as_of, valid_at=ask.valid_at
    )  # fmt: skip
    return [replace(one, occurred_at=in_zone(one.occurred_at, ask.zone)) for one in pinned]


def _tokens_from_elsewhere(
    session: str, hits: Sequence[Hit], window: Sequence[WindowMessage], durable: Sequence[DurableMemory]
) -> int:
    """Count the tokens of the memories, each once and unabridged, that are not part of the session's own history."""
    tokens = {str(one.id): one.tokens for one in durable if one.session != session}
    tokens |= {hit.id_text: hit.tokens for hit in hits if hit.session != session}
    return sum(count for identity, count in tokens.items() if identity not in {one.memory_id for one in window})


# No pack is stored when something in it was erased since the search (see services/erasure/run.py). Each memory is
# looked up separately: for all at once, PostgreSQL may read every erased memory of the namespace.
def _write_store(living: str) -> str:
    """Return the statement that stores a pack; `living` selects the namespace, without which nothing is stored."""
    return f"""
WITH living AS MATERIALIZED (
    {living}
), commit AS MATERIALIZED (
    SELECT set_config('synchronous_commit', coalesce(%(commit)s, current_setting('synchronous_commit')), true)
), pack AS (
    INSERT INTO memory_contextpack (id, namespace_id, session, query_text, session_summary_id, retrieved_count,
                                    token_original, token_condensed, pack, memory_ids, created_at)
    SELECT %(id)s::uuid, %(namespace_id)s::bigint, %(session)s::text, %(query_text)s::text, %(summary_id)s::uuid,
           %(hits)s::int, %(token_original)s::int, %(token_condensed)s::int, %(pack)s::jsonb, %(memory_ids)s::uuid[],
           %(now)s::timestamptz
    FROM living
    WHERE NOT EXISTS (SELECT FROM unnest(%(memory_ids)s::uuid[]) AS held (id)
                      WHERE (SELECT true FROM memory_erasedmemory e
                             WHERE e.namespace_id = %(namespace_id)s AND e.memory_id = held.id LIMIT 1))
      AND (%(summary_id)s::uuid IS NULL
           OR EXISTS (SELECT FROM memory_condensation c
                      WHERE c.namespace_id = %(namespace_id)s AND c.id = %(summary_id)s::uuid))
)
{APPEND_EVENTS}
SELECT e.id, %(namespace_id)s::bigint, %(namespace)s::text, %(session)s::text, e.event_type, %(actor)s::text,
       %(id)s::uuid::text, e.details::jsonb, %(request_id)s::text, %(now)s::timestamptz
FROM (VALUES (%(query_event_id)s::uuid, %(query_event)s::text, %(query_details)s::text),
             (%(pack_event_id)s::uuid, %(pack_event)s::text, %(pack_details)s::text)) AS e (id, event_type, details),
     commit, living
RETURNING id
"""  # noqa: S608 - the head of the audit


# A namespace with hits is not empty, and so is not deleted. Locking its row for each question would take PostgreSQL a
# quarter more time with eight clients in one namespace.
_STORE_FOUND = _write_store("SELECT FROM memory_namespace WHERE id = %(namespace_id)s")
_STORE_NOTHING = _write_store(KEEP_NAMESPACES)


def _store(
    scope: Scope, answer: QueryAnswer, found: SearchResult, ask: Ask, *, session: str, summary_due: bool
) -> QueryAnswer:
    """Store the pack and its audit events, and request a summary, if one is due, in the same transaction.

    Raises NamespaceGone.
    """
    if not summary_due:
        _insert(scope, answer, found, ask, session=session)
        return answer
    with transaction.atomic():
        enqueued = refresh.request_if_due(scope, session=session, has_summary=answer.summary is not None, now=ask.now)
        answer = replace(answer, summary_enqueued=enqueued)
        _insert(scope, answer, found, ask, session=session)
    return answer


def _insert(scope: Scope, answer: QueryAnswer, found: SearchResult, ask: Ask, *, session: str) -> None:
    statement = _STORE_FOUND if found.hits else _STORE_NOTHING
    if not fetch(statement, _pack_row(scope, answer, found, ask, session=session), prepared=True):
        raise miss_namespaces([scope])


def _list_memory_ids(pack: dict[str, Any]) -> list[str]:
    """Return the ids of the memories whose text the pack holds, each once."""
    hits, told = pack["retrieval"]["raw_chunks"], [*pack["working_memory"]["l1_window"], *pack["durable"]]
    return list(dict.fromkeys([*(hit["id"] for hit in hits), *(one["memory_id"] for one in told)]))


def _pack_row(scope: Scope, answer: QueryAnswer, found: SearchResult, ask: Ask, *, session: str) -> dict[str, Any]:
    hits = answer.retrieval.hits
    query_details = {
        "context_pack_id": str(answer.pack_id),
        **details_of(ask, found, answer.degraded),
        "l1_window": len(answer.pack["working_memory"]["l1_window"]),
        "condensation_cache_hit": answer.summary is not None,
        "condensation_enqueued": answer.summary_enqueued,
    }
    pack_details = {
        "memory_ids": [hit.id_text for hit in hits],
        "token_original": answer.token_original,
        "token_condensed": answer.token_condensed,
        **tracing.mark(),
    }
    return {
        "id": answer.pack_id,
        "namespace_id": scope.namespace_id,
        "namespace_ids": number_array([scope.namespace_id]),
        "namespace": scope.namespace,
        "session": session,
        "query_text": ask.text,
        "summary_id": answer.summary.id if answer.summary else None,
        "hits": len(hits),
        "token_original": answer.token_original,
        "token_condensed": answer.token_condensed,
        "pack": encode(answer.pack).decode(),
        "memory_ids": uuid_array(_list_memory_ids(answer.pack)),
        "now": ask.now,
        "commit": COMMIT_OF_READS,
        "actor": scope.actor,
        "request_id": scope.request_id,
        "query_event_id": new_id(),
        "query_event": AuditEvent.QUERY.value,
        "query_details": encode(query_details).decode(),
        "pack_event_id": new_id(),
        "pack_event": AuditEvent.CONTEXT_PACK.value,
        "pack_details": encode(pack_details).decode(),
    }
