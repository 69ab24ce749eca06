"""Arrays as parameters of statements, written here where psycopg would take longer."""

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

# Connections that know the number which their database has given to the type.
_adapted: WeakSet[psycopg.Connection] = WeakSet()


def uuid_array(ids: Iterable[str]) -> str:
    """Writes a parameter for `%(…)s::uuid[]` as PostgreSQL reads it: psycopg writes hundreds of ids one by one."""
    return "{" + ",".join(ids) + "}"


def number_array(values: Iterable[int | float]) -> str:
    """Writes a parameter for `%(…)s::int[]` and the like, as `uuid_array` does."""
    return "{" + ",".join(map(str, values)) + "}"


def text_array(values: Iterable[str]) -> str:
    """Writes a parameter for `%(…)s::text[]`, as `uuid_array` does."""
    escaped = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return "{" + ",".join([f'"{value}"' for value in escaped]) + "}"


def vector_array(vectors: Iterable[np.ndarray]) -> str:
    """Writes a parameter for `%(…)s::text[]` whose elements cast to `halfvec`, of vectors float32 [dimensions]."""
    return "{" + ",".join(f'"{halfvec_literal(vector)}"' for vector in vectors) + "}"


def halfvecs(vectors: np.ndarray) -> list[HalfVector]:
    """Returns a parameter of `fetch` for `%(…)b::halfvec[]`, of vectors float32 [vectors, dimensions].

    Only pgvector's dumper is registered, on the connection of this thread: rows come as they did.
    """
    raw = open_connection().connection
    if raw not in _adapted:
        info = TypeInfo.fetch(raw, "halfvec")
        assert info is not None
        info.register(raw)
        raw.adapters.register_dumper(HalfVector, type("_Dumper", (HalfVectorBinaryDumper,), {"oid": info.oid}))
        _adapted.add(raw)
    return [HalfVector(vector) for vector in vectors.astype(np.float16)]
