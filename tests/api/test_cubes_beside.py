"""Questions that span cubes: refusals first; then answers use all of the cubes, and turns are written to one only."""

from __future__ import annotations

import json
import uuid
from typing import Any

from memory.models import AuditLog, ContextPack, Memory, ModelCall
from tests.api.test_completions import told_by, upstream
from tests.api.test_cubes import ben, boss, cube, share
from tests.api.test_users import send

__all__ = ["ben", "boss", "cube", "upstream"]

FERRY, SUNDAY = "The ferry leaves from pier nine.", "The ferry leaves at noon on Sundays."
ASKED = {"namespace": "bob", "session_id": "s1"}
QUESTION = "Where does the ferry leave, and when?"
ROUTES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/query", {"query": QUESTION}),
    ("/v1/answer", {"query": QUESTION}),
    ("/v1/answer/stream", {"query": QUESTION}),
    ("/v1/chat", {"message": QUESTION}),
)


def complete(tenant: Any, *, cubes: Any, **headers: str) -> Any:
    metadata = {"memos_namespace": "bob", "memos_session": "s1", "mine": "x"}
    body = {
        "model": "llamacpp/small",
        "messages": [{"role": "user", "content": QUESTION}],
        "metadata": {**metadata, **({} if cubes is None else {"memos_cubes": cubes})},
    }
    return tenant.post("/v1/chat/completions", body, **headers)


def rows_of(tenant: Any) -> list[str]:
    return sorted(Memory.objects.in_scope(tenant.scope).values_list("text", flat=True))


def test_a_cube_that_the_key_may_not_read_is_not_there(boss, alice, bob, ben, cube, remember, upstream):
    remember(alice, FERRY)

    def ask_all(*cubes: str) -> set[int]:
        statuses = {bob.post(path, {**ASKED, **body, "cubes": list(cubes)}).status_code for path, body in ROUTES}
        return statuses | {complete(bob, cubes=list(cubes)).status_code}

    assert ask_all(cube["id"]) == {404}
    assert ask_all(str(uuid.uuid4())) == {404}
    assert ask_all("alice") == ask_all(*[cube["id"]] * 21) == {400}
    assert rows_of(bob) == []
    share(boss, cube, ben)
    assert bob.post("/v1/query", {**ASKED, "query": QUESTION, "cubes": [cube["id"]]}).json()["raw_chunks"]
    # The share is looked up at each request.
    assert send(boss, "delete", f"/v1/cubes/{cube['id']}/shares/{ben.pk}").status_code == 204
    assert ask_all(cube["id"]) == {404}
    # A question with cubes needs its namespace to exist.
    asked = {"namespace": "nowhere", "query": QUESTION, "cubes": [cube["id"]]}
    assert boss.post("/v1/query", asked).status_code == boss.post("/v1/answer", asked).status_code == 404
    assert upstream.asked == []


def test_a_query_spans_cubes_under_one_budget_and_keeps_no_pack(boss, alice, bob, ben, cube, remember):
    for number in range(6):
        remember(alice, f"{FERRY} It was number {number} of the timetable, as the harbour master wrote.")
    remember(bob, SUNDAY)
    share(boss, cube, ben)
    asked = {**ASKED, "query": QUESTION, "cubes": [cube["id"]], "top_k": 20}

    found = bob.post("/v1/query", asked).json()
    owners = {chunk["namespace"]: chunk["cube"] and chunk["cube"]["id"] for chunk in found["raw_chunks"]}
    assert owners == {"alice": cube["id"], "bob": None}
    assert len(found["rerank_debug"]) == len(found["raw_chunks"])
    assert "pier nine" in found["context_pack"]["text"]
    assert "noon" in found["context_pack"]["text"]
    assert found["context_pack_id"] is None
    assert found["id"]

    short = bob.post("/v1/query", {**asked, "max_tokens": 100}).json()
    assert 0 < short["token_usage_condensed"] <= 100 < found["token_usage_condensed"]
    assert not ContextPack.objects.across_namespaces().exists()
    asked_of = AuditLog.objects.across_namespaces().filter(event_type="QUERY").values_list("namespace", flat=True)
    assert sorted(asked_of) == ["alice", "alice", "bob", "bob"]
    assert bob.post("/v1/query", {**asked, "dry_run": True}).json()["id"] is None
    assert AuditLog.objects.across_namespaces().filter(event_type="QUERY").count() == 4


