"""One memory beside the earlier ones that it may be about, and what that means: the object that the steps of `settle`
share, and the steps that read and decide. `outcome` stores."""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from django.db.models import Case, F, Q, Sum, When, Window
from django.db.models.functions import Length

from memory import caller
from memory.enums import Role
from memory.errors import EmbeddingRefused
from memory.governance.comparison import Settled
from memory.governance.supersession import list_search_terms, settle, updating_texts
from memory.models import Memory
from memory.models.memory import MemoryQuerySet, spans_of
from memory.services.index import neighbours
from memory.services.index.embedding_model import active_model
from memory.services.memories import clause_meanings, unsure_pairs
from memory.services.memories.clause_meanings import ClauseMeanings
from memory.text.utterances import Statement, live_statements
from memory.types import Scope

log = logging.getLogger("memos.settling")

# What a change names must share so much with a memory before the memory is looked at; so many are looked at.
LEAST_SHARE = 0.5
_LOOKED_AT = 100
# Memories near in meaning that are looked at for the former value of an attribute.
_NEAR = 50
# The nearest of them are weighed by meaning, so many clauses at most.
_NEAREST = 10
# What one memory may cost, whatever is written in it: changes and values that earlier memories are looked for by,
# characters of earlier memories, newest first, and seconds of judging, of the CPU of its thread.
MOST_WANTED = 100
MOST_TOLD = 20
MOST_EARLIER_CHARS = 1_000_000
MOST_SECONDS = 5.0
_PEOPLE = (Role.USER,)
# Memories of a session whose statements are embedded together.
READ_AHEAD = 16
# What is read of earlier memories.
_READ = ("namespace", "role", "speaker", "text", "context", "metadata", "state", "content_hash", "retired_spans")
# The key of a memory's metadata that names, by their ids, the memories that it is feedback on; so many are compared.
FEEDBACK_ON = "feedback_on"
MOST_NAMED = 200


@dataclass(slots=True)
class MemoryComparison:
    """`memory` says `statements`, as far as they hold; `told`: those that tell of a change, MOST_TOLD at most.

    `earlier`: the memories that the statements may be about, oldest first; `near`: those nearest to each of `told`
    in meaning, nearest first; `meanings`: of `told` and of what is near. `settled`: what is decided of them;
    `same`: the earlier memories that say the same. `judge`: the language model that decided it; empty: the rules.
    """

    scope: Scope
    memory: Memory
    statements: Sequence[Statement] = ()
    told: Sequence[str] = ()
    earlier: Sequence[Memory] = ()
    meanings: ClauseMeanings | None = None
    near: Sequence[Sequence[uuid.UUID]] = ()
    settled: Settled[uuid.UUID] = field(default_factory=Settled)
    same: Sequence[uuid.UUID] = ()
    judge: str = ""

    @property
    def changes_nothing(self) -> bool:
        settled = self.settled
        return not (settled.retired or settled.linked or settled.review or settled.unsure or self.same)

    @property
    def memories(self) -> dict[uuid.UUID, Memory]:
        """All of them as they were read, by id."""
        return {one.pk: one for one in (self.memory, *self.earlier)}


def select_said_by_people(rows: MemoryQuerySet) -> MemoryQuerySet:
    """What people said, and still holds: chunks of documents and what agents said decide nothing."""
    return rows.active().filter(superseded_by=None, role__in=_PEOPLE, turn__gt=0).select_related("namespace")


def read_memory(scope: Scope, memory_id: uuid.UUID) -> MemoryComparison | None:
    """The comparison of a memory as it is now; None when it decides nothing, or no more."""
    memory = select_said_by_people(Memory.objects.in_scope(scope)).filter(pk=memory_id).first()
    return begin(scope, memory) if memory is not None else None


def begin(scope: Scope, memory: Memory) -> MemoryComparison:
    """The comparison of a memory with nothing yet."""
    statements = statements_of(memory)
    return MemoryComparison(scope, memory, statements, updating_texts(statements)[:MOST_TOLD])


