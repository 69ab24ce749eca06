#!/usr/bin/env python
"""Measures the time of a running server for all pages of the console, and for the requests that pages make themselves.

    MEMOS_PASSWORD=… python bench/pages.py http://127.0.0.1:8000 --user NAME --namespace NAME

It opens one page after the other, in rounds, for all namespaces and for the named one (such as the largest), at
intervals in which no cache is shared. Times are from the request to the last byte, over loopback. `first` is from a
round before the others, in which the server may have to read from disk. Prints a line for each page, slowest first,
with the median, slowest and first time in milliseconds, and one JSON object. The server must have no other load.
"""

from __future__ import annotations

import argparse
import html
import http.client
import json
import os
import re
import statistics
import sys
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.polling import cookies_of

EVERYWHERE = (
    "/ops/",
    "/ops/overview/live/",
    "/ops/pipeline/",
    "/ops/pipeline/live/",
    "/ops/pipeline/rows/?stage=embedded",
    "/ops/pipeline/rows/?stage=condensed",
    "/ops/pipeline/rows/?stage=linked",
    "/ops/sessions/",
    "/ops/audit/",
    "/ops/audit/requests/",
    "/ops/ns/",
    "/ops/quarantine/",
    "/ops/evaluation/",
    "/ops/inspector/",
    "/ops/policies/",
    "/admin/",
    "/admin/memory/memory/",
    "/admin/memory/memory/?vector=missing",
    "/admin/memory/memory/?state=archived",
    "/admin/memory/auditlog/",
    "/admin/memory/condensation/",
)
OF_ONE = (
    "/ops/?ns={ns}",
    "/ops/ns/?ns={ns}",
    "/ops/entities/?ns={ns}",
    "/ops/map/?ns={ns}",
    "/ops/map/points/?ns={ns}",
    "/ops/decay/?ns={ns}",
    "/ops/policies/?ns={ns}",
    "/ops/radar/?ns={ns}",
    "/ops/inspector/?ns={ns}",
    "/ops/sessions/?ns={ns}",
    "/ops/audit/?ns={ns}",
    "/ops/quarantine/?ns={ns}",
)
# The requests that pages make after they are shown, which compute the strengths of all memories of a namespace.
AFTERWARDS = ("/ops/decay/figures/?ns={ns}", "/ops/decay/rest/?ns={ns}")

# Seconds between the rounds.
PAUSE = 16.0


class Console:
    """Represents a signed-in tab with one connection."""

    def __init__(self, url: str, user: str) -> None:
        server = urllib.parse.urlsplit(url)
        self._cookies = cookies_of(server, user, os.environ.get("MEMOS_PASSWORD", ""))
        self._connection = http.client.HTTPConnection(server.hostname or "", server.port)

    def open(self, path: str) -> tuple[float, str]:
        """Returns the milliseconds and the answer. Raises SystemExit if the answer is not a page."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers={"Cookie": self._cookies})
        answer = self._connection.getresponse()
        body = answer.read()
        spent = (time.perf_counter() - began) * 1000
        if answer.status not in (200, 204):
            raise SystemExit(f"{path} answers {answer.status}.")
        return spent, body.decode(errors="replace")


def first_of_lists(console: Console, namespace: str) -> list[str]:
    """Returns the addresses of a memory's and a session's page from the lists."""
    _, memories = console.open("/admin/memory/memory/")
    _, sessions = console.open(f"/ops/sessions/?ns={namespace}")
    ids = re.findall(r"memory/([0-9a-f-]{36})/change", memories)[:1]
    links = re.findall(r'href="(/ops/sessions/one/[^"]+)"', sessions)[:1]
    return [*(f"/admin/memory/memory/{one}/change/" for one in ids), *(html.unescape(link) for link in links)]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("url")
    arguments.add_argument("--user", required=True)
    arguments.add_argument("--namespace", required=True)
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    console = Console(given.url, given.user)
    namespace = urllib.parse.quote(given.namespace)
    paths = [*EVERYWHERE, *(path.format(ns=namespace) for path in (*OF_ONE, *AFTERWARDS))]
    took: dict[str, list[float]] = {}
    for number in range(1 + given.rounds):
        if number:
            # The pause is longer than any cache that tabs share.
            time.sleep(PAUSE)
        for path in paths:
            took.setdefault(path, []).append(console.open(path)[0])
        if number == 0:
            for path in first_of_lists(console, namespace):
                took[path] = [console.open(path)[0]]
                paths.append(path)
    measured = {}
    for path, (first, *later) in took.items():
        counted = later or [first]
        measured[path] = {"median": statistics.median(counted), "max": max(counted), "first": first}
    for path, figures in sorted(measured.items(), key=lambda entry: -entry[1]["median"]):
        print(f"{figures['median']:8.0f} {figures['max']:8.0f} {figures['first']:8.0f}  {path}")
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
