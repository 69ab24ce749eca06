"""On a database that was never migrated, a command explains in one sentence what to do, without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.db import ProgrammingError, connection

from memos_site.migrated import refuse_unmigrated
from tests.evaluation.conftest import write_dataset

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def empty_database() -> Iterator[str]:
    """Return the address of a database without tables."""
    server = urlsplit(os.environ["DATABASE_URL"])
    name = f"empty_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(urlunsplit(server._replace(path="/postgres")), autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        try:
            yield urlunsplit(server._replace(path=f"/{name}"))
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Return the files for commands that read one."""
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text('{"session": "s1", "role": "user", "text": "Green tea."}\n')
    return {"DATASET": str(write_dataset(tmp_path / "pottery")), "TRANSCRIPT": str(transcript)}


@pytest.mark.parametrize(
    "line",
    [
        "evaluate --namespace alice",
        "evaluate DATASET --compare 01a1f915-2054-75a1-9f3a-d010f79b72ce",
        "import_transcript TRANSCRIPT",
    ],
)
def test_a_command_says_what_to_do(empty_database: str, files: dict[str, str], line: str) -> None:
    arguments = [files.get(one, one) for one in line.split()]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", *arguments], cwd=ROOT,
        env={**os.environ, "DATABASE_URL": empty_database}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "The database does not have the tables of this version of MemOS: run `manage.py migrate`, and then this "
        "command again.\n"
    )


@pytest.mark.django_db(transaction=True)
def test_what_a_migrated_database_does_not_know_is_no_matter_of_migrations() -> None:
    with pytest.raises(ProgrammingError, match="no_such_table"), refuse_unmigrated(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM no_such_table")
