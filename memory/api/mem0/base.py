"""The base of mem0's views: their namespace, and the shape of memories and errors."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import orjson
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.errors import exception_handler
from memory.api.mem0 import filters
from memory.api.mem0.answers import Mem0ErrorSerializer
from memory.api.mem0.authentication import Mem0KeyAuthentication
from memory.api.message_fields import Content
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope, AuditEvent, GateDecision, MemoryState
from memory.errors import NotFound
from memory.owners import CATEGORIES, EXPIRATION, OWNERS, Owners, own_metadata
from memory.retrieval.filters import Filter, FilterError
from memory.services.facts.due import wants_facts
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import bulk, bulk_run, edit, lifecycle, read
from memory.services.memories.read import MemoryFilter
from memory.services.memories.supersede import find_superseded
from memory.services.memories.versions import find_last_changes
from memory.services.recall.search import Ask, search
from memory.services.tenancy.namespaces import default_namespace
from memory.types import Ingested, NewMemory, Scope

NAMESPACE_HEADER = "X-MemOS-Namespace"
MAX_NAME_CHARS = 128
REASON = "through mem0's API"
# A request waits this long for the memories of a filter to be archived; after that a worker continues.
ARCHIVE_SECONDS = 5.0


NAMESPACE_PARAMETER = OpenApiParameter(
    NAMESPACE_HEADER,
    {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS},
    OpenApiParameter.HEADER,
    description="Whose memory it is; without it the key's default",
)


class Mem0ViewSet(MemosViewSet):
    """Answers as mem0's API does. Errors have their message where mem0's clients look for it."""

    authentication_classes = (Mem0KeyAuthentication,)
    error_serializer = Mem0ErrorSerializer
    takes_unknown_fields = True

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], HttpResponse | None]:
        return _handle

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse an invalid namespace header, even on routes that need no namespace."""
        super().initial(request, *args, **kwargs)
        name = request.headers.get(NAMESPACE_HEADER)
        if name is not None and not 1 <= len(name) <= MAX_NAME_CHARS:
            raise ValidationError({NAMESPACE_HEADER: f"must have 1 to {MAX_NAME_CHARS} characters."})

    def own_scope(self, *, create: bool = False) -> Scope | None:
        """Return the scope of the namespace in the header, else of the key's default namespace.

        Returns None if that namespace does not exist and the key reaches all. Raises NotFound, ValidationError.
        """
        name = self.request.headers.get(NAMESPACE_HEADER)
        if name is None:
            name = default_namespace(self.access)
        if name is None:
            raise ValidationError(
                {NAMESPACE_HEADER: "is missing: this key reaches several namespaces, and the header says which it is."}
            )
        return self.scope(name) if create else self.scope_if_there(name)

    def add_messages(
        self, values: Mapping[str, Any], *, split: bool
    ) -> tuple[Scope, Ingested, list[dict[str, Any]], set[str]]:
        """Store the messages. With `split`, each belongs to the user or to the agent, by its role.

        Returns the scope, the result of ingestion, the stored memories, and the kinds of message parts that are not
        text.
        """
        scope = self.own_scope(create=True)
        assert scope is not None
        now = self.now_in(scope.namespace)
        owners = Owners.read(values)
        extra = {EXPIRATION: values["expiration_date"]} if values.get("expiration_date") else {}
        turns, left_out = [], set()
        for message in values["messages"]:
            content: Content | None = message["content"]
            left_out |= set(content.left_out) if content else set()
            if content is None or not content.text:
                continue
            own = owners.of_role(message["role"]) if split else owners
            metadata = {**(values["metadata"] or {}), **extra, **own.ids}
            session = owners.name_session(values.get("timestamp") or now, now.tzinfo)
            turns.append((scope, NewMemory(session, message["role"], content.text, message["name"] or "", metadata,
                                           values.get("timestamp"))))  # fmt: skip
        if not turns:
            raise ValidationError({"messages": "hold no text: MemOS reads texts only."})
        done = ingest_batch(turns, now=now, idempotency=self.idempotency())
        if self.access.may(AccessScope.READ):
            return scope, done, read.get_many(scope, done.memory_ids), left_out
        # A caller who may only write gets its own text back, because the stored one may have been corrected by others
        # since.
        said = zip(done.outcomes, turns, strict=True)
        rows = [{"id": str(one.memory_id), "text": turn.text} for one, (_, turn) in said if one.accepted]
        return scope, done, rows, left_out

    def search(self, where: Filter, values: Mapping[str, Any], *, top_k: int) -> list[dict[str, Any]]:
        """Return the memories that answer the query, each with its score."""
        scope = self.own_scope()
        if scope is None:
            return []
        where = filters.join(where, *narrow(values))
        ask = Ask(
            values["query"], top_k, self.now_in(scope.namespace), where=where, min_relevance=values["threshold"] or 0.0
        )
        hits = search(scope, ask).hits
        changes = find_last_changes(scope, [hit.id for hit in hits])
        return [
            {
                **_describe(str(hit.id), hit.text, hit.metadata, hit.occurred_at.isoformat()),
                "updated_at": (changes.get(hit.id) or hit.created_at).isoformat(),
                "score": hit.relevance,
                "score_breakdown": {"semantic": hit.similarity, "bm25": hit.bm25},
            }
            for hit in hits
        ]

    def page(self, where: Filter, paging: Mapping[str, Any], *, current: bool | None = None) -> dict[str, Any]:
        """Return a page of the memories that match the filter."""
        scope = self.own_scope()
        size, offset = paging["page_size"], (paging["page"] - 1) * paging["page_size"]
        rows: list[dict[str, Any]] = []
        total = 0
        if scope is not None:
            wanted = MemoryFilter(current=current, limit=size)
            rows, total = read.list_slice(scope, wanted=wanted, offset=offset, now=timezone.now(), where=where)
        return {**self.addresses(paging, total), "results": self.describe_rows(scope, rows)}

    def addresses(self, paging: Mapping[str, Any], total: int) -> dict[str, Any]:
        """Return the total, and the URLs of the next and the previous page."""
        page, size = paging["page"], paging["page_size"]

        def address(number: int) -> str:
            query = {**self.request.query_params.dict(), "page": number, "page_size": size}
            return self.request.build_absolute_uri(f"{self.request.path}?{urlencode(query)}")

        return {
            "count": total,
            "next": address(page + 1) if page * size < total else None,
            "previous": address(page - 1) if page > 1 else None,
        }

    def describe_rows(self, scope: Scope | None, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return memories of the namespace in mem0's form."""
        changes = find_last_changes(scope, [uuid.UUID(row["id"]) for row in rows]) if scope and rows else {}
        return [
            {
                **_describe(row["id"], row["text"], row["metadata"], row["occurred_at"]),
                "updated_at": changes[uuid.UUID(row["id"])].isoformat()
                if uuid.UUID(row["id"]) in changes
                else row["created_at"],
            }
            for row in rows
        ]

    def find(self, memory_id: uuid.UUID) -> dict[str, Any]:
        """Return an active memory. Raises NotFound."""
        row = read.get_memory(self.access, memory_id=memory_id)
        if row["state"] != MemoryState.ACTIVE:
            raise NotFound(
                f"The memory {memory_id} was deleted. POST /v1/memories/{memory_id}/restore brings it back.",
                detail={"field": "memory_id"},
            )
        return row

    def describe_one(self, memory_id: uuid.UUID) -> dict[str, Any]:
        """Return an active memory in mem0's form. Raises NotFound."""
        row = self.find(memory_id)
        scope = self.scope(row["namespace"], create=False)
        return self.describe_rows(scope, [row])[0]

    def list_history(self, memory_id: uuid.UUID) -> list[dict[str, Any]]:
        """Return a memory's history, oldest entry first. Raises NotFound."""
        told = read.history(self.access, memory_id=memory_id, limit=1000)
        return _tell_history(told)

    def delete_one(self, memory_id: uuid.UUID, *, linked: bool = False) -> Response:
        """Archive a memory. Raises NotFound, Conflict."""
        row = self.find(memory_id)
        if linked:
            scope = self.scope(row["namespace"], create=False)
            ids = [memory_id, *find_superseded(scope, memory_id)]
            edit.archive(self.access, memory_ids=ids, reason=REASON, now=timezone.now(), request_id=self.request_id)
        else:
            lifecycle.archive_one(self.access, memory_id=memory_id, reason=REASON, now=timezone.now())
        return Response({"message": "Memory deleted successfully!"})

    def delete_where(self, where: Filter | None) -> tuple[int, str]:
        """Archive the memories that match the filter; return their number and a message for the client."""
        scope = self.own_scope()
        if scope is None:
            return 0, "There are no memories to delete."
        change = bulk.archive_where(scope, where=where, reason=REASON, now=timezone.now())
        bulk_run.carry_out(
            namespace_id=scope.namespace_id, change_id=change.id, now=timezone.now, seconds=ARCHIVE_SECONDS
        )
        done = bulk.to_dict(bulk.find(self.access, change_id=change.id))
        if done["finished_at"] is None:
            return change.matched, f"{change.matched} memories are being deleted: GET /v1/memories/bulk/{change.id}"
        if done["refused"]:
            return change.matched, f"{done['refused']} of {change.matched} memories stay: a legal hold keeps them."
        return change.matched, "Memories deleted successfully!"


def narrow(values: Mapping[str, Any]) -> list[Filter]:
    """Return the filters for a request's options besides its `filters`. Raises ValidationError."""
    parts: list[Filter] = []
    if not values["show_expired"]:
        parts.append(filters.not_expired(timezone.now().date()))
    try:
        if values.get("categories"):
            parts.append(filters.hold_categories(values["categories"]))
        if values.get("metadata"):
            parts.append(filters.hold_metadata(values["metadata"]))
    except FilterError as error:
        raise ValidationError({error.place: error.problem}) from error
    return parts


def describe_added(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry for an added memory."""
    return {"id": row["id"], "memory": row["text"], "event": "ADD", "data": {"memory": row["text"]}}


def count_memories(number: int) -> str:
    """Return the number with its noun: `1 memory`, `2 memories`."""
    return f"{number} {'memory' if number == 1 else 'memories'}"


def tell_outcome(scope: Scope, done: Ingested, *, infer: bool | None, left_out: Collection[str] = ()) -> str:
    """Describe the outcome of an addition in a sentence or two. `left_out`: kinds of message parts without text."""
    stored, kept_out = len(done.memory_ids), [one for one in done.outcomes if not one.accepted]
    says = f"{count_memories(stored)} stored"
    if infer is False:
        says += "."
    elif wants_facts(scope.namespace_id):
        says += " as said; a language model looks for facts in them in the background."
    else:
        says += (
            " as said: without a language model nothing is inferred. Set the policy `extract: facts` to have one do it."
        )
    if kept_out:
        says += f" The gate kept out {len(kept_out)}: {_tell_reasons(one.reasons for one in kept_out)}"
    if left_out:
        says += f" Parts that are no text were left out: {', '.join(sorted(left_out))}."
    return says + tell_marked([one.reasons for one in done.outcomes if one.verdict == GateDecision.ACCEPT_REDACTED])


def tell_marked(marked: Sequence[Sequence[Mapping[str, str]]]) -> str:
    """Say in how many texts the gate masked secrets, with its reasons. Returns "" if in none."""
    return f" The gate put marks in {len(marked)}: {_tell_reasons(marked)}" if marked else ""


def tell_changes(done: Sequence[Mapping[str, Any]]) -> str:
    """Say in how many corrected texts the gate masked secrets, as `tell_marked` does."""
    return tell_marked([one["reasons"] for one in done if one["verdict"] == GateDecision.ACCEPT_REDACTED])


def _tell_reasons(reasons: Iterable[Sequence[Mapping[str, str]]]) -> str:
    return "; ".join(dict.fromkeys(reason["says"] for some in reasons for reason in some))


def _describe(identity: str, text: str, metadata: Mapping[str, Any], occurred_at: str) -> dict[str, Any]:
    """Return a memory without `updated_at`. mem0's clients expect the `timestamp` they sent in `created_at`."""
    categories = metadata.get(CATEGORIES)
    return {
        "id": identity,
        "memory": text,
        **{name: _text(metadata.get(name)) for name in OWNERS},
        "metadata": own_metadata(metadata),
        "categories": [one for one in categories if isinstance(one, str)] if isinstance(categories, list) else [],
        "expiration_date": _text(metadata.get(EXPIRATION)),
        "created_at": occurred_at,
    }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _tell_history(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    memory = told["memory"]
    versions = sorted(told["versions"], key=lambda version: version["replaced_at"])
    said = [*versions, memory]
    entries = [_tell(memory, "ADD", (None, said[0]["text"]), said[0], at=memory["created_at"])]
    for version, following in zip(versions, said[1:], strict=True):
        change = (version["text"], following["text"])
        entries.append(_tell(memory, "UPDATE", change, following, at=version["replaced_at"], identity=version["id"]))
    for event in told["events"]:
        if event["event_type"] == AuditEvent.MEMORY_ARCHIVE:
            change = (memory["text"], None)
            entries.append(_tell(memory, "DELETE", change, memory, at=event["created_at"], identity=event["id"]))
    return sorted(entries, key=lambda one: str(one["updated_at"]))


def _tell(
    memory: Mapping[str, Any],
    event: str,
    change: tuple[str | None, str | None],
    holder: Mapping[str, Any],
    *,
    at: str,
    identity: str = "",
) -> dict[str, Any]:
    """Return an entry of a history. `holder` has the metadata after the change."""
    return {
        "id": identity or memory["id"],
        "memory_id": memory["id"],
        "input": [],
        "old_memory": change[0],
        "new_memory": change[1],
        "user_id": _text(holder["metadata"].get("user_id")),
        "event": event,
        "metadata": own_metadata(holder["metadata"]),
        "created_at": memory["occurred_at"],
        "updated_at": at,
    }


def _handle(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    answered = exception_handler(error, context)
    if answered is not None:
        body = orjson.loads(answered.content)
        answered.content = orjson.dumps({**body, "detail": body["error"]["message"]})
    return answered
