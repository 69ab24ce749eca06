"""Writes arrays as parameters of statements, because psycopg takes longer for large ones."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakSet

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg.halfvec import HalfVectorBinaryDumper
from psycopg.types import TypeInfo

from memory.postgresql.base import open_connection
from memory.text.vectors import halfvec_literal

# The connections on which pgvector's dumper is registered with the database's OID of `halfvec`.
_adapted: WeakSet[psycopg.Connection] = WeakSet()


def uuid_array(ids: Iterable[str]) -> str:
    """Returns a parameter for `%(…)s::uuid[]` in PostgreSQL's text form; psycopg would write each id by itself."""
    return "{" + ",".join(ids) + "}"


def number_array(values: Iterable[int | float]) -> str:
    """Returns a parameter for `%(…)s::int[]` and other arrays of numbers, as `uuid_array` does."""
    return "{" + ",".join(map(str, values)) + "}"


def text_array(values: Iterable[str]) -> str:
    """Returns a parameter for `%(…)s::text[]`, as `uuid_array` does."""
    escaped = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return "{" + ",".join([f'"{value}"' for value in escaped]) + "}"


def vector_array(vectors: Iterable[np.ndarray]) -> str:
    """Returns a parameter for `%(…)s::text[]` whose elements cast to `halfvec`, of vectors float32 [dimensions]."""
    return "{" + ",".join(f'"{halfvec_literal(vector)}"' for vector in vectors) + "}"


def halfvecs(vectors: np.ndarray) -> list[HalfVector]:
    """Returns a parameter of `fetch` for `%(…)b::halfvec[]`, of vectors float32 [vectors, dimensions].

    It registers pgvector's dumper on this thread's connection, but no loader, so that rows are read as before.
    """
    raw = open_connection().connection
    if raw not in _adapted:
        info = TypeInfo.fetch(raw, "halfvec")
        assert info is not None
        info.register(raw)
        raw.adapters.register_dumper(HalfVector, type("_Dumper", (HalfVectorBinaryDumper,), {"oid": info.oid}))
        _adapted.add(raw)
    return [HalfVector(vector) for vector in vectors.astype(np.float16)]
