"""Which namespaces have chosen an HNSW index, and whether another one may: each is an index of its own."""

from __future__ import annotations

from django.conf import settings
from django.db import connection

from memory.errors import InvalidInput
from memory.models import NamespacePolicy
from memory.models.locks import Lock, lock_in_transaction
from memory.postgresql import reach
from memory.retrieval import hnsw
from memory.retrieval.size import count_memories
from memory.text.translatable import Sentence
from memory.text.translatable import gettext_noop as _
from memory.types import Scope

KEY = "index"
HNSW = "hnsw"


def list_choices() -> dict[int, str]:
    """By namespace what its own policy says about the index; those that leave it to the environment are not there."""
    newest = NamespacePolicy.objects.across_namespaces().order_by("namespace_id", "-version").distinct("namespace_id")
    rows = newest.values_list("namespace_id", "overrides")
    return {namespace_id: overrides[KEY] for namespace_id, overrides in rows if KEY in overrides}


def check_hnsw(scope: Scope) -> None:
    """Whether the namespace may choose an HNSW index now; what is checked holds until the caller's transaction ends.

    Raises InvalidInput, which says why not.
    """
    # Two that choose at once would both be the last one.
    lock_in_transaction(Lock.POLICY, reach.NO_NAMESPACE)
    problem = _problem(scope)
    if problem is not None:
        field = f"policy.{KEY}"
        raise InvalidInput(f"{field}: {problem}", detail=[{"field": field, "problem": problem}])


def server_problem() -> Sentence | None:
    """Why no namespace of this server can have an HNSW index; None when it can."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extname::text, extversion FROM pg_extension WHERE extname IN ('vector', 'citus')")
        versions = dict(cursor.fetchall())
    if "citus" in versions:
        return Sentence(_("cannot be hnsw here: Citus makes no index of one namespace alone. Leave it at ivf."))
    if tuple(int(part) for part in versions["vector"].split(".")[:2]) < hnsw.MIN_PGVECTOR:
        return Sentence(
            _(
                "cannot be hnsw here: pgvector %(has)s does not go on where a filter leaves too few. Update it to "
                "%(needed)s or later (ALTER EXTENSION vector UPDATE), or leave it at ivf."
            ),
            has=versions["vector"],
            needed=".".join(map(str, hnsw.MIN_PGVECTOR)),
        )
    if not settings.MEMOS_HNSW_NAMESPACES:
        return Sentence(_("cannot be hnsw here: the server has none. Set MEMOS_HNSW_NAMESPACES, or leave it at ivf."))
    return None


def _problem(scope: Scope) -> Sentence | None:
    problem = server_problem()
    if problem is not None:
        return problem
    memories = count_memories(scope)
    if memories <= settings.MEMOS_LARGE_NAMESPACE_MEMORIES:
        return Sentence(
            _(
                "cannot be hnsw yet: the namespace has %(memories)s memories, and up to %(small)s are compared one by "
                "one, which misses none. Choose it when there are more."
            ),
            memories=f"{memories:,}",
            small=f"{settings.MEMOS_LARGE_NAMESPACE_MEMORIES:,}",
        )
    with reach.across_namespaces():
        others = [one for one, choice in list_choices().items() if choice == HNSW and one != scope.namespace_id]
    if len(others) >= settings.MEMOS_HNSW_NAMESPACES:
        return Sentence(
            _(
                "cannot be hnsw: as many namespaces of this server have chosen it as may, %(most)s. Set one of them "
                "back to ivf, raise MEMOS_HNSW_NAMESPACES, or leave it at ivf."
            ),
            most=settings.MEMOS_HNSW_NAMESPACES,
        )
    return None
