"""Looks at what new memories do to earlier ones, and carries out what `governance.supersession` decides: in the
background, session by session, from where the last run ended.

What is taken back or replaced leaves search, statement by statement; a memory of which nothing is left is superseded.
What only a person can settle goes to the review list. Nothing is deleted, and `reinstate` takes all of it back.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Least, Length

from memory import audit, caller
from memory.enums import AuditEvent, LinkKind, MemoryState, Relation, Review, Role
from memory.errors import BudgetExceeded, Conflict, EmbeddingRefused, EmbeddingUnavailable
from memory.governance.conflicts import Decision
from memory.governance.likelihood import Nearness
from memory.governance.supersession import LEAST_CONFIDENCE, Settled, settle, updating_texts, wanted_terms
from memory.models import HOLDS_ON, Memory, MemoryLink, RetiredStatement, Session
from memory.models.locks import Lock, lock_in_transaction, try_lock
from memory.models.memory import MemoryQuerySet, spans_of
from memory.services.index import neighbours
from memory.services.index.embedding import Embedded, active_model, embed_or_none, passages_to_embed
from memory.services.jobs import queue
from memory.services.memories import give_back, skipped_turns, unsure_pairs
from memory.services.memories.change import AS_IT_COMES, MAX_REASON_CHARS, store_change
from memory.services.memories.later import later_memories
from memory.services.memories.retire import ACTOR, Going, reason_of, remaining_text, retire, search_what_holds
from memory.services.memories.supersede import end_memory
from memory.services.tenancy.policy import in_force
from memory.text.clauses import clauses
from memory.text.utterances import Statement, live_statements
from memory.types import Scope, system_access

log = logging.getLogger("memos.settling")

BATCH = 100
# Sessions that are listed at a time.
_LISTED = 200
# What a change names must share so much with a memory before the memory is looked at; so many are looked at.
LEAST_SHARE = 0.5
_LOOKED_AT = 100
# Memories near in meaning that are looked at for the former value of an attribute.
_NEAR = 50
# The nearest of them are weighed by meaning, so many clauses at most.
_NEAREST = 10
MOST_COMPARED = 100
# What one memory may cost, whatever is written in it: changes and values that earlier memories are looked for by,
# characters of earlier memories, newest first, and seconds of judging, of the CPU of its thread.
MOST_WANTED = 100
MOST_TOLD = 20
MOST_EARLIER_CHARS = 1_000_000
MOST_SECONDS = 5.0
# Looks at a memory that is changed meanwhile.
_TRIES = 3
_PEOPLE = (Role.USER,)
_SAME = Decision(Relation.RESTATES, "Both say the same.", (), 1.0)


@dataclass(frozen=True, slots=True)
class _SettleWork:
    scope: Scope
    session: str
    turn: int
    messages: int


def settle_pending(*, now: datetime, seconds: float = float("inf")) -> int:
    """Looks at the memories that came since the last run; returns how many.

    Ends after about `seconds` and goes on in the next run. Idempotent; one run at a time, another does nothing. A
    memory that cannot be looked at becomes a job of its own and keeps nobody waiting. Raises EmbeddingUnavailable.
    """
    deadline = time.monotonic() + seconds
    total = 0
    with try_lock(Lock.SETTLE) as only:
        if only:
            skipped_turns.take_up()
        # Namespaces whose budget of model calls is spent: they wait, and the others do not wait for them.
        spent: set[int] = set()
        while only and (works := _works(without=spent)):
            for work in works:
                if work.scope.namespace_id in spent:
                    continue
                try:
                    total += _settle_session(work, now=now, deadline=deadline)
                except BudgetExceeded as error:
                    spent.add(work.scope.namespace_id)
                    extra = {"namespace": work.scope.namespace, "reason": error.message}
                    log.warning("new memories are not compared with earlier ones yet", extra=extra)
                if time.monotonic() > deadline:
                    return total
    return total


def settle_namespace(scope: Scope, *, now: datetime) -> int:
    """Looks at all that waits in one namespace that nobody else writes; returns how many memories."""
    total = 0
    skipped_turns.take_up(scope.namespace_id)
    while works := _works(scope.namespace_id):
        total += sum(_settle_session(work, now=now) for work in works)
    return total


def settle_memory(scope: Scope, *, memory_id: uuid.UUID, now: datetime) -> None:
    """Looks at one memory again, which says something else now, is away, or is back.

    What the machine did for it is given back, then it is compared anew with those before and after it, and so is what
    was given back with those after that. Raises EmbeddingUnavailable, Conflict.
    """
    given_back = give_back.give_back(scope, newer_ids=[memory_id], now=now)
    if in_force(scope.namespace_id).policy.settle_conflicts:
        _settle(scope, memory_id, now=now)
        for older_id in (memory_id, *given_back):
            _settle_later(scope, older_id, anew=True, now=now)


def settle_one(scope: Scope, *, memory_id: uuid.UUID, now: datetime) -> None:
    """Does what one memory does to earlier ones, and later ones to it. Raises EmbeddingUnavailable, Conflict."""
    _settle(scope, memory_id, now=now)
    _settle_later(scope, memory_id, anew=False, now=now)


_WORKS = """
SELECT s.namespace_id, n.name, s.name, s.settled_turn, s.message_count
FROM memory_session s JOIN memory_namespace n ON n.id = s.namespace_id
WHERE s.message_count > s.settled_turn AND s.namespace_id = coalesce(%(only)s, s.namespace_id)
  AND NOT s.namespace_id = ANY(%(without)s::bigint[])
