"""The requests of all calls. Their options have the same names as in the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict
from uuid import UUID

from memos_client import types
from memos_client.transport import Request, path_of, without_none

Moment = datetime | str
Identity = UUID | str
# Seconds that the server may need to read a large file before it answers.
READING = 120.0
# Additional seconds for embedding long or many texts.
EMBEDDING = 60.0


class Message(TypedDict, total=False):
    """A message as chat SDKs send it."""

    role: str
    content: str | Sequence[Mapping[str, Any]]
    name: str


class RememberOptions(TypedDict, total=False):
    """Options of `remember`.

    `session_id` is the conversation, by default that of the day. `role` is user, assistant, system or tool. `timezone`
    (IANA name) says when a day begins; the default is the zone of the key's user, else the namespace's.
    """

    namespace: str
    session_id: str
    role: str
    speaker: str
    occurred_at: Moment
    timezone: str
    metadata: Mapping[str, Any]
    idempotency_key: str


class RecallOptions(TypedDict, total=False):
    """Options of `recall`.

    `cubes` are ids of further cubes to search. `filter` restricts the search. `as_of` and `valid_at` ask for the past.
    `timezone` (IANA name) is used for words like yesterday. `min_relevance` is from 0 to 1.
    """

    namespace: str
    cubes: Sequence[str]
    top_k: int
    filter: Mapping[str, Any]
    as_of: Moment
    valid_at: Moment
    timezone: str
    min_relevance: float
    explain: bool
    dry_run: bool


class ContextOptions(RecallOptions, total=False):
    """Options of `context`. `max_tokens` limits the pack's text. `lean=False` also returns all its parts."""

    session_id: str
    max_tokens: int
    lean: bool


class AnswerOptions(TypedDict, total=False):
    """Options of `answer`.

    `model` is `provider/model`, or `extractive` for quotes. `response_schema` is a JSON schema that a model fills in.
    `cubes` are ids of further cubes to search. `timezone` is used as in `recall`, and for dates in the answer.
    """

    namespace: str
    cubes: Sequence[str]
    session_id: str
    top_k: int
    filter: Mapping[str, Any]
    as_of: Moment
    valid_at: Moment
    timezone: str
    model: str
    max_tokens: int
    response_schema: Mapping[str, Any]
    remember: bool
    idempotency_key: str


class ChatOptions(TypedDict, total=False):
    """Options of `chat`, like those of `answer`. Both sides are remembered in the namespace, never in cubes."""

    namespace: str
    cubes: Sequence[str]
    session_id: str
    top_k: int
    filter: Mapping[str, Any]
    as_of: Moment
    valid_at: Moment
    timezone: str
    model: str
    max_tokens: int
    response_schema: Mapping[str, Any]
    idempotency_key: str


class MemoryListOptions(TypedDict, total=False):
    """Options of `memories.list`. `cursor` is the `next_cursor` of the previous page. Options left out match all."""

    namespace: str
    session_id: str
    speaker: str
    role: str
    kind: str
    state: Literal["active", "archived", "any"]
    since: Moment
    until: Moment
    text: str
    pinned: bool
    current: bool
    limit: int
    cursor: str


class MemoryChange(TypedDict, total=False):
    """The new values of a memory's fields."""

    text: str
    metadata: Mapping[str, Any]
    speaker: str
    importance: float
    occurred_at: Moment
    reviewed: bool


class ChangeOptions(TypedDict, total=False):
    """Options of `changes`.

    `cursor` is the `next_cursor` of the previous answer, or `now` for new events only; without it the feed starts at
    the beginning. `wait` is how many seconds to wait for an event if there is none yet.
    """

    namespace: str
    cursor: str
    types: Sequence[str]
    limit: int
    wait: int


class DocumentOptions(TypedDict, total=False):
    """Options of `documents.put`.

    `document_id` is your own name for the document; storing it again replaces the previous version. `metadata` is
    returned with every chunk, `data` only by `documents.get`.
    """

    namespace: str
    document_id: str
    title: str
    format: Literal["text", "markdown"]
    source: str
    session_id: str
    metadata: Mapping[str, Any]
    data: Mapping[str, Any]
    occurred_at: Moment
    idempotency_key: str


class ImportOptions(TypedDict, total=False):
    """Options of `imports.start`. By default `format` is read from the content. `speaker` is the name of the user."""

    namespace: str
    format: types.ImportFormatEnum
    speaker: str


def remember(what: str | Sequence[Message], options: Mapping[str, Any]) -> Request[types.Ingested]:
    body, key = _split(options)
    told = {"text": what} if isinstance(what, str) else {"messages": [dict(one) for one in what]}
    return Request("POST", "/v1/ingest", body={**body, **told}, once=True, key=key)


def remember_all(
    items: Sequence[Mapping[str, Any]], namespace: str | None, key: str | None
) -> Request[types.IngestedBatch]:
    filled = [{**without_none({"namespace": namespace}), **item} for item in items]
    return Request("POST", "/v1/ingest/batch", body={"items": filled}, once=True, patience=EMBEDDING, key=key)


