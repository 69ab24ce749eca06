"""Writes the secrets of a deployment into a folder: random on the first start, the same on every later one.

`secret_key`         signs cookies and API keys; MEMOS_SECRET_KEY, if given, replaces it.
`postgres_password`  is given to PostgreSQL when it makes its database, and belongs to it: keep or lose both.
`database_url`       DATABASE_URL, if given, or the URL of the PostgreSQL that POSTGRES_HOST, _USER and _DB name.

BACKUP_FOLDER and ACTIVATION_FOLDER, if they are there, are given to OWNER, too: a new volume belongs to root.

    python -m deploy.make_secrets FOLDER [OWNER]
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path


def make_secrets(folder: Path, environment: Mapping[str, str], owner: str | None = None) -> None:
    """Write the missing secrets into `folder`, readable only by `owner` (default: the current user)."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    password = _read(folder / "postgres_password") or secrets.token_urlsafe(32)
    values = {
        "secret_key": environment.get("MEMOS_SECRET_KEY") or _read(folder / "secret_key") or secrets.token_urlsafe(50),
        "postgres_password": password,
        "database_url": environment.get("DATABASE_URL")
        or "postgresql://{POSTGRES_USER}:{password}@{POSTGRES_HOST}:5432/{POSTGRES_DB}".format_map(
            {**environment, "password": password}
        ),
    }
    for name, value in values.items():
        _write(folder / name, value, owner)
    if owner:
        shutil.chown(folder, owner, owner)
        for name in ("BACKUP_FOLDER", "ACTIVATION_FOLDER"):
            given = Path(environment.get(name) or folder)
            if given.is_dir():
                given.chmod(0o700)
                shutil.chown(given, owner, owner)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def _write(path: Path, value: str, owner: str | None) -> None:
    """Replace the file atomically, because running services may read it at any time."""
    scratch = path.with_name(f".{path.name}.tmp")
    scratch.unlink(missing_ok=True)
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "w", encoding="utf-8") as out:
        out.write(value)
        out.flush()
        os.fsync(out.fileno())
    if owner:
        shutil.chown(scratch, owner, owner)
    scratch.replace(path)


if __name__ == "__main__":
    make_secrets(Path(sys.argv[1]), os.environ, sys.argv[2] if len(sys.argv) > 2 else None)
