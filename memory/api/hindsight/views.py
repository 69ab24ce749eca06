from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.event_stream import Slot
from memory.api.hindsight import tags
from memory.api.hindsight.serializers import (
    BUDGETS,
    STATES,
    BankDeletedSerializer,
    BankProfileSerializer,
    BankRecallAnswerSerializer,
    BankRecallSerializer,
    BankSerializer,
    MemoryUnitListingSerializer,
    MemoryUnitListSerializer,
    ReflectedSerializer,
    ReflectSerializer,
    RetainedSerializer,
    RetainSerializer,
)
from memory.api.route_tags import HINDSIGHT
from memory.api.schema import IDEMPOTENCY_KEY
from memory.api.serializers.answer import LEAST_ANSWER_TOKENS, MOST_ANSWER_TOKENS
from memory.api.serializers.ingest import OutcomeSerializer
from memory.api.views.answer import choose_terms
from memory.api.views.base import MemosViewSet
from memory.enums import AccessScope, Role
from memory.providers.calls import TokenUsage
from memory.retrieval.filters import Filter, parse
from memory.retrieval.hits import Hit
from memory.retrieval.render import NOTHING_FITS
from memory.services.answers.conversation import reply
from memory.services.answers.sources import find_sources
from memory.services.ingestion.ingest import ingest_batch
from memory.services.memories import bulk, bulk_run, read
from memory.services.memories.read import MemoryFilter
from memory.services.recall.search import Ask, search
from memory.types import Idempotency, NewMemory, session_of_day

WORLD, EXPERIENCE = "world", "experience"
REASON = "through hindsight's API"
# A request waits this long for memories to be archived; after that a worker continues.
ARCHIVE_SECONDS = 5.0


