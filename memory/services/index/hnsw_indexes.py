"""Makes and drops pgvector's HNSW indexes: one of the searchable vectors of each large namespace and model.

The worker does it, as the login that owns the tables: the roles of requests and jobs own nothing. Nobody waits for it.
A search uses an index from when it is whole, and compares all vectors before and after.
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

# pgvector's own: more links cost bytes and ingests, more candidates time to build.
LINKS = 16
CANDIDATES = 64
# One that has become smaller keeps its index until it has half of what makes a namespace large.
KEPT_SHARE = 0.5
# An index that could not be built is not tried again by the same process before: it costs as much each time.
RETRY_SECONDS = 3600.0
# A vector of half precision with its links, as the build has it in memory.
_BYTES_EACH = 2.5
# Megabytes that PostgreSQL may use to build one: enough for 600,000 vectors of 384 dimensions; beyond it is slower.
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
    """Says what a run did: indexes made and dropped; whether one is still being made or dropped, by this run or
    another."""

    made: int = 0
    dropped: int = 0
    is_at_work: bool = False


@dataclass(frozen=True, slots=True)
class HnswIndexes:
    """Lists the indexes that there should be and those that there are; `valid`: those that searches use. `left_out`:
    namespaces that have none because as many others as may have one do."""

    wanted: list[Place]
    valid: set[Place]
    invalid: set[Place]
    left_out: list[int]


def keep_up(*, seconds: float) -> HnswReport:
    """Drops indexes that are no longer wanted and makes those that are missing; a second run finds nothing to do.

    Waits for about `seconds`. What takes longer goes on in PostgreSQL without this process, and the next run sees how
    it ended; until then no other begins. Writers are not stopped.
    """
    deadline = time.monotonic() + seconds
    state = look()
    unwanted = [place for place in state.valid | state.invalid if place not in state.wanted]
    missing = [place for place in state.wanted if place not in state.valid]
    if not unwanted and not missing:
        return HnswReport()
    made = dropped = 0
    # A connection of its own: it has the lock for as long as PostgreSQL is at work, also when this process has ended.
    with closing(connection.copy()) as own:
        own.connect()
        raw = own.connection
        if not try_lock_in_session(Lock.HNSW_INDEXES, on=raw):
            return HnswReport(is_at_work=True)
        # What was being made a moment ago may be whole now.
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
    """Looks up which indexes there should be, and which there are."""
    there = _list_indexes()
    wanted, left_out = _list_wanted({place.namespace_id for place in there})
    return HnswIndexes(
        wanted,
        {place for place, is_valid in there.items() if is_valid},
        {place for place, is_valid in there.items() if not is_valid},
        left_out,
    )


def list_ready() -> set[Place]:
    """Lists the namespaces and models whose index searches use."""
    return {place for place, is_valid in _list_indexes().items() if is_valid}


def _list_indexes() -> dict[Place, bool]:
    """Lists every index there is, and whether it is whole."""
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES, [hnsw.PREFIX])
        rows = cursor.fetchall()
    # A name of another shape is nobody's of ours.
    named = ((re.fullmatch(hnsw.PREFIX + r"(\d+)_(\d+)", name), is_valid) for name, is_valid in rows)
    return {Place(int(found[1]), int(found[2])): is_valid for found, is_valid in named if found}


def _list_wanted(indexed: set[int]) -> tuple[list[Place], list[int]]:
    """Lists the indexes that there should be, and the namespaces that are too many.

    Those that have one come first, then the largest.
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
    """Tells whether this server can have such indexes: Citus makes none of one namespace alone, and an older pgvector
    does not go on where a filter leaves too few."""
    vector, citus = find_extension("vector"), find_extension("citus")
    if vector is None or vector[1] is None or (citus is not None and citus[1] is not None):
        return False
    return tuple(map(int, vector[1].split(".")[:2])) >= hnsw.MIN_PGVECTOR


def _make(raw: psycopg.Connection[Any], place: Place, *, deadline: float) -> bool | None:
    """Tells whether the index was made; False while there is nothing to index, None when it is not ready at the
    deadline."""
    table = queries.find_part(raw, *place)
    if table is None:
        return False
    dimensions = EmbeddingModel.objects.values_list("dimensions", flat=True).get(pk=place.model_id)
    vectors = queries.count_vectors(raw, *place)
    megabytes = min(MAX_BUILD_MB, int(vectors * dimensions * 2 * _BYTES_EACH / 2**20) + 16)
    # In one process: several would share memory that a container has little of, and take every core from requests.
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
    """Tells whether the index is gone by the deadline."""
    name = sql.Identifier(hnsw.name_index(*place))
    raw.execute("SELECT set_config('statement_timeout', '0', false)")
    return _carry_out(raw, sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(name), deadline=deadline)


def _carry_out(raw: psycopg.Connection[Any], statement: sql.Composed, *, deadline: float) -> bool:
    """Tells whether PostgreSQL has carried the statement out by the deadline (monotonic seconds); else it goes on.

    Raises psycopg.Error.
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
