"""Makes and drops pgvector's HNSW indexes: one for the searchable vectors of each large namespace and model.

The worker does this as the login that owns the tables, because the roles of requests and jobs own nothing. Searches
compare all vectors until an index is complete.
"""

from __future__ import annotations

import logging
import re
import select
import time
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import psycopg
from django.conf import settings
from django.db import connection
from psycopg import pq, sql

from memory.caches import Cache, for_seconds
from memory.enums import EmbeddingState
from memory.models import EmbeddingModel
from memory.models.locks import Lock, try_lock_in_session
from memory.models.queries import index as queries
from memory.postgresql.statistics import find_extension
from memory.retrieval import hnsw
from memory.services.index.sizes import list_large

log = logging.getLogger("memos.hnsw")

# These are pgvector's defaults: more links cost space and slow ingest down, more candidates slow the build down.
LINKS = 16
CANDIDATES = 64
# A shrinking namespace keeps its index until it has less than this share of the size of a large namespace.
KEPT_SHARE = 0.5
# A process tries an index that it could not build again only after this time, because each attempt is expensive.
RETRY_SECONDS = 3600.0
# The size of a half-precision vector with its links during the build, relative to the vector alone.
_BYTES_EACH = 2.5
# The megabytes that PostgreSQL may use for a build: enough for 600,000 vectors of 384 dimensions; larger ones are
# slower.
MAX_BUILD_MB = 768


class Place(NamedTuple):
    """Names a namespace and the model of its vectors."""

    namespace_id: int
    model_id: int


_began: Cache[Place, float] = for_seconds(RETRY_SECONDS)

_INDEXES = r"""
SELECT c.relname::text, i.indisvalid
FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND starts_with(c.relname, %s)
"""


@dataclass(frozen=True, slots=True)
class HnswReport:
    """Reports a run: indexes made and dropped, and whether one is still being made or dropped, by any run."""

    made: int = 0
    dropped: int = 0
    is_at_work: bool = False


@dataclass(frozen=True, slots=True)
class HnswIndexes:
    """Lists the indexes that should exist, and the existing ones.

    `valid`: the ones that searches use. `left_out`: namespaces without an index because of MEMOS_HNSW_NAMESPACES.
    """

    wanted: list[Place]
    valid: set[Place]
    invalid: set[Place]
    left_out: list[int]


def keep_up(*, seconds: float) -> HnswReport:
    """Drops indexes that are no longer wanted, and makes missing ones.

    It waits for about `seconds`. A statement that takes longer continues in PostgreSQL without this process; no other
    run begins until it has ended, and the next one sees its result. Writers are not blocked.
    """
    deadline = time.monotonic() + seconds
    state = look()
    unwanted = [place for place in state.valid | state.invalid if place not in state.wanted]
    missing = [place for place in state.wanted if place not in state.valid]
    if not unwanted and not missing:
        return HnswReport()
    made = dropped = 0
    # A separate connection holds the lock for as long as PostgreSQL works on the statement, even after this process
    # ends.
    with closing(connection.copy()) as own:
        own.connect()
        raw = own.connection
        if not try_lock_in_session(Lock.HNSW_INDEXES, on=raw):
            return HnswReport(is_at_work=True)
        # An index that was still being made before may be complete now.
        state = look()
        for place in sorted(state.valid | state.invalid):
            if place in state.wanted and place in state.valid:
                continue
            if place in state.wanted and _began.get(place) is not None:
                continue
            if not _drop(raw, place, deadline=deadline):
                return HnswReport(made, dropped, is_at_work=True)
            dropped += 1
        for place in state.wanted:
            if place in state.valid or _began.get(place) is not None:
                continue
            done = _make(raw, place, deadline=deadline)
            if done is None:
                return HnswReport(made, dropped, is_at_work=True)
            made += done
    return HnswReport(made, dropped)


def look() -> HnswIndexes:
    """Looks up which indexes should exist, and which do."""
    there = _list_indexes()
    wanted, left_out = _list_wanted({place.namespace_id for place in there})
    return HnswIndexes(
        wanted,
        {place for place, is_valid in there.items() if is_valid},
        {place for place, is_valid in there.items() if not is_valid},
        left_out,
    )


def list_ready() -> set[Place]:
    """Lists the namespaces and models with an index that searches use."""
    return {place for place, is_valid in _list_indexes().items() if is_valid}