def test_an_answer_says_whose_each_is_and_is_not_remembered_with_them(boss, alice, bob, ben, cube, remember):
    theirs = remember(alice, FERRY)
    remember(bob, "My dentist is in the Rue Mercière.")
    share(boss, cube, ben, level="write")
    asked = {**ASKED, "query": "Where does the ferry leave from?", "cubes": [cube["id"]]}

    told = bob.post("/v1/answer", asked).json()
    (cited,) = told["citations"]
    assert (cited["memory_id"], cited["namespace"], cited["cube"]["id"]) == (str(theirs), "alice", cube["id"])
    assert "pier nine" in told["answer"]
    assert told["context_pack_id"] is None
    streamed = b"".join(bob.post("/v1/answer/stream", asked).streaming_content).decode()
    assert '"namespace":"alice"' in streamed.partition("event: sources")[2].partition("event: delta")[0].replace(
        " ", ""
    )

    key = {"Idempotency_Key": "once"}
    kept = bob.post("/v1/answer", {**asked, "remember": True}, **key).json()
    assert [turn["role"] for turn in kept["remembered"]] == ["user"]
    assert "turn_not_remembered" in kept["degraded"]
    before = rows_of(bob)
    assert before == sorted(["My dentist is in the Rue Mercière.", asked["query"]])
    assert rows_of(alice) == [FERRY]
    # The answer has another's words, so it was stored without a pack, and cannot be repeated.
    assert bob.post("/v1/answer", {**asked, "remember": True}, **key).status_code == 409
    assert rows_of(bob) == before


def test_what_models_cost_is_put_down_to_the_namespace_in_which_it_is_asked(
    boss, alice, bob, ben, cube, remember, upstream
):
    remember(alice, FERRY)
    share(boss, cube, ben)
    asked = {**ASKED, "query": QUESTION, "cubes": [cube["id"]], "model": "llamacpp/small"}
    assert bob.post("/v1/answer", asked).status_code == 200
    assert complete(bob, cubes=[cube["id"]]).status_code == 200
    calls = ModelCall.objects.across_namespaces().filter(kind="chat")
    assert [call.namespace_id for call in calls] == [bob.scope.namespace_id] * 2


def test_a_chat_in_the_own_namespace_reads_what_is_shared_for_reading(boss, alice, bob, ben, cube, remember):
    remember(alice, FERRY)
    share(boss, cube, ben)
    said = {"message": "Where does the ferry leave from?", "cubes": [cube["id"]]}

    told = bob.post("/v1/chat", {**ASKED, **said}).json()
    assert told["citations"][0]["namespace"] == "alice"
    assert rows_of(bob) == [said["message"]]
    # An answer that quotes only the own namespace is remembered, even if other cubes were searched.
    remember(bob, "My dentist is in the Rue Mercière.", session="s0")
    own = bob.post("/v1/chat", {**ASKED, **said, "message": "Where is my dentist?"}).json()
    assert [turn["role"] for turn in own["remembered"]] == ["user", "agent"], own
    assert bob.post("/v1/chat", {**said, "namespace": "alice"}).status_code == 404
    assert rows_of(alice) == [FERRY]


def test_a_completion_is_told_of_cubes_and_says_which(boss, alice, bob, ben, cube, remember, upstream):
    theirs = remember(alice, FERRY)
    share(boss, cube, ben)

    answer = complete(bob, cubes=[cube["id"]])
    assert answer.status_code == 200, answer.content
    assert "pier nine" in told_by(upstream)
    assert upstream.asked[-1]["metadata"] == {"mine": "x"}
    context = json.loads(answer.headers["X-MemOS-Context"])
    assert context["cubes"] == {str(theirs): cube["id"]}
    assert context["context_pack_id"] is None
    assert rows_of(bob) == [QUESTION]
    assert "turn_not_remembered" in answer.json().get("memos", {}).get("degraded", ["turn_not_remembered"])
    assert rows_of(alice) == [FERRY]

    by_header = complete(bob, cubes=None, X_MemOS_Cubes=f"{cube['id']}, {cube['id']}")
    assert "cubes" in json.loads(by_header.headers["X-MemOS-Context"])
    refused = complete(bob, cubes=None, X_MemOS_Cubes="alice")
    assert refused.status_code == 400
    assert "X-MemOS-Cubes" in refused.json()["error"]["message"]
