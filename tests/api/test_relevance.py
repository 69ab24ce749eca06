"""How MemOS recognises that nothing fits: `min_relevance`, `relevance` and `answerable` of queries and searches."""

from __future__ import annotations

import pytest

from memory.enums import AuditEvent
from memory.models import AuditLog
from memory.retrieval.render import NOTHING_FITS

CHAT = (
    "The launch moved from the 21st to the 28th.",
    "Priya reviews the migration before the release.",
    "We keep PostgreSQL and drop the MongoDB prototype.",
    "The staging server runs out of disk every Monday.",
    "Camille wants the onboarding page in French.",
)
OWN = {"namespace": "alice", "query": "Who reviews the migration before the release?", "top_k": 3}
FOREIGN = OWN | {"query": "What is the capital of Mongolia?"}


def asked(tenant, path, question):
    session = {"session_id": "elsewhere"} if path == "/v1/query" else {}
    return tenant.post(path, question | session)


def hits_of(body):
    return body["raw_chunks"] if "raw_chunks" in body else body["hits"]


@pytest.fixture
def chat(alice, remember):
    return [remember(alice, text) for text in CHAT]


@pytest.mark.parametrize("path", ["/v1/query", "/v1/search"])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (-0.01, "must be 0 or more."),
        (1.01, "must be 1 or less."),
        ("0.5", "must be a number."),
        (True, "must be a number."),
        ([0.5], "must be a number."),
    ],
)
def test_a_wrong_min_relevance_is_refused(alice, path, value, problem):
    answer = asked(alice, path, OWN | {"min_relevance": value})

    assert answer.status_code == 400
    assert answer.json()["error"]["detail"] == [{"field": "min_relevance", "problem": problem}]


@pytest.mark.parametrize("path", ["/v1/query", "/v1/search"])
def test_what_is_remembered_is_answerable(alice, chat, path):
    body = asked(alice, path, OWN).json()

    assert body["answerable"] is True
    relevances = [hit["relevance"] for hit in hits_of(body)]
    assert hits_of(body)[0]["id"] == chat[1]
    assert relevances[0] == max(relevances) > 0.5
    assert all(0 <= value <= 1 for value in relevances)


@pytest.mark.parametrize("path", ["/v1/query", "/v1/search"])
def test_a_question_about_something_else_is_not_and_its_hits_say_so(alice, chat, path):
    body = asked(alice, path, FOREIGN).json()

    assert body["answerable"] is False
    assert len(hits_of(body)) == 3
    assert all(hit["relevance"] < 0.05 for hit in hits_of(body))


@pytest.mark.parametrize("path", ["/v1/query", "/v1/search"])
@pytest.mark.parametrize("nothing", [{}, {"min_relevance": None}, {"min_relevance": 0}])
def test_without_min_relevance_nothing_is_left_out(alice, chat, path, nothing):
    assert len(hits_of(asked(alice, path, FOREIGN | nothing).json())) == 3


@pytest.mark.parametrize("path", ["/v1/query", "/v1/search"])
def test_hits_below_min_relevance_are_left_out_and_listed_with_the_reason(alice, chat, path):
    whole = hits_of(asked(alice, path, OWN).json())
    least = (whole[0]["relevance"] + whole[1]["relevance"]) / 2

    body = asked(alice, path, OWN | {"min_relevance": least, "explain": True}).json()

    assert [hit["id"] for hit in hits_of(body)] == [chat[1]]
    left_out = [entry for entry in body["dropped"] if entry["verdict"] == "irrelevant"]
    assert [entry["id"] for entry in left_out] == [hit["id"] for hit in whole[1:]]
    assert f"`min_relevance` asks for {least:g}." in left_out[0]["reason"]
    assert asked(alice, path, FOREIGN | {"min_relevance": 0.05}).json()["answerable"] is False


@pytest.mark.parametrize(
    ("memory", "answered", "foreign"),
    [
        ("I drive a blue Zoe.", "What car do I drive?", "What is the capital of Mongolia?"),
        ("Mum turns seventy on the 21st of August.", "When is Mum's birthday?", "Who is the landlord?"),
        ("我开一辆蓝色的比亚迪。", "我开什么车？", "蒙古国的首都是哪里？"),
    ],
)
def test_one_short_memory_answers_what_it_says_and_nothing_else(alice, remember, memory, answered, foreign):
    kept = remember(alice, memory)

    known = asked(alice, "/v1/search", OWN | {"query": answered}).json()
    assert ([hit["id"] for hit in known["hits"]], known["answerable"]) == ([kept], True)
    assert asked(alice, "/v1/search", OWN | {"query": foreign}).json()["answerable"] is False


@pytest.mark.parametrize("path", ["/v1/query", "/v1/search"])
def test_an_empty_namespace_answers_nothing(alice, path):
    body = asked(alice, path, OWN).json()

    assert (hits_of(body), body["answerable"]) == ([], False)


@pytest.mark.parametrize("path", ["/v1/query", "/v1/search"])
@pytest.mark.parametrize(("floor", "answerable"), [(0, True), (1, False)])
def test_the_policy_says_from_which_relevance_on(alice, chat, path, floor, answerable):
    policy = {"namespace": "alice", "policy": {"retrieval": {"relevance_floor": floor}}}
    changed = alice.client.put("/v1/policy", data=policy, content_type="application/json")
    assert changed.status_code == 200, changed.content

    assert asked(alice, path, FOREIGN if answerable else OWN).json()["answerable"] is answerable


def test_the_pack_tells_the_agent_and_stays_within_its_budget(alice, chat):
    body = asked(alice, "/v1/query", FOREIGN | {"max_tokens": 60}).json()
    pack = body["context_pack"]

    assert NOTHING_FITS in pack["text"]
    assert pack["manifest"]["tokens"] <= 60
    assert pack["retrieval"]["answerable"] is False
    (hits,) = [section for section in pack["manifest"]["sections"] if section["section"] == "hits"]
    assert next(entry["id"] for entry in hits["items"] if entry["status"] == "kept") == "notice:unanswerable"
    assert NOTHING_FITS not in asked(alice, "/v1/query", OWN).json()["context_pack"]["text"]


def test_the_audit_says_whether_it_was_answerable(alice, chat):
    asked(alice, "/v1/search", FOREIGN)

    assert (
        AuditLog.objects.across_namespaces().filter(event_type=AuditEvent.QUERY).latest("id").details["answerable"]
        is False
    )


def test_each_reason_has_the_relevance_of_its_hit(alice, chat):
    body = asked(alice, "/v1/search", OWN).json()
    why = alice.post("/v1/why", OWN | {"memory_id": chat[1]}).json()

    for hit in body["hits"]:
        assert hit["explanation"]["relevance"] == pytest.approx(hit["relevance"])
    assert why["details"]["relevance"] == pytest.approx(body["hits"][0]["relevance"])