def _list_indexes() -> dict[Place, bool]:
    """Lists the existing indexes, and whether each is complete."""
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES, [hnsw.PREFIX])
        rows = cursor.fetchall()
    # Indexes with other names were not made here.
    named = ((re.fullmatch(hnsw.PREFIX + r"(\d+)_(\d+)", name), is_valid) for name, is_valid in rows)
    return {Place(int(found[1]), int(found[2])): is_valid for found, is_valid in named if found}


def _list_wanted(indexed: set[int]) -> tuple[list[Place], list[int]]:
    """Lists the indexes that should exist, and the namespaces beyond the limit.

    Namespaces that already have an index come first, then the largest.
    """
    if not _is_supported():
        return [], []
    large = dict(list_large())
    sizes = {one: size for one, size in list_large(share=KEPT_SHARE) if one in large or one in indexed}
    chosen = sorted(sizes, key=lambda one: (one not in indexed, -sizes[one]))
    most = settings.MEMOS_HNSW_NAMESPACES
    models = EmbeddingModel.objects.filter(
        state__in=[EmbeddingState.ACTIVE, EmbeddingState.BUILDING], dimensions__lte=hnsw.MOST_DIMENSIONS
    )
    numbers = sorted(models.values_list("pk", flat=True))
    return [Place(one, number) for one in chosen[:most] for number in numbers], chosen[most:]


def _is_supported() -> bool:
    """Tells whether this server supports such indexes.

    Citus cannot index a single namespace, and older versions of pgvector have no iterative scans.
    """
    vector, citus = find_extension("vector"), find_extension("citus")
    if vector is None or vector[1] is None or (citus is not None and citus[1] is not None):
        return False
    return tuple(map(int, vector[1].split(".")[:2])) >= hnsw.MIN_PGVECTOR


def _make(raw: psycopg.Connection[Any], place: Place, *, deadline: float) -> bool | None:
    """Makes an index; returns True if it was made, False if there is nothing to index, None if it takes longer."""
    table = queries.find_part(raw, *place)
    if table is None:
        return False
    dimensions = EmbeddingModel.objects.values_list("dimensions", flat=True).get(pk=place.model_id)
    vectors = queries.count_vectors(raw, *place)
    megabytes = min(MAX_BUILD_MB, int(vectors * dimensions * 2 * _BYTES_EACH / 2**20) + 16)
    # The build runs in one process: several would need shared memory, which containers limit, and all processor cores.
    for name, value in (
        ("maintenance_work_mem", f"{megabytes}MB"),
        ("max_parallel_maintenance_workers", "0"),
        ("statement_timeout", "0"),
        ("client_connection_check_interval", "0"),
    ):
        raw.execute("SELECT set_config(%s, %s, false)", [name, value])
    _began.put(place, time.monotonic())
    log.info("making an HNSW index", extra={"namespace": place.namespace_id, "vectors": vectors})
    statement = sql.SQL(
        "CREATE INDEX CONCURRENTLY {} ON {} USING hnsw ((embedding::halfvec({})) halfvec_cosine_ops) "
        "WITH (m = {}, ef_construction = {}) WHERE namespace_id = {} AND model_id = {} AND searchable"
    ).format(
        sql.Identifier(hnsw.name_index(*place)),
        sql.SQL(table),
        *map(sql.Literal, (dimensions, LINKS, CANDIDATES, *place)),
    )
    if not _carry_out(raw, statement, deadline=deadline):
        return None
    _began.forget(place)
    return True


def _drop(raw: psycopg.Connection[Any], place: Place, *, deadline: float) -> bool:
    """Drops an index; returns whether that ended by the deadline."""
    name = sql.Identifier(hnsw.name_index(*place))
    raw.execute("SELECT set_config('statement_timeout', '0', false)")
    return _carry_out(raw, sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(name), deadline=deadline)


def _carry_out(raw: psycopg.Connection[Any], statement: sql.Composed, *, deadline: float) -> bool:
    """Runs a statement; returns whether it ended by the deadline (monotonic seconds), after which it continues.

    Raises psycopg.Error if it failed.
    """
    wire = raw.pgconn
    wire.send_query(statement.as_bytes(raw))
    while wire.flush():
        select.select([], [wire.socket], [])
    while wire.is_busy():
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        select.select([wire.socket], [], [], left)
        wire.consume_input()
    while (result := wire.get_result()) is not None:
        if result.status == pq.ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result)
    return True
