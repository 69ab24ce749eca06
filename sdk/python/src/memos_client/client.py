"""The client. Every call raises APIError if the server refuses it, and ConnectionFailed if no server answers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack, overload

import httpx2

from memos_client import files, requests, types
from memos_client.errors import APIError, ConnectionFailed, MemOSError
from memos_client.requests import (
    AnswerOptions,
    ChangeOptions,
    ChatOptions,
    ContextOptions,
    DocumentOptions,
    Identity,
    ImportOptions,
    MemoryChange,
    MemoryListOptions,
    Message,
    RecallOptions,
    RememberOptions,
)
from memos_client.settings import ClientSettings
from memos_client.transport import EventReader, Request, arguments, error_of, error_of_event, pause_before

T = TypeVar("T")
Event = tuple[str, Any]
# Seconds to wait for an answer of the feed, and the least pause between two requests.
WAIT = 30
LEAST_PAUSE = 1.0


class MemOS:
    """A memory: `MemOS(url, key, namespace="alice")`. Close it, or use it in a `with` block.

    Calls that store something send an Idempotency-Key, so that a retry after a broken connection stores nothing twice.
    A busy server (429, 503) is retried after the time that it names.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        namespace: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        longest_pause: float = 60.0,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._settings = ClientSettings.read(
            url, key, namespace, timeout=timeout, retries=retries, longest_pause=longest_pause
        )
        self._http = httpx2.Client(
            base_url=self._settings.url, headers=self._settings.headers, timeout=timeout, transport=transport
        )
        self.memories = Memories(self)
        self.sessions = Sessions(self)
        self.documents = Documents(self)
        self.imports = Imports(self)
        self.changes = Changes(self)

    def remember(self, what: str | Sequence[Message], **options: Unpack[RememberOptions]) -> types.Ingested:
        """Remember a text, or the messages of a chat."""
        return self.send(requests.remember(what, self._fill(options)))

    def remember_all(
        self, items: Sequence[Mapping[str, Any]], *, namespace: str | None = None, idempotency_key: str | None = None
    ) -> types.IngestedBatch:
        """Remember up to 1,000 turns, each with the fields of `remember`. Either all of them are stored or none."""
        return self.send(requests.remember_all(items, namespace or self._settings.namespace, idempotency_key))

    def recall(self, query: str, **options: Unpack[RecallOptions]) -> types.Found:
        """Find the memories that answer best, in `hits`."""
        return self.send(requests.recall(query, self._fill(options)))

    def recall_many(
        self, questions: Sequence[str | Mapping[str, Any]], **defaults: Unpack[RecallOptions]
    ) -> types.FoundBatch:
        """Recall for up to 50 questions, each a text, or options with `query`.

        `results` are in the order of the questions. A failed question has an `error` and no `found`.
        """
        return self.send(requests.recall_many(questions, {"namespace": self._settings.namespace, **defaults}))

    def context(self, query: str, **options: Unpack[ContextOptions]) -> types.Answer:
        """Build a context pack for a prompt. Its text is `["context_pack"]["text"]`, its hits are `["raw_chunks"]`.

        With `lean=False` the answer also has all the parts of the pack, which repeat these texts.
        """
        return self.send(requests.context(query, self._fill(options)))

    @overload
    def answer(
        self, query: str, *, stream: Literal[False] = False, **options: Unpack[AnswerOptions]
    ) -> types.CitedAnswer: ...
    @overload
    def answer(self, query: str, *, stream: Literal[True], **options: Unpack[AnswerOptions]) -> Iterator[Event]: ...
    def answer(
        self, query: str, *, stream: bool = False, **options: Unpack[AnswerOptions]
    ) -> types.CitedAnswer | Iterator[Event]:
        """Answer a question with citations. With `stream` yield events; the last, `done`, has the whole answer."""
        request = requests.answer(query, self._fill(options), stream=stream)
        return self.stream(request) if stream else self.send(request)

    @overload
    def chat(
        self, message: str | Sequence[Message], *, stream: Literal[False] = False, **options: Unpack[ChatOptions]
    ) -> types.CitedAnswer: ...
    @overload
    def chat(
        self, message: str | Sequence[Message], *, stream: Literal[True], **options: Unpack[ChatOptions]
    ) -> Iterator[Event]: ...
    def chat(
        self, message: str | Sequence[Message], *, stream: bool = False, **options: Unpack[ChatOptions]
    ) -> types.CitedAnswer | Iterator[Event]:
        """Reply to a message in a session, and remember both."""
        request = requests.chat(message, self._fill(options), stream=stream)
        return self.stream(request) if stream else self.send(request)

    def send(self, request: Request[T]) -> T:
        """Send any request and return its answer."""
        headers = request.headers()
        seconds = self._settings.timeout + request.patience
        attempt = 0
        while True:
            attempt += 1
            error: MemOSError
            try:
                response = self._http.request(
                    request.method, request.path, timeout=seconds, **arguments(request, headers)
                )
                if response.is_success:
                    body: Any = response.json() if response.content else None
                    answer: T = body
                    return answer
                error = error_of(response)
            except httpx2.TransportError as broken:
                error = ConnectionFailed(f"{self._settings.url} does not answer: {broken or type(broken).__name__}.")
            pause = pause_before(request, attempt, error, longest=self._settings.longest_pause)
            if pause is None or attempt > self._settings.retries:
                raise error
            time.sleep(pause)

    def stream(self, request: Request[Any]) -> Iterator[Event]:
        """Yield the events (name, data) of a streamed answer as they arrive. Raises APIError for the event `error`."""
        try:
            with self._http.stream(request.method, request.path, **arguments(request, request.headers())) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                reader = EventReader()
                for line in response.iter_lines():
                    event = reader.feed(line)
                    if event is None:
                        continue
                    if event[0] == "error":
                        raise error_of_event(event[1])
                    yield event
        except httpx2.TransportError as broken:
            raise ConnectionFailed(f"{self._settings.url} broke off: {broken or type(broken).__name__}.") from broken

    def namespace_of(self, named: str | None) -> str | None:
        """Return `named`, or else the client's own namespace; None stands for the key's default."""
        return self._settings.namespace_of(named)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fill(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return self._settings.with_namespace(options)


class Memories:
    """Single memories. Changes need a reason, which the audit log keeps."""

    def __init__(self, client: MemOS) -> None:
        self._client = client

    def list(self, **options: Unpack[MemoryListOptions]) -> types.MemoryList:
        """Return a page of memories, newest first. `next_cursor` leads to the next page."""
        named = self._client.namespace_of(options.get("namespace"))
        return self._client.send(requests.list_memories({**options, "namespace": named}))

    def all(self, **options: Unpack[MemoryListOptions]) -> Iterator[types.Memory]:
        """Yield all memories, fetching page after page."""
        while True:
            page = self.list(**options)
            yield from page["memories"]
            if not page["next_cursor"]:
                return
            options["cursor"] = page["next_cursor"]

    def get(self, memory_id: Identity) -> types.Memory:
        return self._client.send(requests.get_memory(memory_id))

    def history(self, memory_id: Identity) -> types.History:
        """Return the memory's earlier versions and the changes made to it, with their reasons."""
        return self._client.send(requests.get_history(memory_id))

    def update(self, memory_id: Identity, *, reason: str, **change: Unpack[MemoryChange]) -> types.Changed:
        return self._client.send(requests.update_memory(memory_id, reason, change))

    def delete(self, memory_id: Identity, *, reason: str | None = None) -> types.Archived:
        """Archive the memory, so that it is no longer found. `restore` brings it back."""
        return self._client.send(requests.archive_memory(memory_id, reason))

    def restore(self, memory_id: Identity, *, reason: str) -> types.Changed:
        return self._client.send(requests.act_on_memory(memory_id, "restore", {"reason": reason}))

    def supersede(
        self, memory_id: Identity, *, reason: str, text: str | None = None, by: Identity | None = None
    ) -> types.Changed:
        """Replace the memory by a text or by another memory."""
        body = {"reason": reason, "text": text, "by": by}
        return self._client.send(requests.act_on_memory(memory_id, "supersede", body))

    def pin(self, memory_id: Identity, *, reason: str | None = None) -> types.Changed:
        return self._client.send(requests.act_on_memory(memory_id, "pin", {"reason": reason}))

    def unpin(self, memory_id: Identity, *, reason: str | None = None) -> types.Changed:
        return self._client.send(requests.act_on_memory(memory_id, "unpin", {"reason": reason}))


class Sessions:
    """Sessions, which are conversations."""

    def __init__(self, client: MemOS) -> None:
        self._client = client

    def reset(self, session_id: str, *, namespace: str | None = None, dry_run: bool = False) -> types.ResetDone:
        """Delete the session's memories, summaries and packs for good, or only count them with `dry_run`."""
        return self._client.send(
            requests.reset_session(session_id, self._client.namespace_of(namespace), dry_run=dry_run)
        )


class Documents:
    """Long texts, stored in chunks."""

    def __init__(self, client: MemOS) -> None:
        self._client = client

    def put(self, text: str, **options: Unpack[DocumentOptions]) -> types.StoredDocument:
        """Store a document, or a new version of one."""
        named = self._client.namespace_of(options.get("namespace"))
        return self._client.send(requests.put_document(text, {**options, "namespace": named}))

    def list(
        self,
        *,
        namespace: str | None = None,
        session_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> types.DocumentList:
        """Return a page, newest first. `next_cursor` leads to the next page. `session_id`: only those of a session."""
        named = self._client.namespace_of(namespace)
        return self._client.send(requests.list_documents(named, session_id, cursor, limit))

    def get(self, document_id: str, *, namespace: str | None = None) -> types.DocumentDetail:
        return self._client.send(requests.get_document(document_id, self._client.namespace_of(namespace)))

    def delete(self, document_id: str, *, namespace: str | None = None) -> types.DocumentDeleted:
        return self._client.send(requests.delete_document(document_id, self._client.namespace_of(namespace)))


class Imports:
    """Exports of other programs, which the server imports in a job."""

    def __init__(self, client: MemOS) -> None:
        self._client = client

    def start(self, path: files.FilePath, **options: Unpack[ImportOptions]) -> types.Import:
        """Send a file of any size in parts, and start its import. `get` returns the progress.

        A part that is lost with the connection is sent again. If the server refuses the file, no part of it stays
        there. Raises OSError for a file that cannot be read.
        """
        named = self._client.namespace_of(options.get("namespace"))
        size, sha256 = files.measure(path)
        upload = self._client.send(requests.start_upload(named, Path(path).name, size, sha256))
        try:
            for number in range(upload["parts"]):
                part = files.read_part(path, number, upload["part_bytes"])
                self._client.send(requests.send_part(upload["id"], number, part))
            started = self._client.send(requests.start_import(upload["id"], {**options, "namespace": named}))
        except (APIError, OSError):
            with contextlib.suppress(MemOSError):
                self._client.send(requests.delete_upload(upload["id"]))
            raise
        return started

    def get(self, import_id: Identity) -> types.Import:
        """Return the progress of an import, and its outcome."""
        return self._client.send(requests.get_import(import_id))


class Changes:
    """The events of a namespace, in order and without gaps."""

    def __init__(self, client: MemOS) -> None:
        self._client = client

    def list(self, **options: Unpack[ChangeOptions]) -> types.ChangeList:
        """Return the events after `cursor`; `wait` waits for one. Continue from `next_cursor`."""
        named = self._client.namespace_of(options.get("namespace"))
        return self._client.send(requests.list_changes({**options, "namespace": named}))

    def follow(self, **options: Unpack[ChangeOptions]) -> Iterator[types.ChangeList]:
        """Yield pages of new events, or of those after `cursor`, without end. No page is empty; keep `next_cursor`."""
        options.setdefault("cursor", "now")
        options.setdefault("wait", WAIT)
        while True:
            began = time.monotonic()
            page = self.list(**options)
            options["cursor"] = page["next_cursor"]
            if page["changes"]:
                yield page
            elif time.monotonic() - began < LEAST_PAUSE:
                # A server that cannot spare a process for waiting answers at once.
                time.sleep(LEAST_PAUSE)
