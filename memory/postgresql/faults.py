"""What PostgreSQL's refusals of rows mean."""

from __future__ import annotations

import re

import psycopg
from django.db import IntegrityError

# The table of namespaces, or a shard of it: Citus puts a number behind its name.
_NAMESPACES = re.compile(r"\bmemory_namespace(?:_\d+)?\b")


def lacks_namespace(error: BaseException) -> bool:
    """Whether rows were refused because their namespace is not there any longer.

    By the table that is missing a row, which the detail names in every language. The name of the key does not do: parts
    and shards have keys of other names, and Citus passes on of a node's refusal its words, and none of its fields.
    """
    cause = error.__cause__
    if not (isinstance(error, IntegrityError) and isinstance(cause, psycopg.errors.ForeignKeyViolation)):
        return False
    return _NAMESPACES.search(cause.diag.message_detail or "") is not None