@extend_schema(tags=[HINDSIGHT.name])
class BankViewSet(MemosViewSet):
    """hindsight's banks. A bank is a namespace."""

    takes_unknown_fields = True
    required_scope = {
        **dict.fromkeys(("recall", "reflect", "units", "profile"), AccessScope.READ),
        **dict.fromkeys(("retain", "create", "destroy"), AccessScope.WRITE),
    }

    @extend_schema(
        operation_id="create_bank",
        summary="Make a bank, if it is not there",
        request=BankSerializer,
        responses={200: BankProfileSerializer},
    )
    def create(self, request: Request, bank_id: str) -> Response:
        self.valid(BankSerializer, request.data)
        return Response(_describe_bank(self.scope(bank_id).namespace))

    @extend_schema(operation_id="get_bank", summary="One bank", responses={200: BankProfileSerializer})
    def profile(self, request: Request, bank_id: str) -> Response:
        return Response(_describe_bank(self.scope(bank_id, create=False).namespace))

    @extend_schema(
        operation_id="delete_bank",
        summary="Delete all memories of a bank; each can be restored",
        responses={200: BankDeletedSerializer},
    )
    def destroy(self, request: Request, bank_id: str) -> Response:
        scope = self.scope(bank_id, create=False)
        change = bulk.archive_where(scope, where=None, reason=REASON, now=timezone.now())
        bulk_run.carry_out(
            namespace_id=scope.namespace_id, change_id=change.id, now=timezone.now, seconds=ARCHIVE_SECONDS
        )
        done = bulk.to_dict(bulk.find(self.access, change_id=change.id))
        kept = done["refused"] or 0
        says = "The bank is empty."
        if done["finished_at"] is None:
            says = f"The memories are being deleted: GET /v1/memories/bulk/{change.id} says how far."
        elif kept:
            says = f"A legal hold keeps {kept} of {change.matched} memories."
        return Response({"success": kept == 0, "message": says, "deleted_count": change.matched - kept})

    @extend_schema(
        operation_id="retain",
        summary="Remember up to 1000 texts, all or none",
        request=RetainSerializer,
        responses={200: RetainedSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def retain(self, request: Request, bank_id: str) -> Response:
        values = self.valid(RetainSerializer, request.data)
        now = self.now_in(bank_id)
        key = self._key(values)
        scope = self.scope(bank_id)
        turns = []
        for item in values["items"]:
            session = item["document_id"] or session_of_day(item["timestamp"] or now, now.tzinfo)
            metadata = _metadata(item, values["document_tags"] or [])
            turns.append((scope, NewMemory(session, Role.USER, item["content"], "", metadata, item["timestamp"])))
        done = ingest_batch(turns, now=now, idempotency=key)
        return Response(
            {
                "success": True,
                "bank_id": bank_id,
                "items_count": sum(outcome.accepted for outcome in done.outcomes),
                "async": False,
                "operation_id": values["operation_id"] and str(values["operation_id"]),
                "outcomes": [OutcomeSerializer.to_dict(outcome) for outcome in done.outcomes],
            }
        )

    @extend_schema(
        operation_id="recall",
        summary="Bring memories back",
        request=BankRecallSerializer,
        responses={200: BankRecallAnswerSerializer},
    )
    def recall(self, request: Request, bank_id: str) -> Response:
        values = self.valid(BankRecallSerializer, request.data)
        scope = self.scope_if_there(bank_id)
        roles = _roles(values["types"])
        if scope is None or roles == []:
            return Response({"results": []})
        least = values["min_scores"] or {}
        ask = _ask(values, roles, now=self.now_in(bank_id))
        found = search(scope, replace(ask, min_relevance=min(max(least.get("final") or 0.0, 0.0), 1.0)))
        near = [hit for hit in found.hits if _reaches(hit, least)]
        results = [{**_describe_hit(hit), "scores": _describe_scores(hit)} for hit in _fit(near, values["max_tokens"])]
        return Response({"results": results})

    @extend_schema(
        operation_id="reflect",
        summary="Answer a question from the memories",
        request=ReflectSerializer,
        responses={200: ReflectedSerializer},
    )
    def reflect(self, request: Request, bank_id: str) -> Response:
        values = self.valid(ReflectSerializer, request.data)
        scope = self.scope_if_there(bank_id)
        if scope is None:
            return Response(
                {"text": NOTHING_FITS, "based_on": None, "structured_output": None, "usage": _describe_usage(None)}
            )
        limit = values["max_tokens"]
        asked = {
            "model": None,
            "response_schema": values["response_schema"],
            "max_tokens": limit and min(max(limit, LEAST_ANSWER_TOKENS), MOST_ANSWER_TOKENS),
        }
        ask = _ask(values, None, now=self.now_in(bank_id))
        said = "\n".join(part for part in (values["query"], values["context"]) if part)
        terms = choose_terms(scope, asked, [NewMemory("", Role.USER, said)])
        sources = find_sources(scope, ask, session=session_of_day(ask.now, ask.zone), terms=terms)
        with Slot(self.access.actor) if terms.model else nullcontext():
            answer = reply(sources, None).answer
        cited = {quote.memory_id for quote in answer.quotes}
        memories = [_describe_hit(hit) for hit in (source.hit for source in sources.sources) if hit.id in cited]
        wants_facts = values["include"] is not None and values["include"]["facts"] is not None
        return Response(
            {
                "text": answer.text,
                "based_on": {"memories": memories, "mental_models": [], "directives": []} if wants_facts else None,
                "structured_output": answer.structured,
                "usage": _describe_usage(answer.usage),
            }
        )

    @extend_schema(
        operation_id="list_memory_units",
        summary="The memories of a bank",
        parameters=[MemoryUnitListingSerializer],
        responses={200: MemoryUnitListSerializer},
    )
    def units(self, request: Request, bank_id: str) -> Response:
        values = self.valid(MemoryUnitListingSerializer, request.query_params)
        scope = self.scope(bank_id, create=False)
        kind = values.get("type")
        wanted = MemoryFilter(
            session=values.get("document_id"),
            role={EXPERIENCE: Role.AGENT, WORLD: Role.USER}.get(kind) if kind else None,
            state=STATES[values["state"]],
            words=values.get("q"),
            limit=values["limit"],
        )
        rows, total = (
            ([], 0)
            if kind == "observation"
            else read.list_slice(scope, wanted=wanted, offset=values["offset"], now=timezone.now())
        )
        return Response(
            {
                "items": [_describe_row(row, values["state"]) for row in rows],
                "total": total,
                "limit": values["limit"],
                "offset": values["offset"],
            }
        )

    def _key(self, values: Mapping[str, Any]) -> Idempotency | None:
        """Return the request's idempotency key, or one made from its `operation_id`."""
        named = self.idempotency()
        if values["operation_id"] is None:
            return named
        return Idempotency(self.access.actor, f"hindsight-{values['operation_id']}", self.hash_body())


def _describe_bank(namespace: str) -> dict[str, Any]:
    traits = dict.fromkeys(("skepticism", "literalism", "empathy"), 3)
    return {"bank_id": namespace, "name": namespace, "disposition": traits, "mission": ""}


def _metadata(item: Mapping[str, Any], document_tags: Sequence[str]) -> dict[str, Any]:
    """Return the client's own metadata, with the other fields of the item under one key."""
    said = list(dict.fromkeys([*(item["tags"] or []), *document_tags]))
    own: dict[str, Any] = {"tags": said, "scope": tags.name_scope(said)} if said else {}
    for name in ("context", "document_id"):
        if item[name]:
            own[name] = item[name]
    return {**(item["metadata"] or {}), **({tags.KEY: own} if own else {})}


def _ask(values: Mapping[str, Any], roles: list[Role] | None, *, now: datetime) -> Ask:
    conditions = [tags.filter_by(values["tags"], values["tags_match"] or tags.TagMatch.ANY)]
    if roles:
        conditions.append({"role": {"in": [role.value for role in roles]}})
    where: Filter | None = parse({"and": [one for one in conditions if one]}) if any(conditions) else None
    return Ask(text=values["query"], top_k=BUDGETS[values["budget"] or "mid"], now=now, where=where)


def _roles(types: Sequence[str] | None) -> list[Role] | None:
    """Return the roles whose memories have these types, or None for all roles."""
    if not types or {WORLD, EXPERIENCE} <= set(types):
        return None
    if EXPERIENCE in types:
        return [Role.AGENT]
    return [Role.USER, Role.SYSTEM, Role.TOOL] if WORLD in types else []


def _reaches(hit: Hit, least: Mapping[str, float | None]) -> bool:
    return hit.similarity >= (least.get("semantic") or 0.0) and hit.bm25 >= (least.get("keyword") or 0.0)


def _fit(hits: Sequence[Hit], max_tokens: int | None) -> Iterator[Hit]:
    """Yield the hits, best first, until `max_tokens` are used up."""
    left = max_tokens
    for hit in hits:
        if left is not None:
            left -= hit.tokens
            if left < 0:
                return
        yield hit


def _describe_hit(hit: Hit) -> dict[str, Any]:
    own = hit.metadata.get(tags.KEY) or {}
    return {
        "id": str(hit.id),
        "text": hit.text,
        "type": EXPERIENCE if hit.role == Role.AGENT else WORLD,
        "context": own.get("context"),
        "occurred_start": hit.occurred_at.isoformat(),
        "occurred_end": None,
        "mentioned_at": hit.created_at.isoformat(),
        "document_id": own.get("document_id"),
        "metadata": _keep_texts(hit.metadata) or None,
        "tags": own.get("tags", []),
    }


def _describe_scores(hit: Hit) -> dict[str, Any]:
    return {"final": hit.relevance, "reranker": None, "semantic": hit.similarity, "keyword": hit.bm25}


def _describe_row(row: Mapping[str, Any], state: str) -> dict[str, Any]:
    own = row["metadata"].get(tags.KEY) or {}
    return {
        "id": row["id"],
        "text": row["text"],
        "context": own.get("context", ""),
        "date": row["occurred_at"],
        "fact_type": EXPERIENCE if row["role"] == Role.AGENT else WORLD,
        "document_id": own.get("document_id"),
        "mentioned_at": row["created_at"],
        "occurred_start": row["occurred_at"],
        "tags": own.get("tags", []),
        "metadata": _keep_texts(row["metadata"]),
        "state": state,
    }


def _keep_texts(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata values that are strings. Other types may come from clients of other APIs."""
    return {name: value for name, value in metadata.items() if isinstance(value, str)}


def _describe_usage(usage: TokenUsage | None) -> dict[str, int]:
    prompt, completion, cached = (getattr(usage, name, None) or 0 for name in ("prompt", "completion", "cached"))
    return {
        "input_tokens": prompt,
        "output_tokens": completion,
        "total_tokens": prompt + completion,
        "cached_tokens": cached,
    }
