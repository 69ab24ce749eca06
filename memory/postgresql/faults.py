"""What PostgreSQL's refusals of rows mean."""

from __future__ import annotations

import psycopg
from django.db import IntegrityError

_OF_NAMESPACES = "fk_memory_namespace_id"


def lacks_namespace(error: BaseException) -> bool:
    """Whether rows were refused because their namespace is not there any longer."""
    cause = error.__cause__
    if not (isinstance(error, IntegrityError) and isinstance(cause, psycopg.errors.ForeignKeyViolation)):
        return False
    return (cause.diag.constraint_name or "").endswith(_OF_NAMESPACES)
