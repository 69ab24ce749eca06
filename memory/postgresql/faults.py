"""Interprets PostgreSQL's errors."""

from __future__ import annotations

import re

import psycopg
from django.db import IntegrityError

# The table of namespaces, or a shard of it, to whose name Citus appends a number.
_NAMESPACES = re.compile(r"\bmemory_namespace(?:_\d+)?\b")


def lacks_namespace(error: BaseException) -> bool:
    """Tells whether rows were refused because their namespace no longer exists.

    The detail of the error names the table that lacks a row, in every language. The name of the constraint cannot be
    used, because partitions and shards have other names, and Citus forwards only the texts of a node's error.
    """
    cause = error.__cause__
    if not (isinstance(error, IntegrityError) and isinstance(cause, psycopg.errors.ForeignKeyViolation)):
        return False
    return _NAMESPACES.search(cause.diag.message_detail or "") is not None
