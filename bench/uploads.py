"""Measures the memory of a server's processes while a large export is uploaded in parts, inspected and imported.

    .venv/bin/python bench/uploads.py --url http://127.0.0.1:8000 --key mos_… --pid PID --megabytes 200

`--pid` is the process of `make run` on this machine, whose children are measured. The export is synthetic, in the
format of ChatGPT's. Everything is stored in a new namespace, which the key must be allowed to make.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORDS = ("bees", "tulips", "trains", "chess", "bread", "maps", "violins", "kites", "tea", "lamps", "boats", "coins")
NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana")
TURNS = 20
EVERY_SECONDS = 0.1
# This many small imports come first, so that each process has warmed up.
WARM = 40
# The metadata of a message in ChatGPT's exports, which the import ignores.
METADATA = {"request_id": "x" * 400, "citations": [], "finish_details": {"type": "stop", "stop_tokens": [1] * 100}}


class Watch:
    """Records the peak memory of each process below `pid`, in bytes, since `begin`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._most: dict[str, int] = {}
        self._rest: dict[str, int] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        """Takes the current memory as the baseline."""
        self._rest = self._read()
        self._most = dict(self._rest)
        if not self._thread.is_alive():
            self._thread.start()

    def report(self, title: str) -> None:
        """Prints the peak of each kind of process above the baseline, and begins again."""
        kinds: dict[str, tuple[int, int]] = {}
        for name, most in self._most.items():
            rest = self._rest.get(name, most)
            kind = name.rsplit(" ", 1)[0]
            if kind not in kinds or most - rest > kinds[kind][1] - kinds[kind][0]:
                kinds[kind] = (rest, most)
        for kind, (rest, most) in sorted(kinds.items()):
            more = (most - rest) / 1e6
            print(f"  {title}, {kind}: {rest / 1e6:.0f} MB at rest, {most / 1e6:.0f} MB at most (+{more:.0f})")
        self._most = self._read()

    def stop(self) -> None:
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_SECONDS):
            for name, size in self._read().items():
                self._most[name] = max(size, self._most.get(name, 0))

    def _read(self) -> dict[str, int]:
        return {f"{kind} {pid}": size for pid, kind, size in _list_processes(self._pid)}


def _list_processes(pid: int) -> Iterator[tuple[int, str, int]]:
    """Lists the processes below: (pid, kind, bytes of RSS)."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
        except OSError:
            continue
    left = [pid]
    while left:
        one = left.pop()
        left += parents.get(one, [])
        try:
            command = Path(f"/proc/{one}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            fields = dict(line.split(":", 1) for line in Path(f"/proc/{one}/status").read_text().splitlines())
        except OSError:
            continue
        kind = next((name for mark, name in _KINDS if mark in command), "")
        if kind and "VmRSS" in fields:
            yield one, kind, int(fields["VmRSS"].split()[0]) * 1024


_KINDS = (("granian", "web"), ("qcluster", "worker"))


class Client:
    """Sends requests with the key."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key

    def send(self, method: str, path: str, body: bytes | dict[str, Any] | None = None) -> Any:
        """Returns the answer as JSON, or None if it is empty. Raises HTTPError."""
        is_bytes = isinstance(body, bytes)
        data = body if is_bytes or body is None else json.dumps(body).encode()
        kind = "application/octet-stream" if is_bytes else "application/json"
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": kind}
        request = urllib.request.Request(self._url + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            content = answer.read()
        return json.loads(content) if content else None


def write_export(path: Path, megabytes: int, seed: int) -> int:
    """Writes a `conversations.json` of that size; returns the number of its turns."""
    dice = random.Random(seed)
    turns = 0
    with path.open("w") as stream:
        stream.write("[")
        while stream.tell() < megabytes * 1_000_000:
            stream.write(("," if turns else "") + json.dumps(_make_conversation(dice, turns)))
            turns += TURNS
        stream.write("]")
    return turns


def _make_conversation(dice: random.Random, first: int) -> dict[str, Any]:
    identity = str(uuid.UUID(int=dice.getrandbits(128)))
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["0"]}}
    for turn in range(TURNS):
        sentences = " ".join(
            f"{dice.choice(NAMES)} found {dice.randrange(2, 9000)} {dice.choice(WORDS)} on day {first + turn}, and "
            f"left {dice.randrange(2, 9000)} {dice.choice(WORDS)} with {dice.choice(NAMES)}."
            for _ in range(dice.randrange(2, 20))
        )
        message = {
            "id": f"{identity}-{turn}",
            "author": {"role": "assistant" if turn % 2 else "user", "metadata": {}},
            "create_time": 1_719_830_000.0 + first + turn,
            "content": {"content_type": "text", "parts": [sentences]},
            "metadata": METADATA,
            "recipient": "all",
        }
        parent = str(turn - 1) if turn else "root"
        children = [str(turn + 1)] if turn + 1 < TURNS else []
        nodes[str(turn)] = {"id": str(turn), "message": message, "parent": parent, "children": children}
    return {
        "title": f"Talk {first}", "create_time": 1_719_830_000.0, "update_time": 1_719_830_100.0,
        "conversation_id": identity, "id": identity, "current_node": str(TURNS - 1), "mapping": nodes,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--key", required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--turns", type=int, default=0, help="cancel the import when so many are in; 0: all")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    client, watch = Client(options.url, options.key), Watch(options.pid)
    namespace = f"bench-{uuid.uuid4().hex[:8]}"
    for number in range(WARM):
        text = f"[2026-05-08] - I take the train number {number} to Lyon."
        client.send("POST", "/v1/imports", {"namespace": namespace, "text": text, "preview": number % 5 > 0})
    time.sleep(10)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "conversations.json"
        turns = write_export(path, options.megabytes, options.seed)
        size = path.stat().st_size
        print(f"an export of {size / 1e6:.0f} MB, {turns} turns", flush=True)
        watch.begin()
        began = time.perf_counter()
        upload = client.send("POST", "/v1/uploads", {"namespace": namespace, "name": path.name, "bytes": size})
        with path.open("rb") as stream:
            for number in range(upload["parts"]):
                part = stream.read(upload["part_bytes"])
                client.send("PUT", f"/v1/uploads/{upload['id']}/parts/{number}", part)
    print(f"uploaded in {upload['parts']} parts, {time.perf_counter() - began:.1f} s", flush=True)
    watch.report("upload")
    body = {"namespace": namespace, "upload": upload["id"]}
    began = time.perf_counter()
    found = client.send("POST", "/v1/imports", {**body, "preview": True})
    print(
        f"preview: {found['turns']} turns, complete {found['complete']}, {time.perf_counter() - began:.1f} s",
        flush=True,
    )
    watch.report("preview")
    began = time.perf_counter()
    started = client.send("POST", "/v1/imports", body)
    print(f"started in {time.perf_counter() - began:.1f} s", flush=True)
    watch.report("start")
    began = time.perf_counter()
    address = f"/v1/imports/{started['id']}"
    while (report := client.send("GET", address))["finished_at"] is None:
        if options.turns and report["dealt_with"] >= options.turns:
            report = client.send("POST", f"{address}/cancel", {})
            break
        time.sleep(1)
    seconds = time.perf_counter() - began
    print(f"{report['state']}: {report['new']} new of {report['turns']} turns, {seconds:.1f} s", flush=True)
    watch.report("import")
    watch.stop()


if __name__ == "__main__":
    main()
