"""POST /v1/responses: refusals first, then the request to the model, the events, and how a conversation continues."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from memory.models import Memory
from memory.stores import redis as redis_store
from memory.stores import responses as store
from tests.api.test_completions import SAID, error_of, pieces_of, told_by, turns, upstream
from tests.job_queue import work_off
from tests.providers.upstream import Reply, chunk, streamed, whole

__all__ = ["upstream"]

ROUTE = "/v1/responses"
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
QUESTION = "Where is the shop?"
WEATHER = {"type": "function", "name": "weather", "description": "Tells it", "parameters": {"type": "object"}}
CALL = {"id": "call-1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lyon"}'}}


def ask(tenant: Any, asked: Any = QUESTION, **fields: Any) -> dict[str, Any]:
    """Return the response, which OpenAI's own client can parse."""
    answer = tenant.post(ROUTE, {"model": "default", "input": asked, **fields})
    assert answer.status_code == 200, answer.content
    Response.model_validate(answer.json(), strict=False)
    said: dict[str, Any] = answer.json()
    return said


def ask_streamed(tenant: Any, asked: Any = QUESTION, **fields: Any) -> list[dict[str, Any]]:
    """Return the response's events, which are numbered, carry their own names and are read by OpenAI's client."""
    answer = tenant.post(ROUTE, {"model": "default", "input": asked, "stream": True, **fields})
    assert answer.status_code == 200, answer.content
    events = []
    for number, event in enumerate(pieces_of(answer).split(b"\n\n")[:-1]):
        name, data = event.split(b"\n")
        said = json.loads(data.removeprefix(b"data: "))
        assert (name, number) == (f"event: {said['type']}".encode(), said["sequence_number"])
        EVENT.validate_python(said)
        events.append(said)
    return events


def names_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in events]


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"input": None}, "input"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"input": ["Hi"]}, "input[0]"),
        ({"input": [{"role": "user", "content": 5}]}, "input[0]"),
        ({"input": [{"role": "robot", "content": "Hi"}]}, "input[0].role"),
        ({"input": [{"type": "computer_call"}]}, "input[0].type"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "input[0].content[0]"),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}, "input[0].call_id"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0].id"),
        ({"stream": "yes"}, "stream"),
        ({"model": 5}, "model"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"memos_session": 5}}, "metadata.memos_session"),
        ({"background": True}, "background"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"tools": [5]}, "tools"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tool_choice": {"type": "web_search"}}, "tool_choice"),
        ({"conversation": {}}, "conversation"),
        ({"conversation": "c", "previous_response_id": "resp_1"}, "conversation"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
    ],
)
def test_a_wrong_field_is_named_as_openai_does(alice, upstream, change, param):
    error = error_of(alice.post(ROUTE, {"input": QUESTION, **change}), 400)

    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert upstream.asked == []


def test_who_has_no_key_or_not_both_scopes_is_refused(olga, make_tenant, upstream):
    answer = olga.post(ROUTE, data={"input": QUESTION}, content_type="application/json")
    assert error_of(answer, 401)["type"] == "authentication_error"
    for scope in ("read", "write"):
        tenant = make_tenant("carol", scopes=(scope,))
        assert error_of(tenant.post(ROUTE, {"input": QUESTION}), 403)["type"] == "permission_error"


def test_another_tenants_response_is_unknown(alice, bob, upstream):
    first = ask(alice)

    error = error_of(bob.post(ROUTE, {"input": "And now?", "previous_response_id": first["id"]}), 400)
    assert error["code"] == "previous_response_not_found"
    assert error_of(bob.get(f"{ROUTE}/{first['id']}"), 404)["code"] == "not_found"
    reference = {"type": "item_reference", "id": first["output"][0]["id"]}
    assert error_of(bob.post(ROUTE, {"input": [reference]}), 400)["param"] == "input[0].id"
    assert len(upstream.asked) == 1


