from __future__ import annotations

import subprocess

from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg.conninfo import make_conninfo

from memory.services.backup import postgres
from tests.upgrades.steps import step_to


def read_schema() -> list[str]:
    """What pg_dump writes of the tables, without indentation, which the bodies of functions keep."""
    known = connection.get_connection_params()
    address = make_conninfo(
        **{name: known[name] for name in ("host", "port", "user", "password", "dbname") if known.get(name)}
    )
    tool = postgres.find_tool("pg_dump", server=postgres.server_major())
    done = subprocess.run(
        [tool, "--schema-only", "--no-owner", f"--dbname={address}"], capture_output=True, text=True, check=True
    )
    lines = [line.strip() for line in done.stdout.splitlines()]
    return [line for line in lines if not line.startswith(("\\restrict", "\\unrestrict"))]


def read_names() -> set[tuple[str, str]]:
    return set(MigrationRecorder(connection).applied_migrations())


def test_a_new_database_is_as_one_that_came_by_every_step(transactional_db):
    step_to(None)
    step_to("0001_extensions")
    call_command("migrate", verbosity=0)
    by_steps, names = read_schema(), read_names()
    assert ("memory", "0001_squashed_0077_jobs_are_the_queue") in names

    call_command("migrate", "memory", "zero", verbosity=0)
    assert not [line for line in read_schema() if "memory_" in line]
    call_command("migrate", verbosity=0)

    assert read_schema() == by_steps
    assert read_names() == names
