"""What PostgreSQL's refusals of rows mean."""

from __future__ import annotations

import re

import psycopg
from django.db import IntegrityError

# How Django names a foreign key to namespaces; long names are cut off behind this.
_OF_NAMESPACES = "_fk_memory_na"
_NAMESPACES = re.compile(r"\bmemory_namespace\b")


def lacks_namespace(error: BaseException) -> bool:
    """Whether rows were refused because their namespace is not there any longer.

    The keys of a split table's parts have names of their own; what is missing is named in every language.
    """
    cause = error.__cause__
    if not (isinstance(error, IntegrityError) and isinstance(cause, psycopg.errors.ForeignKeyViolation)):
        return False
    if _OF_NAMESPACES in (cause.diag.constraint_name or ""):
        return True
    return _NAMESPACES.search(cause.diag.message_detail or "") is not None
