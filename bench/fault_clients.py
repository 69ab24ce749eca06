"""Clients of a server under fault injection, which repeat each write under its key until it is acknowledged."""

from __future__ import annotations

import http.client
import json
import random
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

REQUEST_SECONDS = 75.0
PAUSE_SECONDS = 0.15
# The errors that a client must expect while parts of the server are unavailable.
CLEAN = {408, 429, 503}

HALLS = "amber basalt cobalt damson ember fennel garnet hazel indigo jasper".split()
GOODS = "lamps ropes kettles ledgers bolts sails drums bricks jars wheels".split()


@dataclass
class Book:
    """Records what was sent and what was acknowledged. A mark is a word of a text that no other memory has."""

    marks: dict[str, tuple[str, str]] = field(default_factory=dict)
    # (namespace, memory id) by mark; sent and not acknowledged are those of `sent` that are not here.
    sent: dict[str, str] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    documents: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    # The namespace, the last version and the mark of its text, by document id.
    erased: dict[str, tuple[str, str]] = field(default_factory=dict)
    # (namespace, session) by erasure id.
    erased_sent: set[tuple[str, str]] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    unclean: Counter[str] = field(default_factory=Counter)
    written: int = 0
    last_write: float = 0.0
    gaps: list[tuple[float, float]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def acknowledge(self) -> None:
        """Counts an acknowledged write, with its time."""
        with self.lock:
            now = time.monotonic()
            if self.last_write and now - self.last_write > 1:
                self.gaps.append((self.last_write, now - self.last_write))
            self.last_write = now
            self.written += 1


class Caller:
    """Holds a keep-alive connection, and counts answers by kind."""

    def __init__(self, port: int, key: str, book: Book) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        self._book = book

    def ask(self, method: str, path: str, body: Any = None, key: str = "") -> tuple[int, Any]:
        """Returns status and answer; the status is 0 if the connection was cut or refused."""
        headers = {**self._headers, **({"Idempotency-Key": key} if key else {})}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = self._connection.getresponse()
            status, raw = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._count(f"connection: {type(error).__name__}")
            return 0, None
        try:
            answer = json.loads(raw)
        except ValueError:
            self._count(f"{status} not JSON", f"{method} {_route(path)} {status}: {raw[:100]!r}")
            return status, None
        if status == 200:
            self._count("200")
            return status, answer
        error = answer.get("error", {}) if isinstance(answer, dict) else {}
        kind = f"{status} {error.get('code', 'without a code')}"
        is_clean = status in CLEAN and "code" in error
        self._count(kind, "" if is_clean else f"{method} {_route(path)}: {kind}: {error.get('message', '')[:160]}")
        return status, answer

    def _count(self, kind: str, problem: str = "") -> None:
        with self._book.lock:
            self._book.answers[kind] += 1
            if problem:
                self._book.unclean[problem] += 1


def _route(path: str) -> str:
    return re.sub(r"[0-9a-f-]{36}|\?.*", "…", path)


class Writer(threading.Thread):
    """Writes turns, batches, documents and feedback until it is stopped, and sometimes erases a session."""

    def __init__(self, number: int, caller: Caller, book: Book, seed: int) -> None:
        super().__init__(daemon=True)
        self.failure = ""
        self._caller = caller
        self._book = book
        self._chance = random.Random(seed * 1000 + number)
        self._name = f"faults-{number}"
        self._stop_asked = threading.Event()
        self._give_up = threading.Event()
        self._session = 0
        self._turns = 0
        self._own: list[str] = []

    def finish(self) -> None:
        """Ends after the write that is under way."""
        self._stop_asked.set()

    def give_up(self) -> None:
        """Ends with the write that is under way unacknowledged."""
        self._stop_asked.set()
        self._give_up.set()

    def run(self) -> None:
        acts: list[tuple[Callable[[], None], int]] = [
            (self._turn, 60),
            (self._batch, 12),
            (self._document, 8),
            (self._feedback, 8),
            (self._erasure, 2),
        ]
        try:
            while not self._stop_asked.is_set():
                [act] = self._chance.choices([act for act, _ in acts], weights=[weight for _, weight in acts])
                act()
                # The pause keeps the load low: the faults are tested, not the capacity.
                self._stop_asked.wait(self._chance.uniform(0.0, 0.2))
        except Exception as error:  # shown in the report: a thread that ends unseen would look like a server that is up
            self.failure = f"{type(error).__name__}: {error}"
            raise

    def _send_until_acknowledged(self, method: str, path: str, body: Any, key: str = "") -> Any:
        """Repeats a request until it is answered, and returns the answer; None after `give_up` or a final refusal."""
        while not self._give_up.is_set():
            status, answer = self._caller.ask(method, path, body, key)
            if status == 200 and answer is not None:
                self._book.acknowledge()
                return answer
            if 400 <= status < 500 and status not in CLEAN:
                return None
            self._give_up.wait(PAUSE_SECONDS)
        return None

    def _text(self, mark: str) -> str:
        pick = self._chance.choice
        return f"Delivery {mark}: {pick(GOODS)} for the {pick(HALLS)} hall, row {self._chance.randrange(900)}."

    def _item(self, session: str, namespace: str = "") -> tuple[str, dict[str, Any]]:
        mark = "mk" + uuid.UUID(int=self._chance.getrandbits(128)).hex[:14]
        where = namespace or self._name
        self._book.sent[mark] = where
        body = {"namespace": where, "session_id": session, "role": "user", "text": self._text(mark)}
        return mark, {**body, "metadata": {"mark": mark}}

    def _next_session(self) -> str:
        self._turns += 1
        if self._turns % 30 == 0:
            self._session += 1
        return f"s{self._session}"

    def _key(self) -> str:
        return f"{self._name}-{self._chance.getrandbits(64):016x}"

    def _turn(self) -> None:
        mark, body = self._item(self._next_session())
        key = self._key()
        answer = self._send_until_acknowledged("POST", "/v1/ingest", body, key)
        if answer:
            self._keep([mark], [answer["memory_id"]], key)

    def _batch(self) -> None:
        session = self._next_session()
        pairs = [self._item(session) for _ in range(self._chance.randint(2, 12))]
        key = self._key()
        answer = self._send_until_acknowledged("POST", "/v1/ingest/batch", {"items": [body for _, body in pairs]}, key)
        if answer:
            self._keep([mark for mark, _ in pairs], [one["memory_id"] for one in answer["results"]], key)

    def _document(self) -> None:
        document_id = f"{self._name}-doc{self._chance.randrange(6)}"
        mark = "mk" + uuid.UUID(int=self._chance.getrandbits(128)).hex[:14]
        paragraphs = [self._text(f"{mark}p{number}") for number in range(self._chance.randint(3, 20))]
        body = {
            "namespace": f"{self._name}-docs",
            "document_id": document_id,
            "text": "\n\n".join(paragraphs),
            "metadata": {"doc": mark},
        }
        answer = self._send_until_acknowledged("POST", "/v1/documents", body, self._key())
        if answer:
            self._book.documents[document_id] = (f"{self._name}-docs", answer["version"], mark)

    def _feedback(self) -> None:
        if self._own:
            memory_id = self._chance.choice(self._own)
            body = {"namespace": self._name, "kind": "useful"}
            self._send_until_acknowledged("POST", f"/v1/memories/{memory_id}/feedback", body)

    def _erasure(self) -> None:
        """Writes a few turns into a new session, and erases it."""
        session = f"gone-{self._chance.getrandbits(32):08x}"
        pairs = [self._item(session) for _ in range(4)]
        for mark, _ in pairs:
            del self._book.sent[mark]
        if not self._send_until_acknowledged(
            "POST", "/v1/ingest/batch", {"items": [body for _, body in pairs]}, self._key()
        ):
            return
        body = {"namespace": self._name, "session_id": session, "reason": "fault test"}
        self._book.erased_sent.add((self._name, session))
        answer = self._send_until_acknowledged("POST", "/v1/erasures", body, self._key())
        if answer:
            self._book.erased[answer["id"]] = (self._name, session)

    def _keep(self, marks: list[str], ids: list[str], key: str) -> None:
        self._own = [*self._own[-200:], *ids]
        for mark, memory_id in zip(marks, ids, strict=True):
            self._book.marks[mark] = (self._name, memory_id)
        self._book.keys[key] = ids


class Reader(threading.Thread):
    """Asks questions and reads lists until it is stopped; its answers are only counted."""

    def __init__(self, caller: Caller, writers: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._caller = caller
        self._writers = writers
        self._chance = random.Random(seed)
        self._stop_asked = threading.Event()

    def finish(self) -> None:
        self._stop_asked.set()

    def run(self) -> None:
        pick = self._chance.choice
        while not self._stop_asked.wait(0.2):
            namespace = f"faults-{self._chance.randrange(self._writers)}"
            asked = {"namespace": namespace, "query": f"Which {pick(GOODS)} came for the {pick(HALLS)} hall?"}
            match self._chance.randrange(6):
                case 0 | 1:
                    self._caller.ask("POST", "/v1/query", {**asked, "session_id": "s0"})
                case 2:
                    self._caller.ask("POST", "/v1/search", asked)
                case 3:
                    self._caller.ask("GET", f"/v1/memories?namespace={namespace}&limit=20")
                case 4:
                    self._caller.ask("GET", "/v1/ops/pipeline")
                case _:
                    self._caller.ask("GET", "/v1/ops/stats")
