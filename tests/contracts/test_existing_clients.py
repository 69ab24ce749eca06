"""Clients from before this server: their models, strict, read every answer of the routes that they call.

The models hold what those clients read, by name and type; answers may have more. Strict: text is no number, a number no
text, null only where it is said. `Answer` and its kin are the clients' side: they import nothing of the server's.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal, TypeVar

import pytest
from django.test import Client, override_settings
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from memory.models import ContextPack, Memory, Namespace, Session
from memory.services.jobs.queue import CONDENSE, enqueue
from tests.job_queue import run_task

NAMESPACE, SESSION = "Project_X", "web-1"
CARD = "memos.memory_card.v2"
TierLabel = Literal["L1 Scratchpad (Redis)", "L2 Semantic (Vector DB)", "L3 Entity Graph (Neo4j)"]
Number = StrictFloat | StrictInt
Read = TypeVar("Read", bound=BaseModel)
Unit = Annotated[Number, Field(ge=0, le=1)]


class Model(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class Health(Model):
    status: Literal["ok"]


class Ingested(Model):
    memory_id: StrictStr
    accepted: StrictBool


class ChunkMetadata(Model):
    role: Literal["user", "agent", "system", "tool"]
    overlap: Number
    rerank_score: Unit


class Chunk(Model):
    id: StrictStr
    tier: TierLabel
    text: StrictStr
    score: Annotated[Number, Field(ge=-1, le=1)]
    metadata: ChunkMetadata


class RerankDebug(Model):
    method: StrictStr
    components: dict[StrictStr, Number]


class WindowMessage(Model):
    role: StrictStr
    text: StrictStr


class WorkingMemory(Model):
    l1_window: list[WindowMessage]
    session_summary: StrictStr
    session_summary_id: StrictStr | None


class Procedural(Model):
    prompt: dict[StrictStr, Any] | None
    tools: list[dict[StrictStr, Any]]


class Retrieval(Model):
    raw_chunks: list[Chunk]


class Pack(Model):
    version: Literal["memos.context_pack.v1"] = Field(alias="schema")
    namespace: StrictStr
    session_id: StrictStr
    query_text: StrictStr
    procedural: Procedural
    working_memory: WorkingMemory
    retrieval: Retrieval


class Answer(Model):
    id: StrictStr
    source_tier: TierLabel
    similarity: Number
    raw_chunks: list[Chunk]
    condensed_summary: StrictStr
    token_usage_original: StrictInt
    token_usage_condensed: StrictInt
    rerank_debug: list[RerankDebug]
    session_summary_id: StrictStr | None
    session_summary_cache_hit: StrictBool
    session_summary_enqueued: StrictBool
    context_pack_id: StrictStr | None
    context_pack: Pack


class Stats(Model):
    total_memories: StrictInt
    active_contexts: StrictInt
    token_savings: StrictInt
    compression_ratio: Number


class Queue(Model):
    name: StrictStr
    count: StrictInt


class TriggerDetails(Model):
    source: StrictStr
    strategy: StrictStr
    version: StrictStr = Field(alias="schema")
    new_memory_ids: list[StrictStr]
    new_message_count: StrictInt


class Condensation(Model):
    id: StrictStr
    namespace: StrictStr
    session_id: StrictStr
    version: Literal["memos.session_summary.v1"]
    trigger_reason: StrictStr
    trigger_details: TriggerDetails
    source_memory_ids: list[StrictStr]
    condensed_text: StrictStr
    token_original: StrictInt
    token_condensed: StrictInt
    created_at: StrictStr


class Condensations(Model):
    condensations: list[Condensation]


class Pipeline(Model):
    queues: list[Queue]
    recent_condensations: list[Condensation]


class QueryDetails(Model):
    top_k: StrictInt
    l2_hits: StrictInt
    rerank: StrictStr
    retrieved: StrictInt
    l1_window: StrictInt
    condensation_cache_hit: StrictBool
    condensation_enqueued: StrictBool


class Event(Model):
    id: StrictStr
    namespace: StrictStr
    session_id: StrictStr
    event_type: StrictStr
    details: dict[StrictStr, Any]
    created_at: StrictStr


class Audit(Model):
    events: list[Event]


class PackRow(Model):
    id: StrictStr
    namespace: StrictStr
    session_id: StrictStr
    query_text: StrictStr
    session_summary_id: StrictStr | None
    retrieved_count: StrictInt
    created_at: StrictStr
    pack: dict[StrictStr, Any]


class Packs(Model):
    context_packs: list[PackRow]


class Tool(Model):
    name: StrictStr
    endpoint: StrictStr
    type: StrictStr
    purpose: StrictStr


class ToolRegistry(Model):
    tools: list[Tool]


class Registries(Model):
    prompt_registry: dict[StrictStr, dict[StrictStr, Any]]
    tool_registry: ToolRegistry


class DeletedCounts(Model):
    redis_keys: StrictInt
    memories: StrictInt
    condensations: StrictInt
    audit: StrictInt


class Reset(Model):
    ok: StrictBool
    namespace: StrictStr
    session_id: StrictStr
    reset_at: StrictStr
    deleted_counts: DeletedCounts


class Seeded(Model):
    ok: StrictBool
    namespace: StrictStr
    session_id: StrictStr
    inserted: StrictInt
    memory_ids: list[StrictStr]


class Card(Model):
    version: Literal["memos.memory_card.v2"] = Field(alias="schema")
    facts: list[StrictStr]
    preferences: list[StrictStr]
    constraints: list[StrictStr]
    decisions: list[StrictStr]
    risks: list[StrictStr]
    actions: list[StrictStr]
    pitfalls: list[StrictStr]
    commands: list[StrictStr]
    raw_excerpt: StrictStr | None = None


class PolicyValue(Model):
    key: StrictStr
    value: Any
    origin: Literal["default", "environment", "namespace"]


class Policy(Model):
    namespace: StrictStr
    policy: dict[StrictStr, Any]
    values: list[PolicyValue]


class Recalled(Model):
    content: StrictStr
    source: Literal["hot", "cold"]
    score: Number


class Recall(Model):
    results: list[Recalled]


@pytest.fixture
def console(db: None) -> Any:
    """Return the predecessor's console: a page of another origin that sends no key."""
    with override_settings(MEMOS_ANONYMOUS=True):
        yield Client(headers={"Origin": "http://localhost:3000"})


