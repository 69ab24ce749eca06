"""Injects faults into a running server: kills, a full or slow disk, a jumping clock, no connections, stopped processes.

It works only as root on Linux. The data folder is on a separate file system, in a file of fixed size that is mounted
through a loop device, so that a full disk affects nothing else.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import redis

from bench.whole_server import WholeServer

# The roles of processes to kill, with their relative frequency.
VICTIMS = {
    "web worker": 4,
    "web master": 3,
    "worker main": 3,
    "worker guard": 3,
    "worker part": 6,
    "postmaster": 3,
    "postgres backend": 4,
    "postgres helper": 2,
    "valkey": 3,
    "supervisor": 3,
}


@contextlib.contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[Path]:
    """Mounts a separate ext4 file system below `folder`. Raises CalledProcessError if mounts are refused."""
    image, place = folder / "disk.img", folder / "disk"
    with image.open("wb") as file:
        file.truncate(mebibytes * 1024 * 1024)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    place.mkdir()
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)


class Harm:
    """Injects faults into one server. Each method returns when the fault is over, but not yet the recovery."""

    def __init__(self, server: WholeServer, disk: Path, chance: random.Random) -> None:
        self._server = server
        self._disk = disk
        self._chance = chance
        self._clock_file = disk.parent / "clock"
        self._set_clock(0)

    def clock_settings(self) -> dict[str, str]:
        """Returns the environment by which MemOS's processes read their time from this class."""
        return {"DJANGO_SETTINGS_MODULE": "bench.harmed_settings", "FAULTS_CLOCK": str(self._clock_file)}

    def kill(self) -> str:
        """Kills one process by SIGKILL; returns its role."""
        while True:
            [role] = self._chance.choices(list(VICTIMS), weights=list(VICTIMS.values()))
            found = self._server.by_role().get(role)
            if found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    self._chance.choice(found).kill()
                    return role
            time.sleep(0.1)

    def full_disk(self, seconds: float = 15) -> None:
        """Fills the file system of the data folder, and frees it again."""
        ballast = self._disk / "ballast"
        try:
            deadline = time.monotonic() + seconds
            with ballast.open("wb") as file:
                size, step = 0, 256 * 1024 * 1024
                while time.monotonic() < deadline:
                    try:
                        os.posix_fallocate(file.fileno(), size, step)
                        size += step
                    except OSError:
                        # Space that others free in the meantime is filled as well.
                        step = max(4096, step // 2)
                        time.sleep(0.02)
        finally:
            ballast.unlink(missing_ok=True)

    def slow_disk(self, seconds: float = 20) -> None:
        """Stops PostgreSQL for up to a second again and again, as if its disk were busy."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            roles = self._server.by_role()
            stopped = [process for role, found in roles.items() if role.startswith("post") for process in found]
            with _pause(stopped):
                time.sleep(self._chance.uniform(0.2, 1.0))
            time.sleep(self._chance.uniform(0.05, 0.3))

    def clock_jump(self, hours: float, seconds: float = 20) -> None:
        """Sets the clock of MemOS's processes (not PostgreSQL's) wrong for a while."""
        self._set_clock(hours * 3600)
        time.sleep(seconds)
        self._set_clock(0)

    def flush_valkey(self) -> None:
        """Deletes all windows, rates and caches by FLUSHALL."""
        with contextlib.suppress(redis.RedisError):
            redis.Redis.from_url(self._url("REDIS_URL")).flushall()

    def restart_postgres(self) -> None:
        """Shuts PostgreSQL down in fast mode, which ends open transactions; the supervisor starts it again."""
        for process in self._server.by_role().get("postmaster", []):
            process.send_signal(signal.SIGINT)

    def no_connections(self, seconds: float = 10) -> None:
        """Takes all free connections of PostgreSQL, including those reserved for superusers."""
        held: list[psycopg.Connection] = []
        deadline = time.monotonic() + seconds
        killed = False
        try:
            while time.monotonic() < deadline:
                try:
                    held.append(psycopg.connect(self._url("DATABASE_URL"), connect_timeout=2))
                except psycopg.OperationalError:
                    if not killed:
                        # The replacement of the killed process gets no connection.
                        for process in self._server.by_role().get("web worker", [])[:1]:
                            process.kill()
                        killed = True
                    time.sleep(0.1)
        finally:
            for connection in held:
                connection.close()

    def pause_worker(self, seconds: float = 60) -> None:
        """Stops all processes of the background worker for a while."""
        roles = self._server.by_role()
        with _pause([process for role, found in roles.items() if role.startswith("worker") for process in found]):
            time.sleep(seconds)

    def pause_valkey(self, seconds: float = 8) -> None:
        """Stops Valkey for a while, which then accepts connections but does not answer."""
        with _pause(self._server.by_role().get("valkey", [])):
            time.sleep(seconds)

    def _set_clock(self, seconds: float) -> None:
        scratch = self._clock_file.with_suffix(".new")
        scratch.write_text(f"{seconds}", "ascii")
        scratch.replace(self._clock_file)

    def _url(self, name: str) -> str:
        return self._server.urls()[name]


@contextlib.contextmanager
def _pause(processes: list[psutil.Process]) -> Iterator[None]:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)
