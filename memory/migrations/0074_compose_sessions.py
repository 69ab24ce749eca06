"""Names that requests look up in composed form (NFC): sessions, documents, users, and speakers beside those of memories.

The audit log keeps the names as they were: it is sealed, and reading it looks for both forms. The ids of owners are
metadata, which filters find in both forms.
"""

import logging
from typing import Any

from django.db import migrations

log = logging.getLogger("memos.migrations")

# Where a session's name is, and in which column.
SESSIONS = {
    "memory_session": "name",
    "memory_memory": "session",
    "memory_condensation": "session",
    "memory_stalesource": "session",
    "memory_entitywatermark": "session",
    "memory_topicnode": "session",
    "memory_contextpack": "session",
    "memory_document": "session",
    "memory_documentfile": "session",
    "memory_quarantineditem": "session",
    "memory_erasure": "session",
    "memory_erasedsession": "session",
    "memory_auditwords": "session",
}
# Where two names cannot become one: turns and summaries count up in a session.
DISTINCT = (
    "memory_session", "memory_memory", "memory_condensation", "memory_stalesource", "memory_entitywatermark",
    "memory_topicnode", "memory_erasedsession",
)  # fmt: skip
SPEAKERS = ("memory_memoryversion", "memory_quarantineditem", "memory_memoryimport")
# One in a namespace: a name whose composed form is taken, or sought by two, stays as it is.
UNIQUE = {"memory_document": "document_id", "memory_user": "name"}

FIND_SESSIONS = f"""
CREATE TEMPORARY TABLE compose_session ON COMMIT DROP AS
SELECT DISTINCT namespace_id, was, normalize(was, NFC) AS composed, false AS taken
FROM ({" UNION ALL ".join(f"SELECT namespace_id, {name} AS was FROM {table}" for table, name in SESSIONS.items())}) s
WHERE was IS NOT NFC NORMALIZED
"""
FIND_TAKEN = f"""
UPDATE compose_session c SET taken = true
WHERE EXISTS (SELECT FROM compose_session o
              WHERE o.namespace_id = c.namespace_id AND o.composed = c.composed AND o.was <> c.was)
   {" ".join(
       f"OR EXISTS (SELECT FROM {table} t WHERE t.namespace_id = c.namespace_id AND t.{SESSIONS[table]} = c.composed)"
       for table in DISTINCT
   )}
"""
COMPOSE_SESSION = """
UPDATE {table} t SET {name} = c.composed FROM compose_session c
WHERE c.namespace_id = t.namespace_id AND c.was = t.{name} AND NOT c.taken
"""
# Jobs of a session name it behind their namespace. One that waits under the composed name already does the work.
COMPOSE_JOBS = """
UPDATE memory_job t SET arguments = jsonb_set(t.arguments, '{1}', to_jsonb(c.composed)) FROM compose_session c
WHERE c.namespace_id = t.namespace_id AND c.was = t.arguments ->> 1 AND NOT c.taken
  AND NOT EXISTS (
      SELECT FROM memory_job o WHERE o.namespace_id = t.namespace_id AND o.kind = t.kind
        AND o.arguments = jsonb_set(t.arguments, '{1}', to_jsonb(c.composed))
  )
"""
COUNT_TAKEN = "SELECT count(*) FROM compose_session WHERE taken"
DROP_SESSIONS = "DROP TABLE compose_session"
COMPOSE_UNIQUE = """
UPDATE {table} t SET {name} = normalize(t.{name}, NFC)
WHERE t.{name} IS NOT NFC NORMALIZED
  AND NOT EXISTS (
      SELECT FROM {table} o WHERE o.namespace_id = t.namespace_id AND o.{name} <> t.{name}
        AND normalize(o.{name}, NFC) = normalize(t.{name}, NFC)
  )
"""
COUNT_DECOMPOSED = "SELECT count(*) FROM {table} WHERE {name} IS NOT NFC NORMALIZED"
COMPOSE_FILES = """
UPDATE memory_documentfile t SET document_id = normalize(t.document_id, NFC)
WHERE t.document_id IS NOT NFC NORMALIZED
  AND NOT EXISTS (
      SELECT FROM memory_document o WHERE o.namespace_id = t.namespace_id AND o.document_id = t.document_id
  )
"""
COMPOSE_SPEAKERS = "UPDATE {table} SET speaker = normalize(speaker, NFC) WHERE speaker IS NOT NFC NORMALIZED"


def compose_names(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(FIND_SESSIONS)
        cursor.execute(FIND_TAKEN)
        for table, name in SESSIONS.items():
            cursor.execute(COMPOSE_SESSION.format(table=table, name=name))
        cursor.execute(COMPOSE_JOBS)
        _report_left(cursor, COUNT_TAKEN, "sessions")
        cursor.execute(DROP_SESSIONS)
        for table, name in UNIQUE.items():
            cursor.execute(COMPOSE_UNIQUE.format(table=table, name=name))
            _report_left(cursor, COUNT_DECOMPOSED.format(table=table, name=name), table.removeprefix("memory_") + "s")
        cursor.execute(COMPOSE_FILES)
        for table in SPEAKERS:
            cursor.execute(COMPOSE_SPEAKERS.format(table=table))


def _report_left(cursor: Any, count: str, what: str) -> None:
    cursor.execute(count)
    if left := cursor.fetchone()[0]:
        log.warning(
            "%s %s keep a decomposed name (Unicode), because another one of the namespace has it composed: requests by"
            " name find the other one.",
            left, what,
        )  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("memory", "0073_default_namespace")]

    operations = [migrations.RunPython(compose_names, migrations.RunPython.noop)]