ORDER BY s.last_message_at, s.name LIMIT %(listed)s
"""


def _works(only: int | None = None, *, without: Collection[int] = ()) -> list[_SettleWork]:
    with connection.cursor() as cursor:
        cursor.execute(_WORKS, {"only": only, "without": list(without), "listed": _LISTED})
        return [_SettleWork(Scope(row[0], row[1], ACTOR), *row[2:]) for row in cursor.fetchall()]


def _settle_session(work: _SettleWork, *, now: datetime, deadline: float = float("inf")) -> int:
    """Looks at the session's next BATCH of turns, as far as it comes until the deadline, and marks how far that was."""
    rows = Memory.objects.in_scope(work.scope).in_session(work.session)
    turns = list(rows.filter(turn__gt=work.turn).order_by("turn").values_list("turn", flat=True)[:BATCH])
    reached = work.turn
    try:
        if turns and not in_force(work.scope.namespace_id).policy.settle_conflicts:
            skipped_turns.note(work.scope, work.session, after=work.turn)
        elif turns:
            said = _said(rows).filter(turn__gt=work.turn, turn__lte=turns[-1]).order_by("turn")
            for memory_id, turn in said.values_list("pk", "turn"):
                if time.monotonic() > deadline:
                    return sum(one <= reached for one in turns)
                _settle_or_queue(work.scope, memory_id, now=now)
                reached = turn
        # What was said since the row of the session was read waits for the next look.
        reached = turns[-1] if turns else work.messages
        return len(turns)
    finally:
        # A session that was emptied meanwhile begins at turn 1 again.
        session = Session.objects.in_scope(work.scope).filter(name=work.session, settled_turn=work.turn)
        session.update(settled_turn=Least(reached, F("message_count")))


def _settle_or_queue(scope: Scope, memory_id: uuid.UUID, *, now: datetime) -> None:
    """Looks at a memory; one that cannot be looked at is tried again by itself. Raises EmbeddingUnavailable."""
    try:
        with caller.within_namespace(scope.namespace_id):
            settle_one(scope, memory_id=memory_id, now=now)
    except Exception as error:
        if isinstance(error, EmbeddingUnavailable) and not isinstance(error, EmbeddingRefused):
            raise
        log.warning("memory not settled", extra={"memory": str(memory_id), "reason": type(error).__name__})
        queue.enqueue(queue.SETTLE, scope.namespace_id, str(memory_id))


def _said(rows: MemoryQuerySet) -> MemoryQuerySet:
    """What people said, and still holds: chunks of documents and what agents said decide nothing."""
    return rows.active().filter(superseded_by=None, role__in=_PEOPLE, turn__gt=0).select_related("namespace")