def get(client: Client, model: type[Read], path: str, **query: str) -> Read:
    return read(client.get(path, query), model)


def post(client: Client, model: type[Read], path: str, body: Any = None) -> Read:
    return read(client.post(path, body, content_type="application/json"), model)


def read(answer: Any, model: type[Read]) -> Read:
    """Check that the answer has the status 200, that the page can read it, and that it has the model's types."""
    assert answer.status_code == 200, answer.content
    assert answer["Access-Control-Allow-Origin"] == "http://localhost:3000"
    return model.model_validate_json(answer.content, strict=True)


def shown_card(text: str) -> Card | None:
    """Return the card that the console's inspector shows for a summary, or None where it shows plain text."""
    if not text.strip().startswith("{"):
        return None
    return Card.model_validate_json(text, strict=True) if json.loads(text).get("schema") == CARD else None


def here(**more: Any) -> dict[str, Any]:
    return {"namespace": NAMESPACE, "session_id": SESSION, **more}


def test_a_demonstration_from_the_seed_to_the_reset(console):
    """Do what the console does from "Seed Demo Data" to "Reset", in order."""
    assert get(console, Health, "/health").status == "ok"
    assert get(console, Stats, "/v1/ops/stats").total_memories == 0
    seeded = post(console, Seeded, f"/v1/dev/seed?namespace={NAMESPACE}&session_id={SESSION}&reset=true")
    assert (seeded.namespace, seeded.session_id, seeded.inserted) == (NAMESPACE, SESSION, len(seeded.memory_ids))

    turn = here(role="user", text="我踩过哪些坑？", metadata={"source": "web", "ui": "RagDebugger"})
    assert post(console, Ingested, "/v1/ingest", turn).accepted
    first = post(console, Answer, "/v1/query", here(query="我踩过哪些坑？", top_k=6))
    assert shown_card(first.condensed_summary) is None
    assert first.context_pack.working_memory.session_summary == ""
    assert first.session_summary_enqueued
    assert first.id == first.context_pack_id
    queues = get(console, Pipeline, "/v1/ops/pipeline").queues
    assert (queues[0].name, queues[0].count) == ("condensation", 1)

    assert run_task("condense_session", Namespace.objects.get(name=NAMESPACE).pk, SESSION) == 1
    (summary,) = get(console, Condensations, "/v1/ops/condensations", **here(limit="1")).condensations
    card = shown_card(summary.condensed_text)
    assert card is not None
    assert (card.pitfalls, card.commands) == (card.risks, card.actions)
    assert card.facts != []
    assert summary.trigger_details.new_message_count == len(summary.trigger_details.new_memory_ids) == 14
    assert get(console, Pipeline, "/v1/ops/pipeline").recent_condensations == [summary]

    second = post(console, Answer, "/v1/query", here(query="我踩过哪些坑？", top_k=12))
    assert second.session_summary_cache_hit
    assert shown_card(second.condensed_summary) == card
    assert shown_card(second.context_pack.working_memory.session_summary) == card
    assert second.context_pack.working_memory.session_summary_id == second.session_summary_id == summary.id
    assert [len(second.rerank_debug), len(second.raw_chunks)] == [12, 12]
    scores = [chunk.metadata.rerank_score for chunk in second.raw_chunks]
    assert scores == sorted(scores, reverse=True)

    events = get(console, Audit, "/v1/ops/audit", **here()).events
    assert {event.event_type for event in events} == {"INGEST", "QUERY", "CONDENSATION", "DEV_SEED", "CONTEXT_PACK"} | {
        "SESSION_RESET"
    }
    details = [QueryDetails.model_validate(event.details) for event in events if event.event_type == "QUERY"]
    figures = [(one.top_k, one.retrieved, one.l2_hits, one.l1_window) for one in details]
    assert figures == [(12, 12, 12, 14), (6, 6, 6, 14)]
    assert [one.condensation_cache_hit for one in details] == [True, False]
    assert [one.condensation_enqueued for one in details] == [False, True]

    packs = get(console, Packs, "/v1/ops/context_packs", **here()).context_packs
    assert [(pack.id, pack.pack) for pack in packs] == [(second.id, {}), (first.id, {})]
    (kept,) = get(console, Packs, "/v1/ops/context_packs", **here(limit="1", include_pack="true")).context_packs
    assert Pack.model_validate(kept.pack) == second.context_pack

    reset = post(console, Reset, "/v1/sessions/reset", here(confirm=True, dry_run=False, clear_audit=False))
    assert (reset.deleted_counts.memories, reset.deleted_counts.condensations) == (14, 1)
    assert get(console, Stats, "/v1/ops/stats").total_memories == 0


