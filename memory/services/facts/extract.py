"""Has a language model read facts in a session's new turns, and stores the facts that the turns state.

The turns remain the truth: a fact is a separate memory, linked to the turns that it rests on. The session's row records
how far it was read, in the transaction that stores the facts: an interrupted run is repeated, and a repeated run stores
nothing twice.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db import transaction

from memory import metrics
from memory.enums import FactRefusal, GateDecision, MemoryState, Review
from memory.gate.judge import judge
from memory.models import Memory, Session
from memory.providers.llm_facts import LLMFactReader, find_fact_reader
from memory.services.facts import store
from memory.services.facts.due import wants_facts
from memory.services.index.embedding import embed_or_none, passages_to_embed
from memory.services.jobs import queue
from memory.services.tenancy.policy import in_force
from memory.stores import model_calls
from memory.text.facts import Fact, check_fact
from memory.text.statements import Turn
from memory.types import Scope

log = logging.getLogger("memos.facts")

# The new turns that the model reads at a time, the limit of their tokens, and the earlier turns shown as context.
BATCH_TURNS = 12
BATCH_TOKENS = 1_500
CONTEXT_TURNS = 4

_READ = (
    "id", "namespace", "text", "role", "speaker", "occurred_at", "turn", "tokens", "state", "superseded_by",
    "retired_spans", "content_hash", "review",
)  # fmt: skip


@dataclass(slots=True)
class Extracted:
    """The result of a run: turns read, facts stored or found to exist, and refusals by reason."""

    turns: int = 0
    stored: int = 0
    merged: int = 0
    refused: Counter[FactRefusal] = field(default_factory=Counter)

    def __iadd__(self, other: Extracted) -> Extracted:
        self.turns += other.turns
        self.stored += other.stored
        self.merged += other.merged
        self.refused += other.refused
        return self


@dataclass(frozen=True, slots=True)
class TurnBatch:
    """Turns of a session, oldest first, new from the position `first_new` on; `read`: hashes and spans as they were
    read.

    The session was read up to `after`, and will be up to `last`.
    """

    turns: list[Turn]
    read: dict[uuid.UUID, tuple[bytes, list[int]]]
    first_new: int
    after: int
    last: int


def extract_session(scope: Scope, *, session: str, now: datetime) -> Extracted:
    """Read the session's new turns, batch by batch; nothing while the policy or the settings do not want it.

    Raises LLMUnavailable when the model does not answer: facts stored before stay, and the rest is read again.
    """
    done = Extracted()
    # Use half the job's time: the other half is for a batch that is begun just before.
    deadline = time.monotonic() + settings.MEMOS_JOB_TIMEOUT_SECONDS / 2
    while wants_facts(scope.namespace_id) and (reader := find_fact_reader()):
        batch = _next_batch(scope, session)
        made = _extract(scope, session, batch, reader, now=now) if batch else None
        if made is None:
            break
        done += made
        if time.monotonic() > deadline:
            queue.enqueue(queue.EXTRACT, scope.namespace_id, session)
            break
    return done


def _next_batch(scope: Scope, session: str) -> TurnBatch | None:
    """Return the oldest unread turns, with the turns before them as context; None when there are none."""
    while True:
        state = Session.objects.in_scope(scope).filter(name=session).first()
        if state is None or state.message_count <= state.extracted_turn:
            return None
        rows = Memory.objects.in_scope(scope).in_session(session).only(*_READ)
        after = state.extracted_turn
        new = _fitting(rows.filter(turn__gt=after).order_by("turn")[:BATCH_TURNS])
        told = [row for row in new if _may_be_read(row)]
        last = new[-1].turn if new else state.message_count
        if told:
            break
        # None of these turns may be read: they count as read.
        Session.objects.in_scope(scope).filter(name=session, extracted_turn=after).update(extracted_turn=last)
    before = rows.filter(turn__gt=after - CONTEXT_TURNS, turn__lte=after, turn__gte=1).order_by("turn")
    context = [row for row in before if _may_be_read(row)]
    read = {row.pk: (bytes(row.content_hash), row.retired_spans) for row in (*context, *told)}
    return TurnBatch([store.turn_of(row) for row in (*context, *told)], read, len(context), after, last)


def _fitting(rows: Iterable[Memory]) -> list[Memory]:
    """Return the first rows with at most BATCH_TOKENS together, but at least one."""
    fitting: list[Memory] = []
    tokens = 0
    for row in rows:
        tokens += row.tokens
        if fitting and tokens > BATCH_TOKENS:
            break
        fitting.append(row)
    return fitting


def _may_be_read(memory: Memory) -> bool:
    return memory.state == MemoryState.ACTIVE and memory.superseded_by is None and memory.review != Review.SUSPECTED


def _extract(scope: Scope, session: str, batch: TurnBatch, reader: LLMFactReader, *, now: datetime) -> Extracted | None:
    """Read one batch; return None when another run has read it, or its turns were changed meanwhile."""
    raw = reader.read_facts(batch.turns, first_new=batch.first_new)
    model_calls.note_answer(model_calls.LANGUAGE)
    facts, refused = _check_facts(scope, raw, batch)
    speakers = [batch.turns[fact.sources[-1]].speaker for fact in facts]
    passages = [passages_to_embed(fact.text, speaker) for fact, speaker in zip(facts, speakers, strict=True)]
    embedded = embed_or_none(passages) if facts else None
    with transaction.atomic():
        room = store.take_quota(scope, len(facts), now=now)
        state = Session.objects.select_for_update().in_scope(scope).filter(name=session).first()
        if state is None or state.extracted_turn != batch.after or not store.lock_as_read(scope, batch.read):
            transaction.set_rollback(True)
            return None
        stored, merged = store.store_facts(
            scope, session, facts[:room], batch.turns, embedded, model=reader.name, now=now
        )
        refused[FactRefusal.QUOTA] += len(facts) - room
        Session.objects.in_scope(scope).filter(name=session).update(extracted_turn=batch.last)
        made = Extracted(len(batch.turns) - batch.first_new, len(stored), merged, +refused)
        details = {"turns": made.turns, "stored": made.stored, "merged": merged, "model": reader.name}
        named = {"memory_ids": [str(identity) for identity in stored]}
        store.record(scope, session, {**details, **named}, refused=made.refused, now=now)
    metrics.count_facts(stored=made.stored, merged=merged, refused=made.refused)
    return made


def _check_facts(scope: Scope, raw: Sequence[dict], batch: TurnBatch) -> tuple[list[Fact], Counter[FactRefusal]]:
    """Return the model's facts that the turns state and the gate lets in, and the number of refusals by reason."""
    facts: list[Fact] = []
    refused: Counter[FactRefusal] = Counter()
    for one in raw:
        checked = check_fact(one, batch.turns, first_new=batch.first_new)
        if isinstance(checked, Fact) and not _let_in(scope, checked, batch.turns[checked.sources[-1]]):
            checked = FactRefusal.GATE
        if isinstance(checked, Fact):
            facts.append(checked)
        else:
            refused[checked] += 1
    return facts, refused


def _let_in(scope: Scope, fact: Fact, source: Turn) -> bool:
    """Return whether the gate lets the fact in unchanged."""
    policy = in_force(scope.namespace_id).gate
    verdicts = [
        judge(text, role=source.role, speaker=source.speaker, policy=policy)
        for text in (fact.text, f"{fact.holder}, {fact.attribute}: {fact.value}")
    ]
    return all(verdict.decision == GateDecision.ACCEPT and not verdict.suspected for verdict in verdicts)
