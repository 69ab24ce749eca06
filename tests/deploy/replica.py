"""A primary and its streaming replica, and a MemOS that reads from both."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg

from memos_site.embedded import Postgres
from tests.crash.server import Server, wait_for

# Not the superuser that the embedded server has: one that is held as on a server of an operator's own.
LOGIN = "memos_login"
FAST = {"fsync": "off", "shared_buffers": "32MB", "log_min_messages": "warning"}
PASSWORD = "a long enough password"


class Primary(Postgres):
    """PostgreSQL that a standby may copy and follow."""

    def __init__(self, folder: Path, sockets: Path) -> None:
        super().__init__(folder / "primary" / "data", sockets / "primary")
        self.options |= {**FAST, "wal_level": "replica"}
        self.socket_dir.mkdir()

    def make_database(self) -> None:
        """The database of MemOS, owned by a login that is no superuser."""
        with self.connect("postgres", user="postgres") as database:
            database.execute(f"CREATE ROLE {LOGIN} LOGIN CREATEROLE")
            database.execute(f"CREATE DATABASE kept OWNER {LOGIN}")
        with self.connect("kept", user="postgres") as database:
            database.execute("CREATE EXTENSION vector")

    @property
    def url(self) -> str:
        return f"postgresql://{LOGIN}@/kept?host={self.socket_dir}"

    def connect(self, name: str = "kept", *, user: str = LOGIN) -> psycopg.Connection[Any]:
        return psycopg.connect(host=str(self.socket_dir), dbname=name, user=user, autocommit=True)


class Standby(Primary):
    """A hot standby of the primary, by streaming; its log has every statement that it is sent."""

    def __init__(self, primary: Primary, folder: Path, sockets: Path) -> None:
        Postgres.__init__(self, folder / "standby" / "data", sockets / "standby")
        self._primary = primary
        self.options |= {**FAST, "log_statement": "all", "wal_receiver_status_interval": "1"}
        self.socket_dir.mkdir()

    def prepare(self) -> None:
        if self.user:
            self._prepare_system_user(self.user)
        os.chmod(self.data_dir, 0o700)
        if not (self.data_dir / "PG_VERSION").exists():
            source = ("-h", str(self._primary.socket_dir), "-U", "postgres")
            self._run("pg_basebackup", *source, "-D", str(self.data_dir), "-R", "-X", "stream", "-c", "fast")

    def administer(self, statement: str) -> Any:
        """The one value of a statement, as a superuser; it does not count as `asked`."""
        with self.connect("postgres", user="postgres") as database:
            return database.execute(statement).fetchone()

    def pause(self) -> None:
        """It goes on answering, from what it had."""
        self.administer("SELECT pg_wal_replay_pause()")
        state = "SELECT pg_get_wal_replay_pause_state()"
        wait_for(lambda: self.administer(state) == ("paused",), what="a replay that is paused", seconds=30)

    def resume(self) -> None:
        self.administer("SELECT pg_wal_replay_resume()")

    def freeze(self) -> None:
        """It takes connections and answers nothing."""
        for process in self._processes():
            process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        for process in self._processes():
            process.send_signal(signal.SIGCONT)

    def _processes(self) -> list[psutil.Process]:
        assert self.process is not None
        whole = psutil.Process(self.process.pid)
        return [whole, *whole.children()]

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    @contextmanager
    def listen(self) -> Iterator[list[str]]:
        """Afterwards the list holds the lines that it logged inside."""
        before, lines = len(self.log), list[str]()
        yield lines
        lines += self.log[before:].splitlines()


class World:
    """Both databases, and MemOS on them with the tenants Alice and Bob, each with a key."""

    def __init__(self, folder: Path, sockets: Path, **environment: str) -> None:
        self.primary = Primary(folder, sockets)
        self.standby = Standby(self.primary, folder, sockets)
        self.memos = Server(
            folder / "memos",
            DATABASE_URL=self.primary.url,
            DATABASE_REPLICA_URL=self.standby.url,
            MEMOS_ADMIN_PASSWORD=PASSWORD,
            MEMOS_DEMO="0",
            MEMOS_WEB_WORKERS="1",
            **environment,
        )
        self.keys: dict[str, str] = {}

    def start(self) -> None:
        self.primary.start()
        self.primary.wait_ready()
        self.primary.make_database()
        self.standby.start()
        self.standby.wait_ready()
        self.memos.start()
        self.keys["admin"] = self.memos.key
        for name in ("alice", "bob"):
            issued = self.memos.manage("issue_api_key", name, "--namespace", name)
            self.keys[name] = issued.split()[-1]

    def stop(self) -> None:
        if self.memos.is_running():
            self.memos.stop()
        self.standby.stop()
        self.primary.stop()

    def call(self, who: str, path: str, body: Any = None) -> Any:
        return self.memos.call(path, body, Authorization=f"Bearer {self.keys[who]}")

    def remember(self, who: str, text: str) -> str:
        turn = {"namespace": who, "session_id": "s", "role": "user", "text": text}
        return str(self.call(who, "/v1/ingest", turn)["memory_id"])

    def ask(self, who: str, text: str) -> list[str]:
        """The ids of what a query brings back."""
        found = self.call(who, "/v1/query", {"namespace": who, "session_id": "s", "query": text})
        return [chunk["id"] for chunk in found["raw_chunks"]]

    def wait_until_even(self) -> None:
        """The replica has all that the primary has."""
        wait_for(self._is_even, what="a replica that has everything", seconds=60)

    def _is_even(self) -> bool:
        lag = self.memos.call("/health/ready").get("replica_lag")
        return bool(lag) and lag["bytes"] == 0


@contextmanager
def world(folder: Path, **environment: str) -> Iterator[World]:
    # Paths of sockets are limited to some 100 bytes.
    with tempfile.TemporaryDirectory(prefix="memos-rep-") as sockets:
        made = World(folder, Path(sockets), **environment)
        try:
            made.start()
            yield made
        finally:
            made.stop()