def read_ahead(scope: Scope, memories: MemoryQuerySet) -> Iterator[tuple[Memory, MemoryComparison | None]]:
    """The memories, as they are now, in their order, with their comparisons; None of one that cannot be read.

    What READ_AHEAD of them tell is embedded together, which takes half as long. Raises EmbeddingUnavailable.
    """
    keys = list(memories.values_list("pk", flat=True))
    for start in range(0, len(keys), READ_AHEAD):
        some = keys[start : start + READ_AHEAD]
        found = {memory.pk: memory for memory in memories.filter(pk__in=some).defer("terms")}
        comparisons: dict[uuid.UUID, MemoryComparison] = {}
        for pk, memory in found.items():
            # It fails again, and alone, when it is compared.
            with suppress(Exception):
                comparisons[pk] = begin(scope, memory)
        # Whose text it is finds it refused when it is compared.
        with caller.within_namespace(scope.namespace_id), suppress(EmbeddingRefused):
            clause_meanings.embed(active_model(), [text for one in comparisons.values() for text in one.told])
        yield from ((found[pk], comparisons.get(pk)) for pk in some if pk in found)


def statements_of(memory: Memory) -> list[Statement]:
    """The statements of a memory that hold."""
    by_agent = memory.role not in _PEOPLE
    return live_statements(memory.text, spans_of(memory.retired_spans), speaker=memory.speaker, by_agent=by_agent)


def find_earlier(comparison: MemoryComparison) -> None:
    """Adds the earlier memories that what is said may be about: those that it names, and those that a search finds.

    Raises EmbeddingUnavailable.
    """
    scope, memory, statements = comparison.scope, comparison.memory, comparison.statements
    named = list_named(memory)
    found = set(named)
    for wanted in list(dict.fromkeys(list_search_terms(statements)))[:MOST_WANTED]:
        least = math.ceil(len(wanted) * LEAST_SHARE)
        found.update(neighbours.find_sharing(scope, terms=sorted(wanted), least=least, limit=_LOOKED_AT))
    if comparison.told:
        comparison.meanings = meanings = ClauseMeanings(active_model(), comparison.told)
        vectors = list(meanings.told.values())
        comparison.near = neighbours.near_each(scope, vectors, model_id=meanings.model.id, limit=_NEAR)
        found.update(*comparison.near)
    before = Q(occurred_at__lt=memory.occurred_at) | Q(occurred_at=memory.occurred_at, pk__lt=memory.pk)
    rows = Memory.objects.in_scope(scope).active().filter(before, pk__in=found, superseded_by=None, turn__gt=0)
    rows = rows.only(*_READ)
    newest = [Case(When(pk__in=named, then=0), default=1), F("occurred_at").desc(), F("pk").desc()]
    measured = rows.annotate(characters=Window(Sum(Length("text")), order_by=newest))
    read = measured.filter(characters__lte=MOST_EARLIER_CHARS).order_by("occurred_at", "pk")
    comparison.earlier = [one for one in read if _is_one_person(one, memory)]


def list_named(memory: Memory) -> frozenset[uuid.UUID]:
    """The memories that a memory names as what it is feedback on, MOST_NAMED at most; whoever wrote it chose them."""
    named = memory.metadata.get(FEEDBACK_ON)
    ids = []
    for one in named[:MOST_NAMED] if isinstance(named, list) else ():
        with suppress(ValueError):
            ids.append(uuid.UUID(one if isinstance(one, str) else ""))
    return frozenset(ids)


def _is_one_person(one: Memory, other: Memory) -> bool:
    """Not when their metadata names two users: then they share no more than the namespace."""
    return all(
        one.metadata[key] == other.metadata[key]
        for key in ("user_id", "user")
        if key in one.metadata and key in other.metadata
    )


def decide(comparison: MemoryComparison) -> None:
    """Adds what the memory does to the earlier ones, by the rules and by meaning. Raises EmbeddingUnavailable."""
    memory, statements = comparison.memory, comparison.statements
    until = time.thread_time() + MOST_SECONDS
    earlier = {one.pk: statements_of(one) for one in comparison.earlier}
    meanings = comparison.meanings
    if meanings is not None:
        nearest = (key for each in comparison.near for key in each[:_NEAREST])
        compared = dict.fromkeys((*sorted(list_named(memory)), *nearest))
        meanings.add(one.text for key in compared for one in earlier.get(key, ()))
    comparison.settled = settle(memory.pk, statements, earlier, meanings=meanings, until=until)
    if unsure_pairs.judge_of(comparison.scope.namespace_id) is None:
        comparison.settled.unsure.clear()
    if time.thread_time() > until:
        log.warning("memory not judged to its end", extra={"memory": str(memory.pk), "statements": len(statements)})


def find_same(comparison: MemoryComparison) -> None:
    """Adds the earlier memories that say the same. Raises EmbeddingUnavailable."""
    comparison.same = neighbours.find_near_duplicates(comparison.scope, comparison.memory)