def _settle(scope: Scope, memory_id: uuid.UUID, *, now: datetime) -> None:
    """Raises Conflict when the memories are changed again and again while they are compared."""
    for _ in range(_TRIES):
        memory = _said(Memory.objects.in_scope(scope)).filter(pk=memory_id).first()
        if memory is None or _compared(scope, memory, now=now):
            return
    raise Conflict("The memory was changed while it was compared with earlier ones.")


def _settle_later(scope: Scope, memory_id: uuid.UUID, *, anew: bool, now: datetime) -> None:
    """Has later memories that were there before do to this one what they would have done; all of them with `anew`."""
    memory = Memory.objects.in_scope(scope).active().filter(pk=memory_id, superseded_by=None, turn__gt=0).first()
    if memory is not None:
        for later_id in later_memories(scope, memory, anew=anew):
            _settle(scope, later_id, now=now)


def _compared(scope: Scope, memory: Memory, *, now: datetime) -> bool:
    """False when one of the memories was changed meanwhile: then nothing was done."""
    own = statements_of(memory)
    earlier = _earlier(scope, memory, own)
    until = time.thread_time() + MOST_SECONDS
    told = {one.pk: statements_of(one) for one in earlier}
    settled = settle(memory.pk, own, told, nearness=_nearness(scope, own, told), until=until)
    if not unsure_pairs.has_judge():
        settled.unsure.clear()
    if time.thread_time() > until:
        log.warning("memory not judged to its end", extra={"memory": str(memory.pk), "statements": len(own)})
    same = neighbours.find_near_duplicates(scope, memory)
    if not (settled.retired or settled.linked or settled.review or settled.unsure or same):
        return True
    return carry_out(scope, memory, settled, same, read={one.pk: one for one in (memory, *earlier)}, now=now)


def statements_of(memory: Memory) -> list[Statement]:
    """The statements of a memory that hold."""
    by_agent = memory.role not in _PEOPLE
    return live_statements(memory.text, spans_of(memory.retired_spans), speaker=memory.speaker, by_agent=by_agent)


def _nearness(
    scope: Scope, own: Sequence[Statement], earlier: Mapping[uuid.UUID, Sequence[Statement]]
) -> Callable[[str, str, str], Nearness | None]:
    """How near the earlier memories that mean most alike are to what says that something changed.

    Nothing is near while another model than MiniLM is active: `governance.likelihood` knows no other's cosines.
    """
    model = active_model()
    told = updating_texts(own)[:MOST_TOLD]
    if not told or not model.is_minilm:
        return lambda *_: None
    near = neighbours.near_any(scope, told, limit=_NEAREST)
    texts = [text for one in told for text in (one, *(clause.text for clause in clauses(one)))]
    texts += [clause.text for key in near for one in earlier.get(key, ()) for clause in clauses(one.text)]
    texts = list(dict.fromkeys(texts))[:MOST_COMPARED]
    vectors = dict(zip(texts, model.embed(texts), strict=True))

    def of(statement: str, clause: str, former: str) -> Nearness | None:
        if not {statement, clause, former} <= vectors.keys():
            return None
        return Nearness(float(vectors[statement] @ vectors[former]), float(vectors[clause] @ vectors[former]))

    return of


_HOLDING = """
SELECT memory_id FROM memory_posting WHERE namespace_id = %s AND term = ANY(%s::text[])
GROUP BY memory_id HAVING count(*) >= %s ORDER BY count(*) DESC, memory_id DESC LIMIT %s
"""