def test_the_seed_without_names_and_its_question(console):
    seeded = post(console, Seeded, "/v1/dev/seed")
    assert (seeded.namespace, seeded.session_id) == ("Demo", "demo-session")
    asked = {"namespace": "Demo", "session_id": "demo-session", "query": "我踩过哪些坑？"}
    assert "坑" in post(console, Answer, "/v1/query", asked).raw_chunks[0].text
    assert post(console, Seeded, "/v1/dev/seed").memory_ids == seeded.memory_ids


def test_unknown_names_are_no_error_and_make_nothing(console):
    answer = post(console, Answer, "/v1/query", here(query="anything?"))
    assert (answer.raw_chunks, answer.condensed_summary, answer.context_pack_id) == ([], "", None)
    reset = post(console, Reset, "/v1/sessions/reset", here(confirm=True))
    assert list(reset.deleted_counts.model_dump().values()) == [0] * len(reset.deleted_counts.model_dump())
    assert console.post("/v1/sessions/reset", here(), content_type="application/json").status_code == 400
    assert post(console, Recall, "/api/v1/memory/query", {"group_id": "none", "query": "anything?"}).results == []
    for path, model in (("audit", Audit), ("condensations", Condensations), ("context_packs", Packs)):
        listed = get(console, model, f"/v1/ops/{path}", namespace="none").model_dump()
        assert list(listed.values()) == [[]]
    assert [model._base_manager.count() for model in (Namespace, Session, Memory, ContextPack)] == [0, 0, 0, 0]


