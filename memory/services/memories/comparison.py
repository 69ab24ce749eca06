"""Reads a memory and the earlier ones that it may end, update or repeat, and decides. `outcome` stores the result."""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from django.db.models import Case, F, Q, Sum, When, Window
from django.db.models.functions import Length

from memory import caller
from memory.enums import LinkKind, Role
from memory.errors import EmbeddingRefused
from memory.governance.settling import Earlier, Settled, is_update, list_search_terms, settle
from memory.models import Memory, MemoryLink
from memory.models.memory import MemoryQuerySet, spans_of
from memory.services.index import neighbours
from memory.services.index.embedding_model import active_model
from memory.services.memories import statement_vectors
from memory.text.utterances import Statement, live_statements
from memory.types import Scope

log = logging.getLogger("memos.settling")

# An earlier memory must hold this share of the terms of the ended or denied statement; at most this many are read.
_LEAST_SHARE = 0.5
_MAX_SHARING = 100
# At most this many of the nearest earlier memories are read for a statement.
_MAX_NEAR = 20
# Limits of the work for one memory, whatever its text: searches by terms, statements that may be updates, characters of
# earlier memories (newest first), and CPU seconds of deciding.
MAX_SEARCHES = 100
MAX_UPDATES = 20
MAX_EARLIER_CHARS = 1_000_000
MAX_SECONDS = 5.0
_PEOPLE = (Role.USER,)
# The statements of this many memories of a session are embedded together.
READ_AHEAD = 16
# Fields that are read of earlier memories.
_READ = (
    "namespace",
    "session",
    "role",
    "speaker",
    "text",
    "context",
    "metadata",
    "state",
    "content_hash",
    "retired_spans",
)
# This key of a memory's metadata names the ids of the memories that it is feedback on; at most MAX_NAMED are compared.
FEEDBACK_ON = "feedback_on"
MAX_NAMED = 200


@dataclass(slots=True)
class MemoryComparison:
    """Holds a memory with its live `statements`, the `earlier` memories (oldest first), and the `settled` decisions.

    `updates`: its statements that may give a new value. `near`: the earlier memories nearest to these. `same`: the
    earlier memories that say the same. `judge`: the language model that decided; empty when settling did.
    """

    scope: Scope
    memory: Memory
    statements: Sequence[Statement] = ()
    updates: Sequence[str] = ()
    earlier: Sequence[Memory] = ()
    near: Sequence[uuid.UUID] = ()
    settled: Settled[uuid.UUID] = field(default_factory=Settled)
    same: Sequence[uuid.UUID] = ()
    judge: str = ""

    @property
    def changes_nothing(self) -> bool:
        """Return whether there is no decision to store."""
        return not (self.settled.retired or self.settled.linked or self.settled.review or self.same)

    @property
    def memories(self) -> dict[uuid.UUID, Memory]:
        """Return the memory and the earlier ones as they were read, by id."""
        return {one.pk: one for one in (self.memory, *self.earlier)}


def select_said_by_people(rows: MemoryQuerySet) -> MemoryQuerySet:
    """Narrow `rows` to memories that people said and that still hold: documents and agents decide nothing."""
    return rows.active().filter(superseded_by=None, role__in=_PEOPLE, turn__gt=0).select_related("namespace")


def read_memory(scope: Scope, memory_id: uuid.UUID) -> MemoryComparison | None:
    """Begin the comparison of a memory as it is now; None when the memory cannot decide anything, or no longer can."""
    memory = select_said_by_people(Memory.objects.in_scope(scope)).filter(pk=memory_id).first()
    return begin(scope, memory) if memory is not None else None


def begin(scope: Scope, memory: Memory) -> MemoryComparison:
    """Begin the comparison of a memory that is already loaded."""
    statements = statements_of(memory)
    updates = list(dict.fromkeys(said.text for said in statements if is_update(said)))[:MAX_UPDATES]
    return MemoryComparison(scope, memory, statements, updates)


def read_ahead(scope: Scope, memories: MemoryQuerySet) -> Iterator[tuple[Memory, MemoryComparison | None]]:
    """Yield the memories as they are now, in their order, with their comparisons; None for one that can't be read.

    The statements of READ_AHEAD memories are embedded together, which takes half as long. Raises EmbeddingUnavailable.
    """
    keys = list(memories.values_list("pk", flat=True))
    for start in range(0, len(keys), READ_AHEAD):
        some = keys[start : start + READ_AHEAD]
        found = {memory.pk: memory for memory in memories.filter(pk__in=some).defer("terms")}
        comparisons: dict[uuid.UUID, MemoryComparison] = {}
        for pk, memory in found.items():
            # The same error occurs again, and alone, when the memory is compared.
            with suppress(Exception):
                comparisons[pk] = begin(scope, memory)
        # A refused text is found again, alone, when its memory is compared.
        with caller.within_namespace(scope.namespace_id), suppress(EmbeddingRefused):
            statement_vectors.embed(active_model(), [text for one in comparisons.values() for text in one.updates])
        yield from ((found[pk], comparisons.get(pk)) for pk in some if pk in found)


