"""POST /v1/messages: refusals in Anthropic's shape first, then what the model is sent, and the events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from tests.api.test_completions import SAID, pieces_of, told_by, turns, upstream
from tests.providers.upstream import Reply, chunk, streamed, whole

__all__ = ["upstream"]

ROUTE = "/v1/messages"
QUESTION = "Where is the shop?"
ASKED = {"model": "default", "max_tokens": 100, "messages": [{"role": "user", "content": QUESTION}]}
WEATHER = {"name": "weather", "description": "Tells it", "input_schema": {"type": "object"}}
CALL = {"id": "call-1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Lyon"}'}}
CLAUDE_CODE = {"USER_AGENT": "claude-cli/2.1.197 (external, cli)", "X_CLAUDE_CODE_SESSION_ID": "code-1"}


def error_of(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content
    body = answer.json()
    assert body["type"] == "error"
    error: dict[str, Any] = body["error"]
    return error


def ask(tenant: Any, *blocks: Any, headers: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    messages = {"messages": [{"role": "user", "content": list(blocks)}]} if blocks else {}
    answer = tenant.post(ROUTE, {**ASKED, **messages, **fields}, **(headers or {}))
    assert answer.status_code == 200, answer.content
    said: dict[str, Any] = answer.json()
    return said


def ask_streamed(tenant: Any, **fields: Any) -> list[dict[str, Any]]:
    """Ask with `stream`, and return the events, each under the name that it carries."""
    answer = tenant.post(ROUTE, {**ASKED, "stream": True, **fields})
    assert answer.status_code == 200, answer.content
    events = []
    for event in pieces_of(answer).split(b"\n\n")[:-1]:
        name, data = event.split(b"\n")
        events.append(json.loads(data.removeprefix(b"data: ")))
        assert name == f"event: {events[-1]['type']}".encode()
    return events


def spoken(upstream: Any) -> list[dict[str, Any]]:
    return [one for one in upstream.messages if one["role"] != "system"]


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": ["Hi"]}, "messages[0]"),
        ({"messages": [{"role": "robot", "content": "Hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "assistant", "content": [{"type": "image"}]}]}, "messages[0].content[0]"),
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stream": "yes"}, "stream"),
        ({"system": 5}, "system"),
        ({"system": [{"type": "image"}]}, "system[0].text"),
        ({"tools": [5]}, "tools"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"memos_session": 5}}, "metadata.memos_session"),
    ],
)
def test_a_wrong_field_is_refused_in_anthropics_shape(alice, upstream, change, param):
    error = error_of(alice.post(ROUTE, {**ASKED, **change}), 400)

    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert upstream.asked == []


def test_refusals_are_of_anthropics_kinds(olga, alice, make_tenant, upstream):
    answer = olga.post(ROUTE, data=ASKED, content_type="application/json")
    assert error_of(answer, 401)["type"] == "authentication_error"
    for scope in ("read", "write"):
        assert error_of(make_tenant("carol", scopes=(scope,)).post(ROUTE, ASKED), 403)["type"] == "permission_error"
    error = error_of(alice.post(ROUTE, {**ASKED, "model": "claude-99"}), 404)
    assert (error["type"], error["code"]) == ("not_found_error", "model_not_found")
    said = {"error": {"message": "Too many requests", "type": "requests", "code": "rate_limit_exceeded"}}
    upstream.answer = lambda _: Reply([json.dumps(said).encode()], status=429, headers={"Retry-After": "7"})
    for stream in (False, True):
        answer = alice.post(ROUTE, {**ASKED, "stream": stream})
        assert error_of(answer, 429) == {**said["error"], "type": "rate_limit_error"}
        assert answer["Retry-After"] == "7"


def test_the_key_is_taken_as_anthropics_clients_send_it(alice, upstream):
    for headers, status in (
        ({"X-API-Key": alice.token}, 200),
        ({"Authorization": f"Bearer {alice.token}", "X-API-Key": "sk-ant-x"}, 200),
        ({"X-API-Key": "mos_no_key"}, 401),
        ({"X-API-Key": ""}, 401),
    ):
        answer = Client(headers=headers).post(ROUTE, data=ASKED, content_type="application/json")
        assert answer.status_code == status, headers


def test_a_whole_message_with_memory_is_remembered(alice, upstream, remember):
    shop = remember(alice, SAID, session="s0", speaker="Ann")
    answer = ask(alice, system=[{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}])

    assert (answer["type"], answer["role"], answer["stop_reason"]) == ("message", "assistant", "end_turn")
    assert answer["content"] == [{"type": "text", "text": SAID}]
    assert (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) == (12, 3)
    assert answer["memos"]["memory_ids"] == [shop]
    assert "Be brief.\n\nBe kind." in told_by(upstream)
    assert f"Ann: {SAID}" in told_by(upstream)
    session = answer["memos"]["session_id"]
    assert [text for name, _, text in turns(alice) if name == session] == [QUESTION, SAID]


def test_the_session_is_that_of_the_header_of_claude_code_or_of_the_user(alice, upstream):
    ask(alice, headers=CLAUDE_CODE, metadata={"user_id": "ann"})
    ask(alice, metadata={"user_id": "ann"})
    ask(alice, metadata={"user_id": "ann", "memos_session": "s7"})
    long = "u" * 300
    ask(alice, metadata={"user_id": long})

    sessions = {session for session, role, _ in turns(alice) if role == "user"}
    assert {"code-1", "s7", "user:ann"} < sessions
    assert len(sessions) == 4
    # Providers refuse a user name of that length.
    assert all("user" not in asked and "metadata" not in asked for asked in upstream.asked)


def test_the_events_come_in_their_order(alice, upstream):
    upstream.answer = lambda _: streamed("The shop is", " in Lyon.")
    events = ask_streamed(alice)

    assert [event["type"] for event in events] == [
        "message_start", "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip
    assert (events[0]["message"]["content"], events[1]["content_block"]) == ([], {"type": "text", "text": ""})
    assert [event["delta"]["text"] for event in events[2:4]] == ["The shop is", " in Lyon."]
    assert events[-2]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    # Tokens that the provider does not count are estimated.
    assert events[-2]["usage"]["output_tokens"] > 3
    assert events[-2]["memos"]["remembered"]["assistant"]
    assert [text for _, _, text in turns(alice)] == [QUESTION, SAID]


@pytest.mark.parametrize("thinking", [None, {"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive"}])
def test_thinking_is_told_to_who_asks_for_it(alice, upstream, thinking):
    call = {"index": 0, "id": "call-1", "type": "function", "function": {"name": "weather", "arguments": '{"city":'}}
    rest = {"index": 0, "function": {"arguments": ' "Lyon"}'}}
    pieces = [
        chunk({"reasoning_content": "The user asks."}),
        chunk({"tool_calls": [call]}),
        chunk({"tool_calls": [rest]}),
        chunk({}, finish="tool_calls"),
        chunk(usage={"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}}),
        b"data: [DONE]\n\n",
    ]
    upstream.answer = lambda _: Reply(pieces, content_type="text/event-stream")
    events = ask_streamed(alice, tools=[WEATHER], **({"thinking": thinking} if thinking else {}))

    blocks = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    assert blocks == (["thinking", "tool_use"] if thinking else ["tool_use"])
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert json.loads("".join(delta.get("partial_json", "") for delta in deltas)) == {"city": "Lyon"}
    assert [event["index"] for event in events if event["type"] == "content_block_stop"] == list(range(len(blocks)))
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"] == {
        "input_tokens": 4, "output_tokens": 4, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0,
    }  # fmt: skip
    assert [text for _, _, text in turns(alice)] == [QUESTION]


def test_the_output_of_a_tool_answers_its_call(alice, upstream):
    upstream.answer = lambda body: (
        whole("It rains.")
        if body["messages"][-1]["role"] == "tool"
        else whole("I look.", finish="tool_calls", tool_calls=[CALL])
    )
    first = ask(alice, tools=[WEATHER, {"type": "web_search_20250305", "name": "web_search"}])
    assert first["content"][1] == {"type": "tool_use", "id": "call-1", "name": "weather", "input": {"city": "Lyon"}}
    assert first["stop_reason"] == "tool_use"
    result = {"type": "tool_result", "tool_use_id": "call-1", "content": [{"type": "text", "text": "rain"}]}
    reminder = {"type": "text", "text": "<system-reminder>\nUse the list.\n</system-reminder>"}
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    messages = [
        *ASKED["messages"],
        {"role": "assistant", "content": [thought, *first["content"]]},
        {"role": "user", "content": [result, reminder]},
    ]
    second = ask(alice, messages=messages, tools=[WEATHER])

    assert second["content"] == [{"type": "text", "text": "It rains."}]
    assert spoken(upstream) == [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call-1", "content": [{"type": "text", "text": "rain"}, reminder]},
    ]
    function = {"name": "weather", "description": "Tells it", "parameters": {"type": "object"}}
    assert upstream.asked[0]["tools"] == [{"type": "function", "function": function}]
    # The question is remembered once, and answered twice.
    assert [text for _, _, text in turns(alice)] == [QUESTION, "I look.", "It rains."]


def test_what_a_client_adds_to_a_message_is_not_remembered(alice, upstream):
    reminder = {"type": "text", "text": "<system-reminder>\n# currentDate\n2026-11-28\n</system-reminder>\n"}
    question = {"type": "text", "text": QUESTION}
    messages = [{"role": "user", "content": [reminder, question]}, {"role": "system", "content": "Agents: none."}]
    ask(alice, messages=messages)

    added = {"type": "text", "text": "<system-reminder>\nAgents: none.\n</system-reminder>"}
    assert spoken(upstream) == [{"role": "user", "content": [reminder, question, added]}]
    assert [text for _, _, text in turns(alice)] == [QUESTION, SAID]


def test_what_claude_code_asks_for_itself_is_answered_without_memory(alice, upstream, remember):
    remember(alice, SAID, session="s0")
    schema = {"type": "json_schema", "schema": {"type": "object"}}
    ask(alice, headers=CLAUDE_CODE, output_config={"format": schema, "effort": "high"})
    ask(alice, headers=CLAUDE_CODE, max_tokens=1)

    assert upstream.messages == ASKED["messages"]
    assert upstream.asked[0]["response_format"] == {
        "type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
    }  # fmt: skip
    assert len(turns(alice)) == 1
    # A structured answer of another client is remembered.
    ask(alice, output_config={"format": schema})
    assert len(turns(alice)) == 3


def test_settings_and_content_are_told_as_chat_completions_have_them(alice, upstream):
    data = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    ask(
        alice,
        {"type": "text", "text": "What is it?"},
        {"type": "image", "source": data},
        {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}},
        {"type": "document", "title": "a.pdf", "source": {**data, "media_type": "application/pdf"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Notes."}},
        stop_sequences=["END"],
        temperature=0.3,
        top_k=5,
        tools=[WEATHER],
        tool_choice={"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
        thinking={"type": "adaptive"},
        output_config={"effort": "low"},
        service_tier="auto",
    )
    sent = upstream.asked[0]

    assert spoken(upstream)[0]["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        {"type": "text", "text": "Notes."},
    ]
    assert (sent["stop"], sent["temperature"], sent["top_k"], sent["max_tokens"]) == (["END"], 0.3, 5, 100)
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert (sent["parallel_tool_calls"], sent["reasoning_effort"]) == (False, "low")
    assert "service_tier" not in sent


def test_parameters_that_the_model_refuses_are_left_out(alice, upstream):
    def answer(body: dict[str, Any]) -> Reply:
        name = next((name for name in ("top_k", "stream_options", "reasoning_effort") if name in body), None)
        error = {"message": f"Unrecognized request argument supplied: {name}", "param": None}
        return Reply([json.dumps({"error": error}).encode()], status=400) if name else streamed(SAID)

    upstream.answer = answer
    events = ask_streamed(alice, top_k=5, thinking={"type": "adaptive"}, output_config={"effort": "max"})
    assert (events[-1]["type"], len(upstream.asked)) == ("message_stop", 4)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("finish", "reason"), [("length", "max_tokens"), ("content_filter", "refusal")])
def test_a_message_that_is_cut_off_says_so_and_is_not_remembered(alice, upstream, stream, finish, reason):
    pieces = [chunk({"content": "The shop is in"}), chunk({}, finish=finish), b"data: [DONE]\n\n"]
    upstream.answer = lambda _: (
        Reply(pieces, content_type="text/event-stream") if stream else whole("The shop is in", finish=finish)
    )
    said = ask_streamed(alice)[-2]["delta"] if stream else ask(alice)

    assert said["stop_reason"] == reason
    assert [role for _, role, _ in turns(alice)] == ["user"]


@pytest.mark.django_db(transaction=True)
def test_a_message_that_breaks_off_ends_with_an_error(alice, upstream):
    upstream.answer = lambda _: streamed("The shop", breaks=True)
    events = ask_streamed(alice)

    assert (events[-1]["type"], events[-1]["error"]["type"]) == ("error", "api_error")
    assert [role for _, role, _ in turns(alice)] == ["user"]


def test_tokens_are_counted_without_asking_a_model(make_tenant, upstream):
    reader = make_tenant("carol", scopes=("read",))
    body = {"model": "default", "messages": ASKED["messages"]}
    few = reader.post(f"{ROUTE}/count_tokens", body).json()["input_tokens"]
    more = reader.post(f"{ROUTE}/count_tokens", {**body, "system": "Be brief.", "tools": [WEATHER]}).json()

    assert 4 < few < more["input_tokens"] < 100
    assert upstream.asked == []
    assert error_of(reader.post(f"{ROUTE}/count_tokens", {}), 400)["param"] == "messages"


VERSION = {"anthropic-version": "2023-06-01"}


def test_models_are_listed_as_anthropics_clients_read_them(alice, upstream, settings):
    settings.MEMOS_LLM_ALLOWED_MODELS = ["llamacpp/small", "llamacpp/other"]
    client = Client(headers={"X-API-Key": alice.token, **VERSION})

    def page(**query: Any) -> Any:
        said = client.get("/v1/models", query).json()
        return [one["id"] for one in said["data"]], said["has_more"], said["first_id"], said["last_id"]

    assert client.get("/v1/models").json()["data"][0] == {
        "type": "model", "id": "llamacpp/small", "display_name": "llamacpp/small",
        "created_at": "1970-01-01T00:00:00Z", "lifecycle": "active",
    }  # fmt: skip
    small, other = "llamacpp/small", "llamacpp/other"
    assert page() == ([small, other], False, small, other)
    assert page(limit=1) == ([small], True, small, small)
    assert page(limit=1, after_id=small) == ([other], False, other, other)
    assert page(before_id=other) == ([small], False, small, small)
    assert page(after_id=other) == ([], False, None, None)
    assert client.get(f"/v1/models/{other}").json()["id"] == other
    assert error_of(client.get("/v1/models/claude-99"), 404)["type"] == "not_found_error"
    for query in ({"after_id": "x"}, {"limit": 0}, {"limit": 1_001}):
        assert error_of(client.get("/v1/models", query), 400)["param"] == next(iter(query))
    assert error_of(Client(headers=VERSION).get("/v1/models"), 401)["type"] == "authentication_error"
    # The form for OpenAI's clients is sent without the header.
    assert alice.get("/v1/models").json()["object"] == "list"