def test_the_registries_are_objects_by_name(console):
    registries = get(console, Registries, "/v1/ops/procedural")
    assert registries.prompt_registry["default_query_prompt_v1"]["name"] == "default_query_prompt_v1"
    assert {(tool.name, tool.endpoint) for tool in registries.tool_registry.tools} == {
        ("ingest", "/v1/ingest"),
        ("query", "/v1/query"),
    }


def test_the_first_queue_counts_the_summaries_that_wait(console, alice, remember):
    remember(alice, "hello")
    for session in ("s1", "s2"):
        enqueue(CONDENSE, alice.scope.namespace_id, session)
    queues = get(console, Pipeline, "/v1/ops/pipeline").queues
    assert (queues[0].name, queues[0].count) == ("condensation", 2)


@pytest.mark.parametrize(("characters", "quoted"), [(799, False), (800, True)])
def test_long_input_is_quoted_by_its_beginning(console, characters, quoted):
    text = "The kiln is hot. ".ljust(characters, "x")
    post(console, Ingested, "/v1/ingest", here(role="user", text=text, metadata={}))
    run_task("condense_session", Namespace.objects.get(name=NAMESPACE).pk, SESSION)
    (summary,) = get(console, Condensations, "/v1/ops/condensations").condensations
    card = shown_card(summary.condensed_text)
    assert card is not None
    assert (card.raw_excerpt is not None) is quoted


def test_a_score_is_finite_whatever_is_asked(console):
    post(console, Seeded, "/v1/dev/seed")
    for question in ("?", "预算", "the of and", "List all decisions", "👍"):
        answer = post(console, Answer, "/v1/query", {"namespace": "Demo", "session_id": "x", "query": question})
        numbers = [number for entry in answer.rerank_debug for number in entry.components.values()]
        assert all(math.isfinite(number) for number in numbers)


def test_the_three_tier_protocol(console):
    for content in ("The kiln is behind the harbour.", "Tea is in the cupboard."):
        answer = console.post(
            "/api/v1/memory/ingest", {"group_id": "g", "content": content}, content_type="application/json"
        )
        assert answer.status_code == 200
    found = post(console, Recall, "/api/v1/memory/query", {"group_id": "g", "query": "kiln"}).results
    assert {one.content for one in found} == {"The kiln is behind the harbour.", "Tea is in the cupboard."}
    assert found[0].source == "hot"
    assert all(one.score == 1.0 for one in found if one.source == "hot")


def test_the_policy_says_where_each_value_comes_from(console):
    post(console, Seeded, "/v1/dev/seed")
    policy = get(console, Policy, "/v1/policy", namespace="Demo")
    assert {entry.origin for entry in policy.values} == {"default"}
    body = {"namespace": "Demo", "policy": {"summary": {"messages": 8}}}
    changed = read(console.put("/v1/policy", body, content_type="application/json"), Policy)
    assert {entry.key: entry.origin for entry in changed.values}["summary.messages"] == "namespace"
