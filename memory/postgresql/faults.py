"""What PostgreSQL's refusals of rows mean."""

from __future__ import annotations

import psycopg
from django.db import IntegrityError

# How Django names a foreign key to namespaces; long names are cut off behind this.
_OF_NAMESPACES = "_fk_memory_na"


def lacks_namespace(error: BaseException) -> bool:
    """Whether rows were refused because their namespace is not there any longer.

    On tables that are split (Citus) no foreign key says so.
    """
    cause = error.__cause__
    if not (isinstance(error, IntegrityError) and isinstance(cause, psycopg.errors.ForeignKeyViolation)):
        return False
    return _OF_NAMESPACES in (cause.diag.constraint_name or "")
