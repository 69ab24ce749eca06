"""A chat model that fails in every way an endpoint can: its errors are reported, and its caller continues."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from django.utils import timezone

from memory.api.errors import exception_handler
from memory.enums import ModelCallStatus, ModelPurpose
from memory.errors import InvalidInput, LLMBusy, LLMContextTooLong, LLMRefused, LLMUnavailable
from memory.providers.calls import EndedCall, call_ended, call_planned
from memory.providers.chat.model import ChatModel
from memory.providers.chat.registry import find_chat_model
from memory.providers.chat.relay import relay
from tests.providers.endpoint import Endpoint, serving

KEY = "sk-very-secret-0123456789"
PROMPT = [{"role": "user", "content": "My grandmother's recipe is a family secret."}]
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


def says(text: Any, finish: str = "stop", **message: Any) -> tuple[int, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    return 200, {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def piece(text: str | None, finish: str | None = None) -> bytes:
    choice = {"index": 0, "finish_reason": finish, "delta": {"content": text}}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


@pytest.fixture
def endpoint(settings) -> Iterator[Endpoint]:
    with serving(lambda body: says("Yes.")) as endpoint:
        settings.MEMOS_LLM_ENABLED = True
        settings.MEMOS_LLM_API_KEY = KEY
        settings.MEMOS_LLM_BASE_URL = endpoint.url
        settings.MEMOS_LLM_MODEL = "m"
        settings.MEMOS_LLM_TIMEOUT_SECONDS = 20.0
        yield endpoint


@pytest.fixture
def ended() -> Iterator[list[EndedCall]]:
    calls: list[EndedCall] = []

    def keep(sender: Any, call: EndedCall, **_: Any) -> None:
        calls.append(call)

    call_ended.connect(keep, weak=False, dispatch_uid="tests")
    yield calls
    call_ended.disconnect(dispatch_uid="tests")


def model() -> ChatModel:
    chat = find_chat_model(ModelPurpose.ANSWER)
    assert chat is not None
    return chat


def refusal(kind: type[LLMUnavailable] = LLMUnavailable) -> LLMUnavailable:
    with pytest.raises(kind) as caught:
        model().complete(PROMPT, max_tokens=20)
    return caught.value


def broken_stream() -> tuple[list[str], LLMUnavailable]:
    """Return the pieces that came, and the error that followed."""
    pieces: list[str] = []
    with pytest.raises(LLMUnavailable) as caught, model().stream(PROMPT, max_tokens=20) as stream:
        pieces.extend(stream)
    return pieces, caught.value


def error(status: int, message: str = "no", code: str | None = None, **headers: str) -> tuple[Any, ...]:
    return status, {"error": {"message": f"{message} ({KEY})", "type": "t", "code": code}}, headers


FAULTS = {
    "wrong key": (error(401), "does not accept the key (401): check MEMOS_LLM_API_KEY"),
    "no rights": (error(403), "does not accept the key (403): check MEMOS_LLM_API_KEY"),
    "no such model": (error(404), "check the model's name in MEMOS_LLM_MODEL"),
    "down": (error(502), "failed (502): that is the provider's own fault"),
    "its word for it": (error(503, code="overloaded_error"), "failed (503 overloaded_error)"),
    "not its word": (error(503, code=f"sent {PROMPT}"), "failed (503): "),
    "a parameter": (error(400, "unknown parameter"), "refuses the request (400)"),
    "a page": ((200, b"<html>Log in to the gateway</html>"), "something else than a chat completion"),
    "cut JSON": ((200, b'{"choices": [{"mess'), "something else than a chat completion"),
    "no choices": ((200, {"id": "c", "choices": []}), "something else than a chat completion"),
    "no message": ((200, {"id": "c", "choices": [{"index": 0}]}), "something else than a chat completion"),
    "another shape": ((200, [1, 2]), "something else than a chat completion"),
    "nothing": (says(""), "answered nothing"),
    "no content": (says(None), "answered nothing"),
    "filtered": (says("Half a", "content_filter"), "withheld its answer"),
    "all spent": (says("", "length"), "allow more (max_tokens)"),
    "a tool": (says(None, "tool_calls", tool_calls=[]), "wants to call a tool, though none was offered"),
}


@pytest.mark.parametrize(("answer", "says_"), FAULTS.values(), ids=FAULTS)
def test_a_fault_says_which_model_what_and_how_to_mend_it_and_nothing_that_is_secret(endpoint, caplog, answer, says_):
    caplog.set_level(logging.DEBUG, "memos")
    endpoint.answer = lambda body: answer

    refused = refusal()

    assert refused.message.startswith("openai/m ")
    assert says_ in refused.message
    assert refused.message.endswith(".")
    for secret in (KEY, "grandmother"):
        assert secret not in refused.message + str(refused.detail) + caplog.text


def test_a_name_and_password_in_an_address_are_not_shown(endpoint, settings):
    settings.MEMOS_LLM_BASE_URL = endpoint.url.replace("http://", "http://ann:hush@")
    endpoint.answer = lambda body: (200, b"<html>")
    assert "hush" not in refusal().message
    assert "127.0.0.1" in refusal().message


def test_where_nobody_listens_the_setting_of_the_address_is_named(endpoint, settings):
    settings.MEMOS_LLM_BASE_URL = "http://127.0.0.1:9/v1"
    assert "does not answer at http://127.0.0.1:9/v1 (ConnectError): check that it runs" in refusal().message
    settings.MEMOS_LLM_PROVIDER, settings.MEMOS_LLM_BASE_URL = "ollama", ""
    settings.MEMOS_OLLAMA_BASE_URL = "http://127.0.0.1:9/v1"
    assert "MEMOS_OLLAMA_BASE_URL" in refusal().message


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7), ("0", 1), ("99999999", 3600), ("soon", 1), ("", 1), ("-4", 1), ("nan", 1)]
)
def test_too_many_requests_say_when_to_come_again_and_so_does_the_api(endpoint, rf, header, seconds):
    endpoint.answer = lambda body: error(429, **{"Retry-After": header})

    refused = refusal()

    assert refused.retry_after == seconds
    assert f"try again in {seconds} s" in refused.message
    answer = exception_handler(refused, {"request": type("Request", (), {"_request": rf.get("/")})})
    assert (answer.status_code, answer["Retry-After"]) == (503, str(seconds))


def test_a_date_to_come_again_is_read(endpoint):
    later = format_datetime(timezone.now() + timedelta(minutes=2), usegmt=False)
    endpoint.answer = lambda body: error(429, **{"Retry-After": later})
    assert 60 < refusal().retry_after <= 120


@pytest.mark.parametrize(
    "answer",
    [
        error(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
        error(400, "the request exceeds the available context size, try increasing it"),
        error(400, "prompt is too long: 219000 tokens > 200000 maximum"),
        error(413),
    ],
)
def test_too_long_a_context_says_how_much_was_sent_and_what_to_shorten(endpoint, answer):
    endpoint.answer = lambda body: answer

    refused = refusal(LLMContextTooLong)

    assert (refused.status, refused.code) == (400, "llm_context_too_long")
    assert refused.detail["prompt_tokens"] > 5
    assert f"about {refused.detail['prompt_tokens']} that it was sent" in refused.message
    assert "top_k" in refused.message


def test_a_model_that_says_nothing_is_left_when_its_time_is_over(endpoint, settings, ended):
    settings.MEMOS_LLM_TIMEOUT_SECONDS = 0.2
    endpoint.answer = lambda body: (200, endpoint.closing.wait(30))
    assert "took more than 0.2 seconds: raise MEMOS_LLM_TIMEOUT_SECONDS" in refusal().message
    assert [call.status for call in ended] == [ModelCallStatus.FAILED]


@pytest.mark.parametrize("first", [b"", b"{", piece("Half")], ids=["nothing", "a brace", "a piece"])
def test_an_answer_that_trickles_or_stops_is_left_when_its_time_is_over(endpoint, settings, first):
    settings.MEMOS_LLM_TIMEOUT_SECONDS = 0.4

    def trickle() -> Iterator[bytes]:
        yield first
        while not endpoint.closing.wait(0.05):
            yield b": "

    def stop() -> Iterator[bytes]:
        yield first
        endpoint.closing.wait(30)

    for way in (trickle, stop):
        endpoint.answer = lambda body, way=way: (200, way())
        assert "took more than 0.4 seconds" in refusal().message
        assert "took more than 0.4 seconds" in broken_stream()[1].message


BROKEN_STREAMS = {
    "dies": ([piece("Half an"), piece(" ans")], "broke off in the middle"),
    "a page": ([b"<html>busy</html>"], "something else than a chat completion"),
    "nothing": ([], "something else than a chat completion"),
    "no JSON": ([piece("Half"), b"data: {oops\n\n"], "something else than a chat completion"),
    "another shape": ([b'data: {"choices": [7]}\n\n'], "something else than a chat completion"),
    "no delta": ([b'data: {"choices": [{"index": 0}]}\n\n'], "broke off in the middle"),
    "an error": ([piece("Half"), b'data: {"error": {"message": "out of memory"}}\n\n'], "something else"),
    "a tool": ([piece(None), piece(None, "tool_calls"), b"data: [DONE]\n\n"], "wants to call a tool"),
    "no text": ([piece(None, "stop"), b"data: [DONE]\n\n"], "answered nothing"),
    "filtered": ([piece("Half"), piece(None, "content_filter"), b"data: [DONE]\n\n"], "withheld its answer"),
}


@pytest.mark.parametrize(("sent", "says_"), BROKEN_STREAMS.values(), ids=BROKEN_STREAMS)
def test_a_stream_that_breaks_off_is_no_answer(endpoint, ended, sent, says_):
    endpoint.answer = lambda body: (200, iter(sent))

    pieces, refused = broken_stream()

    assert refused.message.startswith("openai/m ")
    assert says_ in refused.message
    assert [call.status for call in ended] == [ModelCallStatus.FAILED]
    assert len(pieces) == sum(b'"content": "' in one for one in sent)


def test_a_reader_that_leaves_ends_the_call_and_says_nothing_about_the_model(endpoint, settings, ended):
    settings.MEMOS_LLM_BREAKER_FAILURES = 1

    def endless() -> Iterator[bytes]:
        while not endpoint.closing.wait(0.01):
            yield piece("and ")

    endpoint.answer = lambda body: (200, endless())
    with model().stream(PROMPT, max_tokens=20) as stream:
        assert next(iter(stream)) == "and "

    assert endpoint.left.wait(10), "the provider sees its reader gone"
    assert [call.status for call in ended] == [ModelCallStatus.CANCELLED]
    endpoint.answer = lambda body: says("Yes.")
    assert model().complete(PROMPT, max_tokens=20).text == "Yes."


def test_halves_of_characters_are_joined_and_what_is_none_can_be_sent_and_stored(endpoint):
    halves = [piece("Hi \ud83d"), piece("\ude00\0!"), piece(" \ude00"), piece("\ud83d", "stop")]
    endpoint.answer = lambda body: (200, iter([*halves, b"data: [DONE]\n\n"]))
    with model().stream(PROMPT, max_tokens=20) as stream:
        assert "".join(stream) == "Hi \U0001f600! \ufffd\ufffd"

    endpoint.answer = lambda body: says("A\0nn \ud83d")
    assert model().complete(PROMPT, max_tokens=20).text == "Ann \ufffd"


ODD_CHUNKS = {
    "no choices": b'data: {"id": "c", "usage": null}\n\n',
    "an empty list": b'data: {"id": "c", "choices": [], "prompt_filter_results": []}\n\n',
    "null": b'data: {"id": "c", "choices": null}\n\n',
    "no delta": b'data: {"id": "c", "choices": [{"index": 0, "delta": null, "finish_reason": null}]}\n\n',
    "an empty delta": b'data: {"id": "c", "choices": [{"index": 0, "delta": {}, "logprobs": null}]}\n\n',
    "another choice": b'data: {"id": "c", "choices": [{"index": 1, "delta": {"content": "No."}}]}\n\n',
    "a comment": b": working\n\n",
    "reasoning_content": b'data: {"id": "c", "choices": [{"index": 0, "delta": {"reasoning_content": "Hm."}}]}\n\n',
    "reasoning": b'data: {"id": "c", "choices": [{"index": 0, "delta": {"reasoning": "Hm.", "content": null}}]}\n\n',
    "a part that thinks": b'data: {"id": "c", "choices": [{"index": 0, "delta": {"content": [{"type": "thinking", '
    b'"thinking": [{"type": "text", "text": "Hm."}]}]}}]}\n\n',
}


@pytest.mark.parametrize("odd", ODD_CHUNKS.values(), ids=ODD_CHUNKS)
def test_chunks_that_say_nothing_are_passed_over(endpoint, odd):
    endpoint.answer = lambda body: (200, iter([odd, piece("Yes"), odd, piece(".", "stop"), odd, b"data: [DONE]\n\n"]))
    with model().stream(PROMPT, max_tokens=20) as stream:
        assert "".join(stream) == "Yes."


def test_what_the_model_thinks_is_no_part_of_its_answer(endpoint):
    endpoint.answer = lambda body: says("<think>They ask for tea.</think>\n\nOolong.")
    assert model().complete(PROMPT, max_tokens=20).text == "Oolong."
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "Oolong."}]
    endpoint.answer = lambda body: says(parts, reasoning_content="Hm.")
    assert model().complete(PROMPT, max_tokens=20).text == "Oolong."
    sent = [piece("<th"), piece("ink>They ask"), piece(" for tea.</think>"), piece("\n\nOo"), piece("long.", "stop")]
    endpoint.answer = lambda body: (200, iter([*sent, b"data: [DONE]\n\n"]))
    with model().stream(PROMPT, max_tokens=20) as stream:
        assert list(stream) == ["Oo", "long."]


def test_a_model_that_only_thinks_answers_nothing(endpoint):
    thought = "<think>They ask for tea, and I"
    endpoint.answer = lambda body: says(thought, "length")
    assert "allow more (max_tokens), or choose a model that thinks less" in refusal(LLMRefused).message
    endpoint.answer = lambda body: (200, iter([piece(thought, "length"), b"data: [DONE]\n\n"]))
    pieces, refused = broken_stream()
    assert (pieces, "a model that thinks less" in refused.message) == ([], True)


STRICT = {
    "openai's limit": (
        "vllm",
        "max_tokens",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens",
    ),
    "openai's temperature": (
        "vllm",
        "temperature",
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        "temperature",
    ),
    "in words alone": ("vllm", "max_tokens", "max_tokens is not supported: use max_completion_tokens instead", None),
    "an older server": (
        "openai",
        "max_completion_tokens",
        "Unrecognized request argument supplied: max_completion_tokens",
        None,
    ),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("provider", "name", "message", "param"), STRICT.values(), ids=STRICT)
def test_a_refused_parameter_is_sent_as_the_model_wants_it(
    endpoint, settings, ended, provider, name, message, param, stream
):
    settings.MEMOS_LLM_PROVIDER = provider

    def answer(body: dict[str, Any]) -> tuple[Any, ...]:
        if name in body:
            return 400, {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": None}}
        return (200, iter([piece("Yes.", "stop"), b"data: [DONE]\n\n"])) if stream else says("Yes.")

    endpoint.answer = answer
    if stream:
        with model().stream(PROMPT, max_tokens=20) as said:
            assert list(said) == ["Yes."]
    else:
        assert model().complete(PROMPT, max_tokens=20).text == "Yes."
    first, second = (asked.body for asked in endpoint.asked)
    assert {key for key in first if first[key] != second.get(key)} == {name}
    assert [value for key, value in second.items() if key.startswith("max_")] == [20]
    assert [call.status for call in ended] == [ModelCallStatus.OK]


def test_a_model_that_refuses_one_parameter_after_the_other_answers(endpoint, settings):
    settings.MEMOS_LLM_PROVIDER = "vllm"

    def answer(body: dict[str, Any]) -> tuple[Any, ...]:
        refused = next((name for name in ("max_tokens", "temperature") if name in body), None)
        return error(400, f"Unsupported parameter: '{refused}'") if refused else says("Yes.")

    endpoint.answer = answer
    assert model().complete(PROMPT, max_tokens=20).text == "Yes."
    assert len(endpoint.asked) == 3


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 900000. This model supports at most 4096 completion tokens.",
        "temperature: must be between 0 and 2",
        "Unsupported parameter: 'messages'",
    ],
)
def test_another_refusal_is_not_asked_again(endpoint, settings, message):
    settings.MEMOS_LLM_PROVIDER = "vllm"
    endpoint.answer = lambda body: error(400, message)
    refusal(LLMRefused)
    assert len(endpoint.asked) == 1


def test_a_model_that_takes_no_limit_at_all_is_asked_twice(endpoint):
    endpoint.answer = lambda body: error(400, f"Unsupported: {next(name for name in body if name.startswith('max_'))}")
    refusal(LLMRefused)
    assert len(endpoint.asked) == 2


class TestJson:
    @pytest.mark.parametrize(
        "said",
        [
            'Here you are: {"colour": "red"}',
            'It is this:\n```json\n{"colour": "red"}\n```\nAsk if you need more.',
            '<think>{"colour": "blue"}?</think>{"colour": "red"}',
            'It could be {"colour": "blue"}, but it is {"colour": "red"}.',
            'The set {a, b} is none. {"colour": "red"}',
            '{"colour": "red"} {"colour": "green"}',
        ],
    )
    def test_it_is_found_behind_thinking_prose_and_fences(self, endpoint, said):
        endpoint.answer = lambda body: says(said)
        assert model().complete_json(PROMPT, schema=SCHEMA, max_tokens=20).value == {"colour": "red"}
        assert len(endpoint.asked) == 1

    @pytest.mark.parametrize("said", ['{"is": {"colour": "red"}, "wh', '{is: {"colour": "red"}}', "{" * 5_000])
    def test_what_stands_within_broken_json_is_not_taken_for_it(self, endpoint, said):
        endpoint.answer = lambda body: says(said, "length")
        with pytest.raises(LLMRefused, match="cut off at 20 tokens"):
            model().complete_json(PROMPT, schema=SCHEMA, max_tokens=20)

    @pytest.mark.parametrize(
        "first", ["Here you are: red", "[]", '{"colour": "green"}', "{}", '{"colour": "red", "why": 1}', '{"colour": ']
    )
    def test_what_does_not_follow_the_schema_is_asked_for_once_more(self, endpoint, first):
        replies = iter([says(first), says('```json\n{"colour": "red"}\n```')])
        endpoint.answer = lambda body: next(replies)

        assert model().complete_json(PROMPT, schema=SCHEMA, max_tokens=20).value == {"colour": "red"}

        assert [message["role"] for message in endpoint.asked[1].body["messages"]] == ["user", "assistant", "user"]

    def test_twice_wrong_is_refused_and_does_not_count_against_the_model(self, endpoint, settings):
        settings.MEMOS_LLM_BREAKER_FAILURES = 1
        endpoint.answer = lambda body: says("no")
        for _ in range(2):
            with pytest.raises(LLMRefused, match="did not answer the JSON that it was asked for: it is no JSON"):
                model().complete_json(PROMPT, schema=SCHEMA, max_tokens=20)
        assert len(endpoint.asked) == 4

    @pytest.mark.parametrize("said", ['{"colour": "Our recipe"}', '{"colour": "red", "Our recipe": 1}'])
    def test_what_is_wrong_is_said_without_a_word_of_the_answer(self, endpoint, said):
        endpoint.answer = lambda body: says(said)
        with pytest.raises(LLMRefused, match="does not follow the schema at ") as refused:
            model().complete_json(PROMPT, schema=SCHEMA, max_tokens=20)
        assert "recipe" not in refused.value.message

    def test_values_that_cannot_be_stored_are_asked_for_once_more(self, endpoint):
        replies = iter([says('{"name": "A\\u0000nn"}'), says('{"name": "Ann"}')])
        endpoint.answer = lambda body: next(replies)

        assert model().complete_json(PROMPT, schema={"type": "object"}, max_tokens=20).value == {"name": "Ann"}

    def test_an_answer_that_is_cut_off_says_so(self, endpoint):
        endpoint.answer = lambda body: says('{"colour": "r', "length")
        with pytest.raises(LLMRefused, match="cut off at 20 tokens"):
            model().complete_json(PROMPT, schema=SCHEMA, max_tokens=20)

    @pytest.mark.parametrize("schema", [{"type": "colour"}, {"properties": 3}])
    def test_what_is_no_schema_is_refused_before_anybody_is_asked(self, endpoint, schema):
        with pytest.raises(InvalidInput, match="no JSON schema"):
            model().complete_json(PROMPT, schema=schema, max_tokens=20)
        assert endpoint.asked == []

    def test_a_schema_fetches_nothing(self, endpoint):
        endpoint.answer = lambda body: says("{}")
        with serving(lambda body: (200, {})) as other, pytest.raises(InvalidInput, match="reads no other schema"):
            model().complete_json(PROMPT, schema={"$ref": f"{other.url}/schema"}, max_tokens=20)
        assert other.asked == []


class TestGuard:
    def test_a_model_that_keeps_failing_is_left_alone_then_tried_by_one_call(self, endpoint, settings):
        settings.MEMOS_LLM_BREAKER_FAILURES, settings.MEMOS_LLM_BREAKER_SECONDS = 3, 3600.0
        endpoint.answer = lambda body: error(500)
        for _ in range(3):
            refusal()

        alone = refusal()

        assert len(endpoint.asked) == 3
        assert "failed 3 times in a row and is left alone for 3600 s. Last: " in alone.message
        assert 3000 < alone.retry_after <= 3600
        settings.MEMOS_LLM_BREAKER_SECONDS = 0.0
        refusal()
        assert len(endpoint.asked) == 4, "one tries"
        settings.MEMOS_LLM_BREAKER_SECONDS = 3600.0
        refusal()
        assert len(endpoint.asked) == 4, "and failed: it is left alone again"
        settings.MEMOS_LLM_BREAKER_SECONDS = 0.0
        endpoint.answer = lambda body: says("Yes.")
        assert model().complete(PROMPT, max_tokens=20).text == "Yes."
        settings.MEMOS_LLM_BREAKER_SECONDS = 3600.0
        assert model().complete(PROMPT, max_tokens=20).text == "Yes."

    def test_while_one_call_tries_the_others_are_refused(self, endpoint, settings):
        settings.MEMOS_LLM_BREAKER_FAILURES, settings.MEMOS_LLM_BREAKER_SECONDS = 1, 0.0
        endpoint.answer = lambda body: error(500)
        refusal()
        asked, go_on = threading.Event(), threading.Event()

        def slowly(body: dict[str, Any]) -> tuple[int, Any]:
            asked.set()
            go_on.wait(20)
            return says("Yes.")

        endpoint.answer = slowly
        with Running(lambda: model().complete(PROMPT, max_tokens=20)):
            assert asked.wait(20)
            assert "is left alone" in refusal().message
            go_on.set()
        assert len(endpoint.asked) == 2

    def test_what_is_wrong_with_one_request_does_not_count(self, endpoint, settings):
        settings.MEMOS_LLM_BREAKER_FAILURES = 1
        endpoint.answer = lambda body: error(400, "maximum context length")
        for _ in range(3):
            refusal(LLMContextTooLong)
        assert len(endpoint.asked) == 3

    def test_more_calls_at_once_than_are_allowed_are_told_to_come_again(self, endpoint, settings, monkeypatch):
        monkeypatch.setattr("memory.providers.chat.guard.WAIT_SECONDS", 0.05)
        settings.MEMOS_LLM_CONCURRENCY = 1
        asked, go_on = threading.Event(), threading.Event()

        def slowly(body: dict[str, Any]) -> tuple[int, Any]:
            asked.set()
            go_on.wait(20)
            return says("Yes.")

        endpoint.answer = slowly
        with Running(lambda: model().complete(PROMPT, max_tokens=20)):
            assert asked.wait(20)
            busy = refusal(LLMBusy)
            go_on.set()

        assert (busy.status, busy.code, busy.retry_after) == (503, "llm_busy", 2)
        assert "MEMOS_LLM_CONCURRENCY" in busy.message
        assert model().complete(PROMPT, max_tokens=20).text == "Yes."

    def test_who_refuses_a_call_beforehand_is_heard_and_nobody_is_asked(self, endpoint, ended):
        def refuse(sender: Any, call: Any, **_: Any) -> None:
            raise InvalidInput("no budget")

        call_planned.connect(refuse, weak=False, dispatch_uid="tests")
        try:
            with pytest.raises(InvalidInput, match="no budget"):
                model().complete(PROMPT, max_tokens=20)
        finally:
            call_planned.disconnect(dispatch_uid="tests")
        assert (endpoint.asked, ended) == ([], [])


class Running:
    """A call in another thread, whose error is raised again at the end."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(call,))

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            self._problem = error

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        if self._problem is not None:
            raise self._problem


