"""Provides a namespace for a measurement, which no other process ever sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction

from memory.gate.worth import worth
from memory.models import Namespace
from memory.models.keys import new_id
from memory.postgresql import statistics
from memory.services.index.embedding import Embedded, embed_memories, passages_to_embed
from memory.services.index.insert import LetIn, MemoryRow, prepare_row, write
from memory.services.tenancy.policy import in_force
from memory.types import NewMemory, Scope

# The number of memories of one write, as clients of POST /v1/ingest/batch send them.
BATCH = 200
# Other namespaces may have such a name too: it only tells people their purpose.
PREFIX = "evaluation-"
MAX_NAME_CHARS = 128


def embed_batches(memories: Sequence[NewMemory]) -> list[Embedded]:
    """Embed all passages of `memories`, for each BATCH of them. Raises EmbeddingUnavailable."""
    passages = [passages_to_embed(memory.text, memory.speaker) for memory in memories]
    return [embed_memories(passages[start : start + BATCH]) for start in range(0, len(passages), BATCH)]


@contextmanager
def scratch_namespace(
    name: str, *, memories: Sequence[NewMemory], embedded: Sequence[Embedded], actor: str, keep: bool, now: datetime
) -> Iterator[Scope]:
    """Yield a new namespace PREFIX + `name` with these `memories` and the vectors of `embed_batches`.

    It exists in one transaction that is rolled back at the end, whatever ends it: an error, Ctrl-C, a killed process.
    No other connection sees it, no worker summarises it and its audit events disappear with it. No session window is
    written. `keep` commits it instead, unless an error ends it.
    """
    with transaction.atomic():
        namespace = Namespace.objects.create(
            name=f"{PREFIX}{name}"[:MAX_NAME_CHARS], description="Made by an evaluation", created_at=now
        )
        scope = Scope(namespace.pk, namespace.name, actor)
        for number, vectors in enumerate(embedded):
            batch = memories[number * BATCH : (number + 1) * BATCH]
            write([_row(scope, memory) for memory in batch], vectors, now=now)
        is_counted = statistics.refresh(memories=len(memories))
        yield scope
        if not keep:
            transaction.set_rollback(True)
    if is_counted:
        statistics.count()


def _row(scope: Scope, memory: NewMemory) -> MemoryRow:
    """Rate the memory as ingested ones are, but admit it unchanged: retrieval is measured, not the gate."""
    threshold = in_force(scope.namespace_id).policy.worth_threshold
    let_in = LetIn(small_talk=worth(memory.text, role=memory.role).score < threshold)
    return prepare_row(scope, memory, identity=new_id(), let_in=let_in)
