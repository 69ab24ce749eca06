"""Lets processes of one data folder find each other.

While `make run` is up, it keeps the addresses of its servers and its process id in `runtime.json` in the data folder.
Management commands read that file, so that `manage.py ask …` in a second terminal uses the same servers.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

RUNTIME_FILE = "runtime.json"
SECRET_FILE = "secret_key"  # noqa: S105 - a file name
_URLS = ("DATABASE_URL", "REDIS_URL", "MEMOS_EMBEDDING_SOCKET", "MEMOS_ADDRESS")


def discover(data_dir: Path) -> dict[str, str]:
    """Returns the settings that the data folder implies: its secret key, and its servers' addresses if they are up."""
    found: dict[str, str] = {}
    secret = data_dir / SECRET_FILE
    if secret.is_file() and os.access(secret, os.R_OK):
        found["MEMOS_SECRET_KEY"] = secret.read_text(encoding="ascii").strip()
    runtime = data_dir / RUNTIME_FILE
    if runtime.is_file():
        state = json.loads(runtime.read_text(encoding="utf-8"))
        if _is_alive(int(state["pid"])):
            found |= {name: state[name] for name in _URLS if state.get(name)}
    return found


def local_address(host: str, port: int) -> str:
    """Returns the URL at which programs on this machine reach a web server that listens on `host`."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def https_address(origins: Sequence[str], hosts: Sequence[str]) -> str | None:
    """Returns the URL of the HTTPS proxy: the first one that the settings name, or None."""
    named = [origin for origin in origins if origin.startswith("https://") and "*" not in origin]
    named += [f"https://{host}" for host in hosts if host[0] not in "*."]
    return named[0] if named else None


def keep_secret_key(data_dir: Path) -> str:
    """Returns the secret key of the data folder, which is created on the first call (file mode 0600)."""
    path = data_dir / SECRET_FILE
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(handle, "w", encoding="ascii") as out:
        secret = secrets.token_urlsafe(50)
        out.write(secret)
    return secret


def write_runtime(data_dir: Path, **addresses: str) -> None:
    """Writes the addresses of the servers of `data_dir`; they are valid while this process runs."""
    path = data_dir / RUNTIME_FILE
    scratch = path.with_suffix(".tmp")
    scratch.write_text(json.dumps({"pid": os.getpid(), **addresses}), encoding="utf-8")
    scratch.chmod(0o600)
    scratch.replace(path)


def remove_runtime(data_dir: Path) -> None:
    (data_dir / RUNTIME_FILE).unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