@pytest.mark.parametrize(
    ("provider", "key_setting", "usage", "cached"),
    [
        ("openai", "MEMOS_LLM_API_KEY", {"prompt_tokens_details": {"cached_tokens": 7}}, 7),
        ("deepseek", "MEMOS_DEEPSEEK_API_KEY", {"prompt_cache_hit_tokens": 6}, 6),
        ("openai", "MEMOS_LLM_API_KEY", {"prompt_tokens_details": {"cached_tokens": ["7"]}}, None),
        ("openai", "MEMOS_LLM_API_KEY", {"prompt_cache_hit_tokens": 6}, None),
    ],
)
def test_cached_tokens_are_read_where_the_provider_writes_them(
    endpoint, settings, ended, provider, key_setting, usage, cached
):
    settings.MEMOS_LLM_PROVIDER = provider
    setattr(settings, key_setting, KEY)
    status, reply = says("Yes.")
    endpoint.answer = lambda body: (status, {**reply, "usage": {**reply["usage"], **usage}})
    found = model().complete(PROMPT, max_tokens=20).usage
    assert (found.prompt, found.completion, found.cached) == (12, 3, cached)

    with relay(model(), {"messages": [{"role": "user", "content": "Is it?"}]}) as answer:
        answer.read()
    assert (ended[-1].usage.prompt, ended[-1].usage.completion, ended[-1].usage.cached) == (12, 3, cached)
