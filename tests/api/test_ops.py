"""GET /v1/ops/*: what MemOS stores and does."""

from __future__ import annotations

import pytest

from memory.models import AuditLog, Procedure
from tests.job_queue import run_task

QUESTION = {"namespace": "alice", "session_id": "s1", "query": "tea?"}


@pytest.fixture
def busy(alice, remember):
    for text in (
        "I prefer green tea.",
        "We decided to ship on Friday.",
        "Never call before nine.",
        "Ann lives in Oslo.",
    ):
        remember(alice, text)
    run_task("condense_session", alice.scope.namespace_id, "s1")
    alice.post("/v1/query", QUESTION)
    remember(alice, "Elsewhere.", session="s2")
    return alice


@pytest.mark.parametrize("route", ["audit", "condensations", "context_packs"])
@pytest.mark.parametrize("limit", ["x", "1.5", ""])
def test_a_wrong_limit_is_refused(alice, route, limit):
    answer = alice.get(f"/v1/ops/{route}", limit=limit)

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"][0]["field"] == "limit"


@pytest.mark.parametrize(("limit", "listed"), [("0", 1), ("-7", 1), ("2", 2), ("201", 3), ("100000", 3)])
def test_a_limit_out_of_bounds_counts_as_the_nearest(alice, remember, limit, listed):
    for text in ("one", "two", "three"):
        remember(alice, text)
    assert len(alice.get("/v1/ops/audit", limit=limit).json()["events"]) == listed


def test_stats_count_what_is_there(busy):
    stats = busy.get("/v1/ops/stats").json()

    assert stats["total_memories"] == 5
    assert stats["active_contexts"] == 2
    # A pack of such a short session costs more than its turns. It saves nothing, but does not reduce what others save.
    assert (stats["token_savings"], stats["compression_ratio"]) == (0, 1.0)


def test_audit_lists_the_newest_first_and_narrows(busy):
    events = busy.get("/v1/ops/audit", namespace="alice", session_id="s1").json()["events"]

    kinds = [event["event_type"] for event in events]
    assert set(kinds[:2]) == {"CONTEXT_PACK", "QUERY"}
    assert kinds[2:] == ["CONDENSATION", "INGEST", "INGEST", "INGEST", "INGEST"]
    assert set(events[0]) >= {"id", "namespace", "session_id", "event_type", "details", "created_at"}
    assert {event["session_id"] for event in events} == {"s1"}
    assert len(busy.get("/v1/ops/audit", limit="2").json()["events"]) == 2


def test_condensations_and_pipeline_show_the_contracts_fields(busy):
    (row,) = busy.get("/v1/ops/condensations", session_id="s1").json()["condensations"]

    assert set(row) == {
        *("id", "namespace", "session_id", "version", "number", "method", "tokenizer", "trigger_reason"),
        *("trigger_details", "source_memory_ids", "condensed_text", "item_sources", "token_original"),
        *("token_condensed", "created_at"),
    }
    assert row["version"] == "memos.session_summary.v1"
    assert row["trigger_reason"] == "bootstrap_summary"
    assert len(row["source_memory_ids"]) == 4
    pipeline = busy.get("/v1/ops/pipeline").json()
    assert pipeline["recent_condensations"] == [row]
    assert all(set(queue) == {"name", "count"} for queue in pipeline["queues"])


def test_context_packs_come_with_their_pack_when_asked(busy):
    (row,) = busy.get("/v1/ops/context_packs").json()["context_packs"]
    assert row["pack"] == {}
    assert row["query_text"] == "tea?"
    assert row["retrieved_count"] == 4

    (row,) = busy.get("/v1/ops/context_packs", include_pack="true").json()["context_packs"]
    assert row["pack"]["schema"] == "memos.context_pack.v1"


def test_procedural_lists_shared_entries_and_the_namespaces_own(alice, bob):
    Procedure.objects.create(kind="prompt", name="shared", text="Be brief.")
    Procedure.objects.create(kind="prompt", name="own", text="Be kind.", namespace_id=alice.scope.namespace_id)
    Procedure.objects.create(kind="tool", name="search", parameters={"type": "object"})
    Procedure.objects.create(kind="tool", name="off", enabled=False)

    of_alice = alice.get("/v1/ops/procedural").json()
    assert list(of_alice["prompt_registry"]) == ["default_query_prompt_v1", "own", "shared"]
    assert [tool["name"] for tool in of_alice["tool_registry"]["tools"]] == ["ingest", "query", "search"]
    assert list(bob.get("/v1/ops/procedural").json()["prompt_registry"]) == ["default_query_prompt_v1", "shared"]
    pack = alice.post("/v1/query", QUESTION).json()["context_pack"]
    assert pack["procedural"]["prompt"]["text"] == "Be kind."
    assert [tool["name"] for tool in pack["procedural"]["tools"]] == ["search"]


def test_the_log_of_a_namespace_holds_no_memory_text(busy):
    assert AuditLog.objects.across_namespaces().count() > 5
    assert not AuditLog.objects.across_namespaces().filter(details__icontains="green tea").exists()
