#!/usr/bin/env python
"""Measures the cost of open tabs of the console for a running server, in CPU time of all its processes.

    MEMOS_PASSWORD=… python bench/polling.py http://127.0.0.1:8000 --user NAME --data data

Ten tabs of the Overview and ten of the Pipeline poll like the pages, every 5 and every 2 seconds, for changes only.
Rounds with and without tabs alternate on the same server. Prints one JSON object; shares are of one core. `--data` is
the server's folder (MEMOS_DATA_DIR), by which its processes are found, including PostgreSQL and Redis. Linux only,
because CPU times are read from /proc.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import threading
import time
import urllib.parse
from collections import Counter
from pathlib import Path

import psutil

TABS = 10
PAGES = (("/ops/overview/live/", 5.0), ("/ops/pipeline/live/", 2.0))
FORM = "application/x-www-form-urlencoded"


def cookies_of(server: urllib.parse.SplitResult, user: str, password: str) -> str:
    """Signs in by the form. Raises SystemExit when the server refuses."""
    connection = http.client.HTTPConnection(server.hostname, server.port)
    connection.request("GET", "/admin/login/")
    answer = connection.getresponse()
    [token] = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', answer.read().decode())
    cookie = answer.headers["Set-Cookie"].split(";")[0]
    form = urllib.parse.urlencode({"username": user, "password": password, "csrfmiddlewaretoken": token})
    headers = {"Content-Type": FORM, "Cookie": cookie, "Referer": server.geturl()}
    connection.request("POST", "/admin/login/", form, headers)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 302:
        raise SystemExit(f"{user} cannot sign in: name or password is wrong (MEMOS_PASSWORD).")
    return "; ".join(header.split(";")[0] for header in answer.headers.get_all("Set-Cookie"))


def cpu_seconds(root: psutil.Process) -> dict[int, float]:
    """Returns the CPU seconds of each process of the server, all threads together."""
    found = {}
    for process in (root, *root.children(recursive=True)):
        try:
            threads = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
            found[process.pid] = sum(int(one.read_text().split()[0]) for one in threads) / 1e9
        except FileNotFoundError:
            # The process has ended since it was listed.
            continue
    return found


def share(root: psutil.Process, seconds: float) -> float:
    """Measures the CPU seconds per second of the server for that long."""
    before, began = cpu_seconds(root), time.monotonic()
    time.sleep(seconds)
    spent = sum(now - before.get(pid, 0.0) for pid, now in cpu_seconds(root).items())
    return spent / (time.monotonic() - began)


class Tabs:
    """Simulates twenty visible tabs with separate connections, spread over their interval."""

    def __init__(self, server: urllib.parse.SplitResult, cookies: str) -> None:
        self._server, self._cookies = server, cookies
        self._over = threading.Event()
        self.answers: Counter[int] = Counter()

    def __enter__(self) -> Tabs:
        self._threads = [
            threading.Thread(target=self._poll, args=(path, every, every * tab / TABS))
            for path, every in PAGES
            for tab in range(TABS)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _poll(self, path: str, every: float, delay: float) -> None:
        connection = http.client.HTTPConnection(self._server.hostname, self._server.port)
        version, due = "", time.monotonic() + delay
        while not self._over.wait(max(0.0, due - time.monotonic())):
            headers = {"HX-Request": "true", "Cookie": self._cookies}
            connection.request("GET", f"{path}?v={version}" if version else path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            self.answers[answer.status] += 1
            version, due = answer.headers.get("X-Fragment-Version", ""), due + every


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("url")
    arguments.add_argument("--user", required=True)
    arguments.add_argument("--data", required=True, type=Path)
    arguments.add_argument("--seconds", type=float, default=40.0, help="of each measurement")
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    server = urllib.parse.urlsplit(given.url)
    root = psutil.Process(json.loads((given.data / "runtime.json").read_text())["pid"])
    cookies = cookies_of(server, given.user, os.environ.get("MEMOS_PASSWORD", ""))
    rounds = []
    for _ in range(given.rounds):
        idle = share(root, given.seconds)
        with Tabs(server, cookies) as tabs:
            time.sleep(max(every for _path, every in PAGES))
            before = tabs.answers.copy()
            busy = share(root, given.seconds)
            answers = tabs.answers - before
        rounds.append({"idle": idle, "with_tabs": busy, "tabs": busy - idle, "answers": dict(answers)})
    median = statistics.median(one["tabs"] for one in rounds)
    asked = sum(sum(one["answers"].values()) for one in rounds) / (given.rounds * given.seconds)
    print(json.dumps({"tabs_share_of_a_core": median, "requests_a_second": asked, "rounds": rounds}, indent=2))


if __name__ == "__main__":
    main()
