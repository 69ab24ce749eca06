"""Sets up row-level security: roles that own no tables, with policies that allow only rows of certain namespaces.

This runs after each migration, for all tables of tenants, and not as a migration, because the roles may be created
later than the tables: a login that may not create roles works without them until a superuser has created them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from memory.postgresql.reach import ROLE_OF_ALL, ROLE_OF_ONE, ROLE_OF_SOME

# The rows that each role may touch. The first condition compares with a stable value, which is as cheap as a constant:
# together with the statement's own `namespace_id = …` it becomes one condition that is evaluated once and not for each
# row. It must not become part of an OR, or a subquery.
_POLICIES = {
    ROLE_OF_ONE: "namespace_id = nullif(current_setting('memos.namespaces', true), '')::bigint",
    ROLE_OF_SOME: (
        "namespace_id = ANY ((SELECT string_to_array(current_setting('memos.namespaces', true), ','))::bigint[])"
    ),
    ROLE_OF_ALL: "true",
}
ROLES = tuple(_POLICIES)

# These tables are read without policies, to look up which namespaces a caller reaches.
_REGISTRIES = ("memory_apikey_namespaces",)

_TABLES = """
SELECT c.relname::text, c.relrowsecurity, NOT a.attnotnull,
       ARRAY(SELECT p.polname::text FROM pg_policy p WHERE p.polrelid = c.oid)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'namespace_id' AND NOT a.attisdropped
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
  AND starts_with(c.relname, 'memory_') AND c.relname <> ALL (%s)
ORDER BY c.relname
"""

# The tables and sequences of the schema that the login owns; another application may have tables in the same schema.
_OWN = """
SELECT c.relname::text FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'S')
  AND pg_has_role(c.relowner, 'USAGE') AND (c.relkind = 'S') = %s
"""

_IS_ENFORCED = """
SELECT count(*) = %s FROM pg_roles r
WHERE r.rolname = ANY (%s) AND NOT r.rolsuper AND NOT r.rolbypassrls AND pg_has_role(session_user, r.oid, 'SET')
  AND has_table_privilege(r.oid, to_regclass('memory_memory'), 'DELETE')
"""


@dataclass(frozen=True, slots=True)
class Protection:
    """Describes what row-level security lacks, and the remedy for the operator; both are '' if it is in force."""

    lacks: str = ""
    fix: str = ""


def is_enforced(cursor: psycopg.Cursor[Any]) -> bool:
    """Tells whether statements can run as the roles, which own nothing and are restricted by the policies."""
    row = cursor.execute(_IS_ENFORCED, [len(ROLES), list(ROLES)]).fetchone()
    return row is not None and bool(row[0])


def state(connection: psycopg.Connection[Any]) -> Protection:
    """Returns what row-level security lacks on the tables of tenants, if anything."""
    with connection.cursor() as cursor:
        lacks = _lacks_roles(cursor)
        if lacks.lacks:
            return lacks
        bare = [name for name, is_enabled, _, known in _tables(cursor) if not is_enabled or {*ROLES} - {*known}]
        if bare or not is_enforced(cursor):
            named = f"no policies on {', '.join(bare[:3])}" if bare else "the roles have no rights on the tables"
            return Protection(named, "manage.py migrate")
    return Protection()


def set_up(connection: psycopg.Connection[Any]) -> Protection:
    """Creates missing roles, policies and rights, as the login that owns the tables; returns the resulting state.

    It changes nothing if roles are missing that the login may not create.
    """
    with connection.transaction(), connection.cursor() as cursor:
        create_roles(cursor)
        lacks = _lacks_roles(cursor)
        if lacks.lacks:
            return lacks
        for name, is_enabled, has_shared, known in _tables(cursor):
            _protect(cursor, name, is_enabled=is_enabled, has_shared=has_shared, known=known)
        _grant(cursor)
    return state(connection)


def create_roles(cursor: psycopg.Cursor[Any]) -> None:
    """Creates the roles that the cluster lacks, if the login may. It must run inside a transaction."""
    for role in ROLES:
        try:
            with cursor.connection.transaction():
                if not cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                    cursor.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
                if not cursor.execute("SELECT WHERE pg_has_role(%s, 'SET')", [role]).fetchone():
                    # The creator of a role may grant it to itself.
                    grant = sql.SQL("GRANT {} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE")
                    cursor.execute(grant.format(sql.Identifier(role)))
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            # A process on another database of this cluster created the role at the same time.
            continue
        except psycopg.errors.InsufficientPrivilege:
            return


def _lacks_roles(cursor: psycopg.Cursor[Any]) -> Protection:
    cursor.execute(
        "SELECT session_user::text, ARRAY(SELECT r.rolname::text FROM pg_roles r WHERE r.rolname = ANY (%(roles)s)), "
        "ARRAY(SELECT r.rolname::text FROM pg_roles r WHERE r.rolname = ANY (%(roles)s) "
        "      AND pg_has_role(session_user, r.oid, 'SET'))",
        {"roles": list(ROLES)},
    )
    row = cursor.fetchone()
    assert row is not None
    login, there, usable = row
    if len(usable) == len(ROLES):
        return Protection()
    made = "".join(f"CREATE ROLE {role} NOLOGIN; " for role in ROLES if role not in there)
    lent = ", ".join(role for role in ROLES if role not in usable)
    return Protection(
        f"the login {login} may not become {lent}",
        f'as a superuser: {made}GRANT {lent} TO "{login}" WITH INHERIT FALSE; then manage.py migrate',
    )


def _tables(cursor: psycopg.Cursor[Any]) -> list[tuple[str, bool, bool, list[str]]]:
    """Lists the tables of tenants: (name, if policies are enabled, if the namespace may be null, policies)."""
    return cursor.execute(_TABLES, [list(_REGISTRIES)]).fetchall()


def _protect(cursor: psycopg.Cursor[Any], name: str, *, is_enabled: bool, has_shared: bool, known: list[str]) -> None:
    table = sql.Identifier(name)
    for role, condition in _POLICIES.items():
        if role in known:
            continue
        # All may read rows of no namespace, but only the role that reaches all namespaces may write them.
        read = f"namespace_id IS NULL OR {condition}" if has_shared else condition
        cursor.execute(
            sql.SQL("CREATE POLICY {} ON {} TO {} USING ({}) WITH CHECK ({})").format(
                sql.Identifier(role), table, sql.Identifier(role), sql.SQL(read), sql.SQL(condition)
            )
        )
    if not is_enabled:
        cursor.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(table))


def _grant(cursor: psycopg.Cursor[Any]) -> None:
    """Grants rights on rows to the roles, but none to truncate or alter tables."""
    roles = sql.SQL(", ").join(map(sql.Identifier, ROLES))
    row = cursor.execute("SELECT current_schema()").fetchone()
    assert row is not None
    cursor.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(sql.Identifier(row[0]), roles))
    for kind, rights in (("TABLE", "SELECT, INSERT, UPDATE, DELETE"), ("SEQUENCE", "SELECT, USAGE")):
        names = [name for (name,) in cursor.execute(_OWN, [kind == "SEQUENCE"]).fetchall()]
        if names:
            of = sql.SQL(", ").join(map(sql.Identifier, names))
            grant = sql.SQL("GRANT {} ON {} {} TO {}")
            cursor.execute(grant.format(sql.SQL(rights), sql.SQL(kind), of, roles))