def test_an_error_of_the_provider_is_passed_on(alice, upstream):
    said = {"error": {"message": "Too many requests", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}
    upstream.answer = lambda _: Reply([json.dumps(said).encode()], status=429, headers={"Retry-After": "7"})
    for stream in (False, True):
        answer = alice.post(ROUTE, {"input": QUESTION, "stream": stream})
        assert (answer.status_code, answer.json(), answer["Retry-After"]) == (429, said, "7")


def test_a_whole_response_with_memory_is_remembered(alice, upstream, remember):
    shop = remember(alice, SAID, session="s0", speaker="Ann")
    answer = ask(alice, instructions="Be brief.", user="ann", temperature=0.5, metadata={"ticket": "7"})

    assert answer["output"][0]["content"][0]["text"] == SAID
    assert (answer["status"], answer["usage"]["total_tokens"], answer["temperature"]) == ("completed", 15, 0.5)
    assert (answer["memos"]["memory_ids"], answer["memos"]["session_id"]) == ([shop], "user:ann")
    assert (answer["metadata"], answer["instructions"]) == ({"ticket": "7"}, "Be brief.")
    assert f"Ann: {SAID}" in told_by(upstream)
    assert turns(alice)[1:] == [("user:ann", "user", QUESTION), ("user:ann", "agent", SAID)]
    assert "stream" not in upstream.asked[0] or upstream.asked[0]["stream"] is False


def test_the_events_come_in_their_order(alice, upstream):
    upstream.answer = lambda _: streamed("The shop is", " in Lyon.")
    events = ask_streamed(alice)

    assert names_of(events) == [
        "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done", "completed",
    ]  # fmt: skip
    assert events[0]["response"]["output"] == events[2]["item"]["content"] == []
    assert events[-1]["response"]["output"] == [events[-2]["item"]]
    assert events[-2]["item"]["content"][0]["text"] == SAID
    # Clients rely on the counts, so MemOS estimates those that the provider does not send.
    assert events[-1]["response"]["usage"]["output_tokens"] > 3
    assert events[-1]["response"]["memos"]["remembered"]["assistant"]
    assert [text for _, _, text in turns(alice)] == [QUESTION, SAID]
    assert upstream.asked[0]["stream_options"] == {"include_usage": True}


def test_thinking_and_calls_are_items_of_their_own(alice, upstream):
    def call(index: int, arguments: str, **more: Any) -> bytes:
        named = {"id": f"call-{index}", "type": "function", **more} if more else {}
        return chunk({"tool_calls": [{"index": index, **named, "function": {"arguments": arguments, **more}}]})

    pieces = [
        chunk({"reasoning_content": "The user"}),
        chunk({"reasoning_content": " asks."}),
        chunk({"content": "I look."}),
        call(0, "", name="weather"),
        call(0, '{"city":'),
        # A provider may send the pieces of several calls in turn.
        call(1, '{"city": ', name="weather"),
        call(0, ' "Lyon"}'),
        call(1, '"Nice"}'),
        chunk({}, finish="tool_calls"),
        chunk(usage={"prompt_tokens": 9, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 2}}),
        b"data: [DONE]\n\n",
    ]
    upstream.answer = lambda _: Reply(pieces, content_type="text/event-stream")
    events = ask_streamed(alice, tools=[WEATHER])

    assert names_of(events) == [
        "created", "in_progress",
        "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done",
        "output_item.done",
        "output_item.added", "function_call_arguments.delta", "function_call_arguments.delta",
        "function_call_arguments.done", "output_item.done",
        "output_item.added", "function_call_arguments.delta", "function_call_arguments.delta",
        "function_call_arguments.done", "output_item.done",
        "completed",
    ]  # fmt: skip
    output = events[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["reasoning", "message", "function_call", "function_call"]
    assert output[0]["summary"][0]["text"] == "The user asks."
    assert [(item["call_id"], json.loads(item["arguments"])) for item in output[2:]] == [
        ("call-0", {"city": "Lyon"}),
        ("call-1", {"city": "Nice"}),
    ]
    assert events[-1]["response"]["usage"]["output_tokens_details"] == {"reasoning_tokens": 2}
    assert [text for _, _, text in turns(alice)] == [QUESTION, "I look."]


def test_the_output_of_a_tool_goes_on_from_the_call(alice, upstream):
    upstream.answer = lambda body: (
        whole("It rains.")
        if body["messages"][-1]["role"] == "tool"
        else whole(None, finish="tool_calls", tool_calls=[CALL])
    )
    first = ask(alice, "Weather in Lyon?", tools=[WEATHER], instructions="Be brief.")
    (call,) = first["output"]
    assert (call["type"], call["call_id"], call["name"]) == ("function_call", "call-1", "weather")
    output = {"type": "function_call_output", "call_id": "call-1", "output": "rain"}
    second = ask(alice, [output], tools=[WEATHER], previous_response_id=first["id"])

    assert second["output"][0]["content"][0]["text"] == "It rains."
    # Instructions do not carry over to the next response.
    assert [one for one in upstream.messages if one["role"] != "system"] == [
        {"role": "user", "content": "Weather in Lyon?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call-1", "content": "rain"},
    ]
    assert upstream.asked[0]["tools"] == [
        {"type": "function", "function": {k: WEATHER[k] for k in WEATHER if k != "type"}}
    ]
    assert [text for _, _, text in turns(alice)] == ["Weather in Lyon?", "It rains."]


def test_an_item_may_be_named_instead_of_sent(alice, upstream):
    upstream.answer = lambda _: whole("I look.", finish="tool_calls", tool_calls=[CALL])
    first = ask(alice, tools=[WEATHER])
    upstream.answer = lambda _: whole("It rains.")
    references = [{"type": "item_reference", "id": item["id"]} for item in first["output"]]
    output = {"type": "function_call_output", "call_id": "call-1", "output": [{"type": "input_text", "text": "rain"}]}
    ask(alice, [{"role": "user", "content": QUESTION}, *references, output])

    assert upstream.messages[1:] == [
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call-1", "content": "rain"},
    ]


def test_a_conversation_goes_on_from_its_latest_response(alice, upstream):
    for asked, conversation in (("One?", "conv_7"), ("Two?", {"id": "conv_7"}), ("Three?", "conv_8")):
        answer = ask(alice, asked, conversation=conversation)
        assert answer["conversation"]["id"] == answer["memos"]["session_id"] in ("conv_7", "conv_8")

    assert [one["content"] for one in upstream.asked[1]["messages"] if one["role"] != "system"] == [
        "One?",
        SAID,
        "Two?",
    ]
    assert [one["content"] for one in upstream.messages if one["role"] != "system"] == ["Three?"]
    assert {session for session, _, _ in turns(alice)} == {"conv_7", "conv_8"}


def test_a_response_leads_to_its_session(alice, upstream):
    first = ask(alice, metadata={"memos_session": "s9"})
    ask(alice, "And now?", previous_response_id=first["id"])
    answer = alice.post(ROUTE, {"input": "Codex asks."}, SESSION_ID="codex-1")

    assert answer.status_code == 200
    assert [session for session, role, _ in turns(alice) if role == "user"] == ["codex-1", "s9", "s9"]
    assert [one["content"] for one in upstream.asked[1]["messages"] if one["role"] == "user"] == [QUESTION, "And now?"]


def test_a_kept_response_is_read_again(alice, upstream):
    first = ask(alice)
    assert alice.get(f"{ROUTE}/{first['id']}").json() == first
    assert error_of(alice.get(f"{ROUTE}/resp_nothing"), 404)["code"] == "not_found"
    assert error_of(alice.client.delete(f"{ROUTE}/resp_nothing"), 404)["code"] == "not_found"


def test_of_a_deleted_response_what_is_remembered_stays_and_nothing_goes_on(alice, bob, upstream, make_tenant):
    first = ask(alice, "My cat is called Luna.", conversation="cats")
    second = ask(alice, "And my dog Rex.", previous_response_id=first["id"])
    place = f"{ROUTE}/{second['id']}"
    assert error_of(bob.client.delete(place), 404)["code"] == "not_found"
    assert error_of(make_tenant("alice", scopes=("read",)).client.delete(place), 403)

    deleted = alice.client.delete(place)
    assert deleted.json() == {"id": second["id"], "object": "response", "deleted": True}
    assert error_of(alice.client.delete(place), 404)["code"] == "not_found"
    assert error_of(alice.get(place), 404)["code"] == "not_found"
    error = error_of(alice.post(ROUTE, {"input": "And now?", "previous_response_id": second["id"]}), 400)
    assert error["code"] == "previous_response_not_found"
    assert len(turns(alice)) == 4

    # The texts of its items are deleted too; the other response keeps its own.
    [key] = keys()
    kept = b"".join(redis_store.call(lambda client: client.hvals(key)))
    assert (b"Luna" in kept, b"Rex" in kept) == (True, False)
    assert ask(alice, "What is she called?", conversation="cats")["status"] == "completed"
    assert "Luna" in json.dumps(upstream.messages)
    assert alice.get(f"{ROUTE}/{first['id']}").json() == first


def test_the_last_response_of_a_session_is_deleted_with_all_that_was_kept(alice, upstream):
    only = ask(alice, store=True)
    assert alice.client.delete(f"{ROUTE}/{only['id']}").status_code == 200
    assert keys() == []


def test_a_response_that_is_not_to_be_stored_or_is_too_large_is_not_kept(alice, upstream, monkeypatch):
    unwanted = ask(alice, store=False)
    monkeypatch.setattr(store, "MAX_BYTES", 100)
    large = ask(alice)

    assert (unwanted["store"], large["store"]) == (False, False)
    assert keys() == []
    error = error_of(alice.post(ROUTE, {"input": "And now?", "previous_response_id": large["id"]}), 400)
    assert error["code"] == "previous_response_not_found"
    assert len(turns(alice)) == 2


def keys() -> list[bytes]:
    return list(redis_store.call(lambda client: list(client.scan_iter("memos:responses:*"))))


@pytest.mark.parametrize("change", ["delete", "correct", "reset"])
def test_what_was_deleted_or_corrected_is_told_no_longer(alice, upstream, change):
    first = ask(alice, "My cat is called Luna.", conversation="cats")
    second = ask(alice, "And my dog Rex.", previous_response_id=first["id"])
    cat = Memory.objects.in_scope(alice.scope).get(text="My cat is called Luna.")
    if change == "delete":
        answer = alice.client.delete(f"/v1/memories/{cat.pk}?reason=x")
    elif change == "correct":
        body = {"text": "My cat is called Nova.", "reason": "x"}
        answer = alice.client.patch(f"/v1/memories/{cat.pk}", body, content_type="application/json")
    else:
        answer = alice.post("/v1/sessions/reset", {"namespace": "alice", "session_id": "cats", "confirm": True})
        assert keys() == []
    assert answer.status_code == 200, answer.content

    for response in (first, second):
        asked = {"input": "What are they called?", "previous_response_id": response["id"]}
        assert error_of(alice.post(ROUTE, asked), 400)["code"] == "previous_response_not_found"
    ask(alice, "What are they called?", conversation="cats")
    assert "Luna" not in json.dumps(upstream.messages)


@pytest.mark.django_db(transaction=True)
def test_an_erasure_forgets_the_responses_of_its_sessions(alice, upstream):
    ask(alice, "My cat is called Luna.", conversation="cats")
    ask(alice, "Other things.", conversation="others")
    cat = Memory.objects.in_scope(alice.scope).get(text="My cat is called Luna.")
    body = {"namespace": "alice", "memory_ids": [str(cat.pk)], "reason": "asked for"}
    assert alice.post("/v1/erasures", body).status_code in (200, 202)
    work_off()

    assert keys() == [store.key_of(alice.scope.namespace_id, "others").encode()]


def test_tools_of_any_text_and_in_namespaces_are_called_as_the_caller_names_them(alice, upstream):
    tools = [
        {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "lark", "definition": "start: X"}},
        {"type": "namespace", "name": "agents", "description": "d", "tools": [{**WEATHER, "name": "spawn"}]},
        {"type": "web_search"},
    ]
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "patch", "arguments": '{"input": "*** Begin"}'}},
        {"id": "c2", "type": "function", "function": {"name": "agents__spawn", "arguments": "{}"}},
    ]
    upstream.answer = lambda body: (
        Reply([chunk({"tool_calls": [{"index": n, **one} for n, one in enumerate(calls)]}), *streamed().pieces[1:]],
              content_type="text/event-stream")
        if body.get("stream") else whole("Done.")
    )  # fmt: skip
    events = ask_streamed(alice, tools=tools, tool_choice={"type": "custom", "name": "patch"})
    patch, spawn = events[-1]["response"]["output"]

    assert (patch["type"], patch["name"], patch["input"]) == ("custom_tool_call", "patch", "*** Begin")
    assert (spawn["type"], spawn["name"], spawn["namespace"]) == ("function_call", "spawn", "agents")
    assert "custom_tool_call_input.done" in names_of(events)
    # Tools that OpenAI would run itself are left out, and the response says so.
    assert events[-1]["response"]["tools"] == tools[:2]
    sent = upstream.asked[0]
    assert [one["function"]["name"] for one in sent["tools"]] == ["patch", "agents__spawn"]
    assert "start: X" in sent["tools"][0]["function"]["description"]
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "patch"}}
    outputs = [
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
        {"type": "function_call_output", "call_id": "c2", "output": "ok"},
    ]
    ask(alice, [{"role": "user", "content": "Go."}, patch, spawn, *outputs], tools=tools)
    (called,) = [one["tool_calls"] for one in upstream.messages if "tool_calls" in one]
    assert [json.loads(one["function"]["arguments"]) for one in called] == [{"input": "*** Begin"}, {}]


