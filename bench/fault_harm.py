"""Ways to harm a running server: kills, a full or slow disk, a jumping clock, no connections, stopped processes.

As root on Linux only. The data folder lies on a file system of its own, in a file of fixed size that is mounted through
a loop device, so that "full" harms nobody else.
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

# Role and how often it is drawn.
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
    """An ext4 file system of its own, mounted below `folder`. Raises CalledProcessError when mounts are refused."""
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
    """What can be done to one server. Every method returns when the harm is over, but not yet the recovery."""

    def __init__(self, server: WholeServer, disk: Path, chance: random.Random) -> None:
        self._server = server
        self._disk = disk
        self._chance = chance
        self._clock_file = disk.parent / "clock"
        self._set_clock(0)

    def clock_settings(self) -> dict[str, str]:
        """Environment that has MemOS' own processes read their time by way of this class."""
        return {"DJANGO_SETTINGS_MODULE": "bench.harmed_settings", "FAULTS_CLOCK": str(self._clock_file)}

    def kill(self) -> str:
        """SIGKILL of one process; returns its role."""
        while True:
            [role] = self._chance.choices(list(VICTIMS), weights=list(VICTIMS.values()))
            found = self._server.by_role().get(role)
            if found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    self._chance.choice(found).kill()
                    return role
            time.sleep(0.1)

    def full_disk(self, seconds: float = 15) -> None:
        """Takes all room of the data folder's file system, and gives it back."""
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
                        # What others give back is taken as well.
                        step = max(4096, step // 2)
                        time.sleep(0.02)
        finally:
            ballast.unlink(missing_ok=True)

    def slow_disk(self, seconds: float = 20) -> None:
        """PostgreSQL stands still for up to a second, again and again, as it does when its disk is busy."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            roles = self._server.by_role()
            stopped = [process for role, found in roles.items() if role.startswith("post") for process in found]
            with _pause(stopped):
                time.sleep(self._chance.uniform(0.2, 1.0))
            time.sleep(self._chance.uniform(0.05, 0.3))

    def clock_jump(self, hours: float, seconds: float = 20) -> None:
        """The clock of MemOS' processes (not PostgreSQL's) is wrong for a while, and then right again."""
        self._set_clock(hours * 3600)
        time.sleep(seconds)
        self._set_clock(0)

    def flush_valkey(self) -> None:
        """FLUSHALL: every window, rate and cache is gone."""
        with contextlib.suppress(redis.RedisError):
            redis.Redis.from_url(self._url("REDIS_URL")).flushall()

    def restart_postgres(self) -> None:
        """A fast shutdown, which ends every transaction that is open; the supervisor starts it again."""
        for process in self._server.by_role().get("postmaster", []):
            process.send_signal(signal.SIGINT)

    def no_connections(self, seconds: float = 10) -> None:
        """Takes every connection that PostgreSQL still has to give, those kept for superusers too."""
        held: list[psycopg.Connection] = []
        deadline = time.monotonic() + seconds
        killed = False
        try:
            while time.monotonic() < deadline:
                try:
                    held.append(psycopg.connect(self._url("DATABASE_URL"), connect_timeout=2))
                except psycopg.OperationalError:
                    if not killed:
                        # Its successor starts without any.
                        for process in self._server.by_role().get("web worker", [])[:1]:
                            process.kill()
                        killed = True
                    time.sleep(0.1)
        finally:
            for connection in held:
                connection.close()

    def pause_worker(self, seconds: float = 60) -> None:
        """All of the background worker stands still."""
        roles = self._server.by_role()
        with _pause([process for role, found in roles.items() if role.startswith("worker") for process in found]):
            time.sleep(seconds)

    def pause_valkey(self, seconds: float = 8) -> None:
        """Valkey accepts connections and says nothing."""
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