def _earlier(scope: Scope, memory: Memory, own: Sequence[Statement]) -> list[Memory]:
    """The earlier memories that what is said may be about, oldest first."""
    found: set[uuid.UUID] = set()
    with connection.cursor() as cursor:
        for wanted in list(dict.fromkeys(wanted_terms(own)))[:MOST_WANTED]:
            least = -(-len(wanted) * LEAST_SHARE // 1)
            cursor.execute(_HOLDING, [scope.namespace_id, sorted(wanted), least, _LOOKED_AT])
            found.update(identity for (identity,) in cursor.fetchall())
    told = updating_texts(own)
    found.update(neighbours.near_any(scope, told[:MOST_TOLD], limit=_NEAR))
    before = Q(occurred_at__lt=memory.occurred_at) | Q(occurred_at=memory.occurred_at, pk__lt=memory.pk)
    rows = Memory.objects.in_scope(scope).active().filter(before, pk__in=found, superseded_by=None, turn__gt=0)
    read, characters = [], 0
    for pk, length in rows.order_by("-occurred_at", "-pk").values_list("pk", Length("text")):
        characters += length
        if characters <= MOST_EARLIER_CHARS:
            read.append(pk)
    return [one for one in rows.filter(pk__in=read).order_by("occurred_at", "pk") if _one_person(one, memory)]


def _one_person(one: Memory, other: Memory) -> bool:
    """Not when their metadata names two users: then they share no more than the namespace."""
    return all(
        one.metadata[key] == other.metadata[key]
        for key in ("user_id", "user")
        if key in one.metadata and key in other.metadata
    )


def carry_out(
    scope: Scope,
    memory: Memory,
    settled: Settled[uuid.UUID],
    same: Sequence[uuid.UUID],
    *,
    read: Mapping[uuid.UUID, Memory],
    judge: str = "",
    now: datetime,
) -> bool:
    """Stores what was decided; nothing, and False, if one of the memories was changed since it was `read`.

    `judge`: the language model that decided it; empty: the rules.
    """
    going: dict[uuid.UUID, list[Going]] = {}
    for one in settled.retired:
        going.setdefault(one.key, []).append(Going(one.start, one.end, one.by, one.decision, one.names, one.holds))
    named = {*(one.key for one in settled.linked), *(one.key for one in settled.unsure)}
    judged = {memory.pk, *going, *named, *(key for key, *_ in settled.review)}
    embedded = {key: _embedded(read[key], ones) for key, ones in going.items()}
    with transaction.atomic():
        rows = Memory.objects.in_scope(scope).filter(pk__in={*judged, *same}).select_related("namespace")
        held = {row.pk: row for row in rows.order_by("pk").select_for_update(of=("self",))}
        if not all(key in held and _as_read(held[key], read[key]) for key in judged):
            return False
        lock_in_transaction(Lock.SUPERSEDE, scope.namespace_id)
        newer = held[memory.pk]
        for key, ones in going.items():
            _retire(scope, held[key], ones, newer=newer, embedded=embedded[key], judge=judge, now=now)
        for link in settled.linked:
            if link.decision.confidence < LEAST_CONFIDENCE and unsure_pairs.both_hold(
                newer, held[link.key], start=link.start
            ):
                continue
            _link(scope, newer, LinkKind.SUPERSEDES, link.key, link.decision, words=(link.start, link.end), now=now)
        unsure_pairs.note(scope, newer, held, settled.unsure, now=now)
        for key, _, _, decision in settled.review:
            _for_review(scope, held[key], newer, decision, now=now)
        for key in same:
            if key in held:
                _link(scope, newer, LinkKind.RESTATES, key, _SAME, now=now)
    return True


def _embedded(memory: Memory, going: Sequence[Going]) -> Embedded | None:
    left = remaining_text(memory, going)
    return embed_or_none([passages_to_embed(left, memory.speaker, memory.context)]) if left else None


def _as_read(row: Memory, read: Memory) -> bool:
    if row.state != MemoryState.ACTIVE or row.superseded_by is not None:
        return False
    said = bytes(row.content_hash) == bytes(read.content_hash) and row.retired_spans == read.retired_spans
    return said and (row.speaker, row.context) == (read.speaker, read.context)


def _retire(
    scope: Scope,
    older: Memory,
    going: Sequence[Going],
    *,
    newer: Memory,
    embedded: Embedded | None,
    judge: str,
    now: datetime,
) -> None:
    """Takes the statements out of `older`; supersedes it when nothing of it is left."""
    left = len(going)
    going = _open(older, [one for one in going if one.holds or one.decision.confidence >= LEAST_CONFIDENCE])
    if not going or person_said_both_hold(scope, newer.pk, older.pk):
        return
    by_judge = {"judge": judge} if judge else {}
    if len(going) < left:
        # The vectors were made of a text without those that are kept.
        embedded = None
    if older.pk != newer.pk and search_what_holds(older, going):
        embedded = None
    first = max(going, key=lambda one: one.decision.confidence).decision
    if remaining_text(older, going):
        before = len(older.retired_spans) // 2
        retire(older, going, by=newer, embedded=embedded, now=now)
        older.revision += 1
        older.save(update_fields=["retired_spans", "terms", "length", "revision"])
        audit.record(
            scope,
            AuditEvent.MEMORY_RETIRE,
            session=older.session,
            subject=str(older.pk),
            details={
                "by": str(newer.pk),
                "reason": reason_of(first),
                "confidence": first.confidence,
                "statements": len(going),
                "characters": sum(one.end - one.start for one in going),
                "before": {"retired_statements": before},
                "after": {"retired_statements": len(older.retired_spans) // 2},
                "revision": older.revision,
                **by_judge,
            },
            now=now,
        )
    elif older.pk != newer.pk:
        try:
            memory_change = end_memory(older, newer, reason_of(first), first.confidence, scope.actor, now=now)
        except Conflict as error:
            log.info("not superseded", extra={"memory": str(older.pk), "reason": error.message})
            return
        if memory_change is not None:
            memory_change.details.update(by_judge)
        store_change(system_access(scope.actor), older, memory_change, terms=AS_IT_COMES, now=now)


def _open(older: Memory, going: Sequence[Going]) -> list[Going]:
    """Without what was retired already, and what a person took back: that is never retired again."""
    retired = RetiredStatement.objects.filter(namespace_id=older.namespace_id, memory_id=older.pk)
    known = list(retired.values_list("start", "end", "withdrawn_at", "valid_to"))
    starts = {start for start, *_ in known}
    # What left search only may still be taken back.
    ended = {start for start, _, _, valid_to in known if valid_to < HOLDS_ON}
    kept = [(start, end) for start, end, withdrawn_at, _ in known if withdrawn_at is not None]
    return [
        one
        for one in going
        if one.start not in (starts if one.holds else ended)
        and not any(one.start < end and start < one.end for start, end in kept)
    ]


def _for_review(scope: Scope, older: Memory, newer: Memory, decision: Decision, *, now: datetime) -> None:
    made = _link(scope, newer, LinkKind.CONTRADICTS, older.pk, decision, now=now)
    if not made or older.review or decision.relation is not Relation.CONTRADICTS:
        return
    older.review = Review.CONTRADICTION
    older.revision += 1
    older.save(update_fields=["review", "revision"])
    audit.record(
        scope,
        AuditEvent.MEMORY_CONTRADICTION,
        session=older.session,
        subject=str(older.pk),
        details={
            "by": str(newer.pk),
            "reason": reason_of(decision),
            "confidence": decision.confidence,
            "before": {"review": ""},
            "after": {"review": older.review},
            "revision": older.revision,
        },
        now=now,
    )


def _link(
    scope: Scope,
    newer: Memory,
    kind: LinkKind,
    other: uuid.UUID,
    decision: Decision,
    *,
    words: tuple[int, int] | None = None,
    now: datetime,
) -> bool:
    """Links the two, once; whether that is new. What a person said of the two stays as it is. `words`: those of the
    other that are meant."""
    if other == newer.pk or (kind is LinkKind.SUPERSEDES and person_said_both_hold(scope, newer.pk, other)):
        return False
    defaults = {
        "reason": decision.reason[:MAX_REASON_CHARS],
        "confidence": decision.confidence,
        "actor": scope.actor,
        "created_at": now,
        "start": words[0] if words else None,
        "end": words[1] if words else None,
    }
    _, made = MemoryLink.objects.get_or_create(
        namespace_id=scope.namespace_id, memory_id=newer.pk, other_id=other, kind=kind, defaults=defaults
    )
    return made


def person_said_both_hold(scope: Scope, newer_id: uuid.UUID, older_id: uuid.UUID) -> bool:
    """Whether a person said that both hold."""
    links = MemoryLink.objects.in_scope(scope).filter(memory_id=newer_id, other_id=older_id)
    return links.filter(kind=LinkKind.BOTH_HOLD).exists()