def test_settings_are_told_as_chat_completions_have_them(alice, upstream):
    schema = {"type": "object", "properties": {}}
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}
    items = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, image, file]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
    ]
    ask(
        alice,
        items,
        instructions="Be brief.",
        max_output_tokens=50,
        top_p=0.9,
        reasoning={"effort": "low", "summary": "auto"},
        text={"format": {"type": "json_schema", "name": "a", "schema": schema, "strict": True}, "verbosity": "low"},
        tools=[WEATHER, {**WEATHER, "name": "other"}],
        tool_choice={"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "other"}]},
        prompt_cache_key="k",
        include=["reasoning.encrypted_content"],
        truncation="auto",
    )
    sent = upstream.asked[0]

    assert [one for one in sent["messages"] if one["role"] != "system" or "kind" in one["content"]] == [
        # Consecutive system messages are merged into one.
        {"role": "system", "content": "Be brief.\n\nBe kind."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image_url", "image_url": {"url": image["image_url"], "detail": "low"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": file["file_data"]}},
            ],
        },
    ]
    assert sent["response_format"] == {
        "type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True},
    }  # fmt: skip
    assert (sent["max_tokens"], sent["top_p"], sent["reasoning_effort"], sent["verbosity"]) == (50, 0.9, "low", "low")
    assert ([one["function"]["name"] for one in sent["tools"]], sent["tool_choice"]) == (["other"], "required")
    assert not {"prompt_cache_key", "include", "truncation", "metadata", "store"} & set(sent)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
