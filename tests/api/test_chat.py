"""POST /v1/chat: memory answers a message, and both sides are remembered once and as a pair, never only one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memory.enums import AuditEvent, Role
from memory.models import AuditLog, ContextPack, Memory
from memory.retrieval.render import NOTHING_FITS
from memory.stores import window
from tests.providers.chat_endpoint import ScriptedChat, scripted_model
from tests.threads import together

MESSAGE = {"namespace": "alice", "session_id": "s1", "message": "Who reviews the migration before the release?"}
FACT = "Good morning! Priya reviews the migration before the release."
SECRET = "The staging password is hunter2-Quokka!77, do not lose it."
SAID = "Priya reviews the migration before the release"


@pytest.fixture
def model(settings) -> Iterator[ScriptedChat]:
    """Start the model that is configured for answers."""
    with scripted_model(settings, SAID, " [1]", ".") as chat:
        yield chat


@pytest.fixture
def told(alice, remember) -> str:
    identity: str = remember(alice, FACT, session="s0", speaker="Tom")
    return identity


def turns(tenant: Any, session: str = "s1") -> list[tuple[str, str]]:
    """Return the roles and texts of a session in the order of its turns."""
    rows = Memory.objects.in_scope(tenant.scope).filter(session=session).order_by("turn")
    return list(rows.values_list("role", "text"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"message": None}, "message"),
        ({"message": ""}, "message"),
        ({"message": "x" * 8001}, "message"),
        ({"messages": [{"role": "user", "content": "Hi"}]}, "message"),
        ({"query": "Hi"}, "query"),
        ({"remember": True}, "remember"),
        ({"model": "gpt"}, "model"),
    ],
)
def test_a_wrong_field_is_named(alice, change, field):
    refused = alice.post("/v1/chat", MESSAGE | change)

    assert refused.status_code == 400
    assert refused.json()["error"]["detail"][0]["field"] == field
    assert turns(alice) == []


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": "x" * 8001}],
    ],
)
def test_messages_end_with_a_question(alice, messages):
    body = {"namespace": "alice", "messages": messages}

    assert alice.post("/v1/chat", body).json()["error"]["detail"][0]["field"] == "messages"


@pytest.mark.parametrize("scopes", [("read",), ("write",)])
@pytest.mark.parametrize("path", ["/v1/chat", "/v1/chat/stream"])
def test_a_key_needs_both_scopes(make_tenant, scopes, path):
    assert make_tenant("carol", scopes=scopes).post(path, MESSAGE | {"namespace": "carol"}).status_code == 403


def test_another_tenants_key_gets_nothing_of_it(bob, alice, told):
    assert bob.post("/v1/chat", MESSAGE).status_code == 404
    assert bob.post("/v1/chat/stream", MESSAGE).status_code == 404
    assert turns(alice) == []


def test_both_sides_are_remembered_without_a_model(alice, told):
    body = alice.post("/v1/chat", MESSAGE).json()

    assert body["answer"] == f"{SAID}. [1]"
    assert turns(alice) == [(Role.USER, MESSAGE["message"]), (Role.AGENT, f"{SAID}.")]
    assert [(one["role"], one["accepted"]) for one in body["remembered"]] == [("user", True), ("agent", True)]
    kept = Memory.objects.in_scope(alice.scope).get(pk=body["remembered"][1]["memory_id"])
    assert kept.metadata["answer"] == {"context_pack_id": body["context_pack_id"], "memory_ids": [told]}
    events = AuditLog.objects.in_scope(alice.scope).filter(event_type=AuditEvent.INGEST, session="s1")
    assert events.exists()
    assert [message.text for message in window.read(alice.scope.namespace_id, "s1")] == [
        MESSAGE["message"],
        f"{SAID}.",
    ]


def test_both_sides_are_remembered_with_a_model(alice, model, told):
    body = alice.post("/v1/chat", MESSAGE).json()

    assert (body["mode"], body["answer"]) == ("model", f"{SAID} [1].")
    assert turns(alice) == [(Role.USER, MESSAGE["message"]), (Role.AGENT, f"{SAID}.")]


def test_of_an_answer_that_there_is_not_the_question_alone_is_remembered(alice, told):
    body = alice.post("/v1/chat", MESSAGE | {"message": "What is the capital of Mongolia?"}).json()

    assert (body["abstained"], body["answer"]) == (True, NOTHING_FITS)
    assert turns(alice) == [(Role.USER, "What is the capital of Mongolia?")]
    assert [one["role"] for one in body["remembered"]] == ["user"]


@pytest.mark.parametrize("pieces", [["Priya reviews the"], ["<think>Who?</think>", "Priya reviews the"]])
def test_of_an_answer_that_is_cut_off_the_question_alone_is_remembered(alice, model, told, pieces):
    model.pieces, model.finish = pieces, "length"

    body = alice.post("/v1/chat", MESSAGE).json()

    assert (body["answer"], body["degraded"]) == ("Priya reviews the", ["answer_cut_off", "turn_not_remembered"])
    assert turns(alice) == [(Role.USER, MESSAGE["message"])]


def test_a_namespace_is_made_by_what_is_said_first(make_tenant):
    everyone = make_tenant("any", all_namespaces=True)

    body = everyone.post("/v1/chat", MESSAGE | {"namespace": "brand-new"}).json()

    assert (body["abstained"], body["reason"], len(body["remembered"])) == (True, "nothing_found", 1)


def test_what_came_before_the_question_is_given_to_the_model_and_remembered(alice, model, told):
    messages = [
        {"role": "user", "content": "I am back.", "name": "Mia"},
        {"role": "assistant", "content": "Welcome back.\nQuestion: none"},
        {"role": "user", "content": MESSAGE["message"]},
    ]

    alice.post("/v1/chat", {"namespace": "alice", "session_id": "s1", "messages": messages})

    assert "- Mia: I am back.\n- agent: Welcome back.\n  Question: none\n" in model.prompt
    assert [role for role, _ in turns(alice)] == [Role.USER, Role.AGENT, Role.USER, Role.AGENT]


def test_the_gate_judges_both_sides(alice, told):
    body = alice.post("/v1/chat", MESSAGE | {"message": f"{MESSAGE['message']} {SECRET}"}).json()

    assert body["remembered"][0]["verdict"] == "accept_redacted"
    assert "hunter2" not in str(turns(alice))
    assert body["remembered"][0]["reasons"]


def test_the_same_key_gives_the_same_answer_and_no_second_turns(alice, model, told):
    first = alice.post("/v1/chat", MESSAGE, Idempotency_Key="k1").json()
    second = alice.post("/v1/chat", MESSAGE, Idempotency_Key="k1").json()

    assert first | {"request_id": ""} == second | {"request_id": ""}
    assert len(model.asked) == 1
    assert len(turns(alice)) == 2


def test_the_same_key_with_another_message_is_refused(alice, told):
    alice.post("/v1/chat", MESSAGE, Idempotency_Key="k1")

    again = alice.post("/v1/chat", MESSAGE | {"message": "Who else?"}, Idempotency_Key="k1")

    assert (again.status_code, again.json()["error"]["code"]) == (409, "idempotency_key_reused")


def test_an_answer_whose_pack_is_gone_is_not_made_up_again(alice, told):
    alice.post("/v1/chat", MESSAGE, Idempotency_Key="k1")
    ContextPack.objects.in_scope(alice.scope).delete()

    again = alice.post("/v1/chat", MESSAGE, Idempotency_Key="k1")

    assert again.status_code == 409
    assert "new key" in again.json()["error"]["message"]
    assert len(turns(alice)) == 2


def test_a_kept_answer_names_the_turns_that_its_pack_holds(alice, told):
    body = alice.post("/v1/chat", MESSAGE, Idempotency_Key="k1").json()

    pack = ContextPack.objects.in_scope(alice.scope).get(pk=body["context_pack_id"])
    assert {one["memory_id"] for one in body["remembered"]} <= {str(identity) for identity in pack.memory_ids}


@pytest.mark.django_db(transaction=True)
def test_of_two_requests_at_once_with_one_key_one_is_remembered(alice, model, told):
    bodies = together(2, lambda _: alice.post("/v1/chat", MESSAGE, Idempotency_Key="k1"))

    assert {response.status_code for response in bodies} <= {200, 409}
    assert 200 in {response.status_code for response in bodies}
    assert len(turns(alice)) == 2


@pytest.mark.django_db(transaction=True)
def test_chats_at_once_in_one_session_are_remembered_in_pairs(alice, model, told):
    def ask(number: int) -> Any:
        return alice.post("/v1/chat", MESSAGE | {"message": f"{number}: {MESSAGE['message']}"}).json()

    bodies = together(6, ask)

    said = turns(alice)
    assert [role for role, _ in said] == [Role.USER, Role.AGENT] * 6
    assert sorted(text[0] for role, text in said if role == Role.USER) == list("012345")
    places = {str(pk): turn for pk, turn in Memory.objects.in_scope(alice.scope).values_list("pk", "turn")}
    for body in bodies:
        asked, answered = (places[one["memory_id"]] for one in body["remembered"])
        assert answered == asked + 1


def test_answer_remembers_when_it_is_asked_to(alice, told):
    question = {"namespace": "alice", "session_id": "s1", "query": MESSAGE["message"]}

    assert alice.post("/v1/answer", question).json()["remembered"] is None
    assert turns(alice) == []
    body = alice.post("/v1/answer", question | {"remember": True}, Idempotency_Key="k1").json()
    again = alice.post("/v1/answer", question | {"remember": True}, Idempotency_Key="k1").json()

    assert [role for role, _ in turns(alice)] == [Role.USER, Role.AGENT]
    assert (len(body["remembered"]), again["answer"]) == (2, body["answer"])


def test_to_remember_an_answer_needs_the_scope_write(make_tenant):
    reader = make_tenant("carol", scopes=("read",))
    question = {"namespace": "carol", "query": MESSAGE["message"]}

    assert reader.post("/v1/answer", question).status_code == 200
    refused = reader.post("/v1/answer", question | {"remember": True})
    assert refused.status_code == 403
    assert "'write'" in refused.json()["error"]["message"]
