"""The install page's login makes, verifies and restores backups: no superuser, but with CREATEDB and its database."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection

from memory.postgresql.row_security import ROLES

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def login(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Make the environment of a server whose login may not create extensions; an administrator has created them."""
    parameters = {**connection.get_connection_params(), "dbname": "postgres"}
    known: dict[str, Any] = {
        name: parameters[name] for name in ("host", "port", "user", "password", "dbname") if parameters.get(name)
    }
    name = f"memos_login_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(**known, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x' CREATEDB")
        admin.execute(f"GRANT {', '.join(ROLES)} TO {name} WITH INHERIT FALSE")
        admin.execute(f"CREATE DATABASE {name} OWNER {name}")
        with psycopg.connect(**{**known, "dbname": name}, autocommit=True) as own:
            own.execute("CREATE EXTENSION vector")
        given = urlsplit(os.environ["DATABASE_URL"])
        url = f"postgresql://{name}:x@{given.netloc.rpartition('@')[2]}/{name}?{given.query}"
        try:
            yield {**os.environ, "DATABASE_URL": url, "MEMOS_DATA_DIR": str(tmp_path / "data")}
        finally:
            rows = admin.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [name]).fetchall()
            for (database,) in rows:
                admin.execute(f"DROP DATABASE {database} WITH (FORCE)")
            admin.execute(f"DROP ROLE {name}")


def manage(login: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments], cwd=ROOT, env=login, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_backup_is_verified_and_restored(login, tmp_path):
    assert "Backups cannot be verified" not in manage(login, "migrate")
    folder = tmp_path / "backups"
    manage(login, "issue_api_key", "first", "--all-namespaces")

    # The web server stays connected meanwhile.
    with psycopg.connect(login["DATABASE_URL"]) as server:
        keys = server.execute("SELECT count(*) FROM memory_apikey").fetchone()
        assert "erified" in manage(login, "backup", "--to", str(folder), "--verify")
    [path] = folder.glob("*.backup")
    manage(login, "restore", str(path), "--replace")

    with psycopg.connect(login["DATABASE_URL"]) as server:
        assert server.execute("SELECT count(*) FROM memory_apikey").fetchone() == keys == (1,)
        names = server.execute("SELECT datname FROM pg_database WHERE starts_with(datname, 'memos_login_')").fetchall()
    assert sorted(name.partition("_empty")[1] for (name,) in names) == ["", "_empty"]