def recall(query: str, options: Mapping[str, Any]) -> Request[types.Found]:
    return Request("POST", "/v1/search", body={**options, "query": query}, asks=True)


def recall_many(questions: Sequence[str | Mapping[str, Any]], defaults: Mapping[str, Any]) -> Request[types.FoundBatch]:
    asked = [{"query": one} if isinstance(one, str) else dict(one) for one in questions]
    return Request("POST", "/v1/search/batch", body={"questions": asked, "defaults": without_none(defaults)}, asks=True)


def context(query: str, options: Mapping[str, Any]) -> Request[types.Answer]:
    return Request("POST", "/v1/query", body={"lean": True, **options, "query": query}, asks=True)


def answer(query: str, options: Mapping[str, Any], *, stream: bool = False) -> Request[types.CitedAnswer]:
    body, key = _split(options)
    path = "/v1/answer/stream" if stream else "/v1/answer"
    is_kept = bool(body.get("remember"))
    return Request("POST", path, body={**body, "query": query}, once=is_kept, asks=not is_kept, key=key)


def chat(
    message: str | Sequence[Message], options: Mapping[str, Any], *, stream: bool = False
) -> Request[types.CitedAnswer]:
    body, key = _split(options)
    said = {"message": message} if isinstance(message, str) else {"messages": [dict(one) for one in message]}
    return Request("POST", "/v1/chat/stream" if stream else "/v1/chat", body={**body, **said}, once=True, key=key)


def list_memories(options: Mapping[str, Any]) -> Request[types.MemoryList]:
    return Request("GET", "/v1/memories", params=options)


def get_memory(memory_id: Identity) -> Request[types.Memory]:
    return Request("GET", path_of("v1", "memories", memory_id))


def get_history(memory_id: Identity) -> Request[types.History]:
    return Request("GET", path_of("v1", "memories", memory_id, "history"))


def update_memory(memory_id: Identity, reason: str, change: Mapping[str, Any]) -> Request[types.Changed]:
    return Request("PATCH", path_of("v1", "memories", memory_id), body={**change, "reason": reason}, once=True)


def archive_memory(memory_id: Identity, reason: str | None) -> Request[types.Archived]:
    return Request("DELETE", path_of("v1", "memories", memory_id), params={"reason": reason}, once=True)


def act_on_memory(memory_id: Identity, action: str, body: Mapping[str, Any]) -> Request[types.Changed]:
    """Return a request for an `action`: restore, supersede, pin, unpin or feedback."""
    return Request("POST", path_of("v1", "memories", memory_id, action), body=without_none(body), once=True)


def reset_session(session_id: str, namespace: str | None, *, dry_run: bool) -> Request[types.ResetDone]:
    body = {"namespace": namespace, "session_id": session_id, "confirm": True, "dry_run": dry_run}
    return Request("POST", "/v1/sessions/reset", body=body)


def put_document(text: str, options: Mapping[str, Any]) -> Request[types.StoredDocument]:
    body, key = _split(options)
    return Request("POST", "/v1/documents", body={**body, "text": text}, once=True, patience=EMBEDDING, key=key)


def list_documents(
    namespace: str | None, session_id: str | None, cursor: str | None, limit: int | None
) -> Request[types.DocumentList]:
    params = {"namespace": namespace, "session_id": session_id, "cursor": cursor, "limit": limit}
    return Request("GET", "/v1/documents", params=params)


def get_document(document_id: str, namespace: str | None) -> Request[types.DocumentDetail]:
    return Request("GET", path_of("v1", "documents", document_id), params={"namespace": namespace})


def delete_document(document_id: str, namespace: str | None) -> Request[types.DocumentDeleted]:
    return Request("DELETE", path_of("v1", "documents", document_id), params={"namespace": namespace})


def start_upload(namespace: str | None, name: str, size: int, sha256: str) -> Request[types.Upload]:
    body = {"namespace": namespace, "name": name, "bytes": size, "sha256": sha256}
    return Request("POST", "/v1/uploads", body=body)


def send_part(upload_id: Identity, number: int, content: bytes) -> Request[None]:
    return Request("PUT", path_of("v1", "uploads", upload_id, "parts", number), content=content)


def delete_upload(upload_id: Identity) -> Request[None]:
    return Request("DELETE", path_of("v1", "uploads", upload_id))


def start_import(upload_id: Identity, options: Mapping[str, Any]) -> Request[types.Import]:
    return Request("POST", "/v1/imports", body={**options, "upload": upload_id}, once=True, patience=READING)


def get_import(import_id: Identity) -> Request[types.Import]:
    return Request("GET", path_of("v1", "imports", import_id))


def list_changes(options: Mapping[str, Any]) -> Request[types.ChangeList]:
    """Return a request for events. The list `types` is sent separated by commas."""
    query = {**options, "types": ",".join(options["types"])} if options.get("types") else options
    return Request("GET", "/v1/changes", params=query, patience=float(options.get("wait") or 0))


def _split(options: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return the body and the Idempotency-Key."""
    body = dict(options)
    return body, body.pop("idempotency_key", None)