def test_a_response_that_is_cut_off_is_incomplete_and_not_remembered(alice, upstream, stream, finish, reason):
    pieces = [chunk({"content": "The shop is in"}), chunk({}, finish=finish), b"data: [DONE]\n\n"]
    upstream.answer = lambda _: (
        Reply(pieces, content_type="text/event-stream") if stream else whole("The shop is in", finish=finish)
    )
    events = ask_streamed(alice) if stream else [{"response": ask(alice), "type": "response.incomplete"}]
    response = events[-1]["response"]

    assert (events[-1]["type"], response["status"]) == ("response.incomplete", "incomplete")
    assert response["incomplete_details"] == {"reason": reason}
    assert response["memos"]["degraded"] == ["answer_cut_off"]
    assert [role for _, role, _ in turns(alice)] == ["user"]


@pytest.mark.django_db(transaction=True)
def test_a_response_that_breaks_off_has_failed(alice, upstream):
    upstream.answer = lambda _: streamed("The shop", breaks=True)
    events = ask_streamed(alice)

    assert events[-1]["type"] == "response.failed"
    assert events[-1]["response"]["error"]["code"] == "server_error"
    assert "llamacpp/small" in events[-1]["response"]["error"]["message"]
    assert events[-1]["response"]["output"][0]["status"] == "incomplete"
    assert [role for _, role, _ in turns(alice)] == ["user"]
    assert keys() == []


def test_redis_away_leaves_the_response_and_says_that_it_is_not_kept(alice, upstream, monkeypatch):
    monkeypatch.setattr(redis_store, "_paused_until", float("inf"))
    answer = ask(alice)

    assert (answer["status"], answer["store"]) == ("completed", False)
    error = error_of(alice.post(ROUTE, {"input": "And?", "previous_response_id": answer["id"]}), 400)
    assert error["code"] == "previous_response_not_found"
