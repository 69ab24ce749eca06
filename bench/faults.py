#!/usr/bin/env python
"""Injects faults into a separate server while clients write to it, and reports what was lost.

    python bench/faults.py --kills 200 --seed 1

Three writers ingest turns, batches and documents, give feedback and erase sessions. Each write has an Idempotency-Key,
and is repeated until it is acknowledged; a reader asks questions. Meanwhile, --kills random processes are killed by
SIGKILL. Other faults come in between: a full disk, a slow disk, a jumping clock, a flushed and a silent Valkey, a
restart of PostgreSQL amid transactions, a lack of connections, and a worker that is stopped for a minute. A supervisor
that has ended is restarted after a second, as an init system would do.

At the end, each acknowledged write must exist once and be found, nothing may be doubled, all jobs must have ended, the
audit chain must be intact, and all answers must have been results, 408, 429 or 503. The exit status is 1 if a check
fails. It needs root on Linux, because the data folder is put on a separate file system (a loop device).
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.fault_checks import check
from bench.fault_clients import Book, Caller, Reader, Writer
from bench.fault_harm import Harm, small_disk
from bench.whole_server import WholeServer

WRITERS = 3
# The limit on the seconds from a kill until a write is acknowledged.
RECOVERY_SECONDS = 90.0
SETTLE_SECONDS = 420.0
DISK_MIB = 3000

SETTINGS = {
    # A job whose worker was killed must be taken up again before the run ends.
    "MEMOS_JOB_TIMEOUT_SECONDS": "20",
}


class InitSystem(threading.Thread):
    """Restarts the supervisor when it has ended, as an init system would."""

    def __init__(self, server: WholeServer) -> None:
        super().__init__(daemon=True)
        self.starts = 0
        self._server = server
        self._stop_asked = threading.Event()

    def finish(self) -> None:
        self._stop_asked.set()
        self.join()

    def run(self) -> None:
        while not self._stop_asked.wait(1.0):
            if not self._server.is_running():
                self.starts += 1
                self._server.launch()


class Recovery:
    """Measures the seconds from the end of each fault until a write is acknowledged."""

    def __init__(self, book: Book) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.never: Counter[str] = Counter()
        self._book = book

    def wait(self, what: str) -> None:
        """Waits for a write that began after the fault, because each writer may have had one under way."""
        began, before = time.monotonic(), self._book.written
        while self._book.written <= before + WRITERS:
            if time.monotonic() - began > RECOVERY_SECONDS:
                self.never[what] += 1
                return
            time.sleep(0.05)
        self.seconds.setdefault(what, []).append(time.monotonic() - began)


def harm_all(harm: Harm, recovery: Recovery, options: argparse.Namespace, chance: random.Random) -> Counter[str]:
    """Injects the sequence of faults, and counts them by kind."""
    others: dict[str, Callable[[], None]] = {
        "disk full": harm.full_disk,
        "disk slow": harm.slow_disk,
        "clock +3 h": lambda: harm.clock_jump(3),
        "clock -2 h": lambda: harm.clock_jump(-2),
        "Valkey flushed": harm.flush_valkey,
        "Valkey silent": harm.pause_valkey,
        "PostgreSQL restarted": harm.restart_postgres,
        "no connections": harm.no_connections,
        "worker paused": harm.pause_worker,
    }
    done: Counter[str] = Counter()
    plan: list[str] = ["kill"] * options.kills
    for name in others if options.others else ():
        for _ in range(2 if options.kills >= 100 else 1):
            plan.insert(chance.randrange(len(plan) + 1), name)
    deadline = time.monotonic() + options.minutes * 60
    for number, name in enumerate(plan, 1):
        if time.monotonic() > deadline:
            print(f"stopped after {options.minutes} minutes: {len(plan) - number + 1} harms were left out", flush=True)
            break
        if name == "kill":
            what = f"kill {harm.kill()}"
        else:
            others[name]()
            what = name
        done[what] += 1
        recovery.wait(what)
        took = recovery.seconds.get(what, [float("nan")])[-1]
        print(f"{number:4} {what:24} next write after {took:6.2f} s", flush=True)
        time.sleep(chance.uniform(0.0, 2.5))
    return done


def run(server: WholeServer, harm: Harm, options: argparse.Namespace) -> int:
    """Starts the server, injects faults, checks it and reports; returns the exit status."""
    chance = random.Random(options.seed)
    book = Book()
    server.start()
    init = InitSystem(server)
    init.start()
    writers = [Writer(number, Caller(server.port, server.key, book), book, options.seed) for number in range(WRITERS)]
    reader = Reader(Caller(server.port, server.key, book), WRITERS, options.seed)
    began = time.monotonic()
    for thread in (*writers, reader):
        thread.start()
    recovery = Recovery(book)
    time.sleep(3)
    done = harm_all(harm, recovery, options, chance)
    lasted = time.monotonic() - began
    for writer in writers:
        writer.finish()
    reader.finish()
    for writer in writers:
        writer.join(RECOVERY_SECONDS)
        writer.give_up()
        writer.join(RECOVERY_SECONDS)
    reader.join(RECOVERY_SECONDS)
    problems = [f"a writer ended: {writer.failure}" for writer in writers if writer.failure]
    problems += [f"no write within {RECOVERY_SECONDS:.0f} s after {what}" for what in recovery.never]
    print("\nwaiting for the jobs to end", flush=True)
    problems += check(server, book, seconds=SETTLE_SECONDS)
    init.finish()
    report(done, recovery, book, lasted, init.starts)
    for problem in problems:
        print(f"PROBLEM  {problem}")
    return 1 if problems else 0


def report(done: Counter[str], recovery: Recovery, book: Book, lasted: float, starts: int) -> None:
    """Prints the table of results."""
    print(f"\n{sum(done.values())} harms in {lasted / 60:.1f} minutes; the supervisor was started again {starts} times")
    print(f"{'harm':26} count   next acknowledged write after (s): median   longest")
    for what, count in sorted(done.items()):
        values = recovery.seconds.get(what, [])
        shown = f"{statistics.median(values):10.2f} {max(values):10.2f}" if values else "     never"
        print(f"{what:26} {count:5} {'':34}{shown}")
    longest = sorted((seconds for _, seconds in book.gaps), reverse=True)[:5]
    print(f"\nacknowledged writes {book.written}, memories {len(book.marks)}; longest waits (s):", end=" ")
    print(", ".join(f"{seconds:.1f}" for seconds in longest) or "none above 1")
    print("answers by kind:")
    for kind, count in book.answers.most_common():
        print(f"  {count:7}  {kind}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="stop harming after so long")
    parser.add_argument("--no-others", dest="others", action="store_false", help="kills only")
    parser.add_argument("--keep", action="store_true", help="keep the logs of a run in which something failed")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("run it as root: the data folder is put on a file system of its own")
    scratch = Path(tempfile.mkdtemp(prefix="memos-faults-"))
    # PostgreSQL's user must be able to traverse the folder.
    scratch.chmod(0o755)
    print(f"logs below {scratch}", flush=True)
    with small_disk(scratch, DISK_MIB) as disk:
        folder = disk / "data"
        server = WholeServer(folder, **SETTINGS)
        harm = Harm(server, disk, random.Random(options.seed + 1))
        server.environment |= harm.clock_settings()
        try:
            status = run(server, harm, options)
        finally:
            server.stop()
            _keep_logs(folder, scratch)
    (scratch / "disk.img").unlink()
    return status


def _keep_logs(folder: Path, scratch: Path) -> None:
    kept = scratch / "logs"
    kept.mkdir(exist_ok=True)
    for log in (folder / "supervisor.log", *(folder / "logs").glob("*.log")):
        if log.exists():
            (kept / log.name).write_bytes(log.read_bytes())


if __name__ == "__main__":
    sys.exit(main())