def statements_of(memory: Memory) -> list[Statement]:
    """Return the statements of a memory that hold."""
    by_agent = memory.role not in _PEOPLE
    return live_statements(memory.text, spans_of(memory.retired_spans), speaker=memory.speaker, by_agent=by_agent)


def find_earlier(comparison: MemoryComparison) -> None:
    """Read the earlier memories that the statements may be about. Raises EmbeddingUnavailable."""
    scope, memory, statements = comparison.scope, comparison.memory, comparison.statements
    named = list_named(memory)
    found = set(named)
    for wanted in list(dict.fromkeys(list_search_terms(statements)))[:MAX_SEARCHES]:
        least = math.ceil(len(wanted) * _LEAST_SHARE)
        found.update(neighbours.find_sharing(scope, terms=sorted(wanted), least=least, limit=_MAX_SHARING))
    near = set(named)
    if comparison.updates:
        model = active_model()
        vectors = list(statement_vectors.embed(model, comparison.updates).values())
        near.update(*neighbours.near_each(scope, vectors, model_id=model.id, limit=_MAX_NEAR))
    before = Q(occurred_at__lt=memory.occurred_at) | Q(occurred_at=memory.occurred_at, pk__lt=memory.pk)
    rows = Memory.objects.in_scope(scope).active().filter(before, pk__in=found | near, superseded_by=None, turn__gt=0)
    newest = [Case(When(pk__in=named, then=0), default=1), F("occurred_at").desc(), F("pk").desc()]
    measured = rows.only(*_READ).annotate(characters=Window(Sum(Length("text")), order_by=newest))
    read = measured.filter(characters__lte=MAX_EARLIER_CHARS).order_by("occurred_at", "pk")
    comparison.earlier = [one for one in read if _is_one_person(one, memory)]
    comparison.near = [one.pk for one in comparison.earlier if one.pk in near]


def list_named(memory: Memory) -> frozenset[uuid.UUID]:
    """Return the memories that a memory names as the target of its feedback, at most MAX_NAMED; its writer
    chose them.
    """
    named = memory.metadata.get(FEEDBACK_ON)
    ids = []
    for one in named[:MAX_NAMED] if isinstance(named, list) else ():
        with suppress(ValueError):
            ids.append(uuid.UUID(one if isinstance(one, str) else ""))
    return frozenset(ids)


def _is_one_person(one: Memory, other: Memory) -> bool:
    """Return whether both may be about one person: their metadata does not name two different users of the
    namespace."""
    return all(
        one.metadata[key] == other.metadata[key]
        for key in ("user_id", "user")
        if key in one.metadata and key in other.metadata
    )


def decide(comparison: MemoryComparison) -> None:
    """Decide how the memory changes the earlier ones. Raises EmbeddingUnavailable."""
    memory = comparison.memory
    until = time.thread_time() + MAX_SECONDS
    earlier = Earlier(
        {one.pk: statements_of(one) for one in comparison.earlier},
        comparison.near,
        list_named(memory),
        [one.pk for one in comparison.earlier if one.session == memory.session],
        _list_successions(comparison),
    )
    measure = partial(statement_vectors.measure_cosines, active_model())
    comparison.settled = settle(memory.pk, comparison.statements, earlier, measure_cosines=measure, until=until)
    if time.thread_time() > until:
        extra = {"memory": str(memory.pk), "statements": len(comparison.statements)}
        log.warning("memory not compared to its end", extra=extra)


def _list_successions(comparison: MemoryComparison) -> list[tuple[uuid.UUID, uuid.UUID]]:
    """List (newer, older) of the near memories that are linked already."""
    near = list(comparison.near)
    links = MemoryLink.objects.in_scope(comparison.scope).filter(kind=LinkKind.SUPERSEDES)
    rows = links.filter(memory_id__in=near, other_id__in=near).order_by()
    return list(rows.values_list("memory_id", "other_id")) if len(near) > 1 else []


def find_same(comparison: MemoryComparison) -> None:
    """Find the earlier memories that say the same."""
    comparison.same = neighbours.find_same_text(comparison.scope, comparison.memory)
