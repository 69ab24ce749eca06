"""POST /v1/chat/completions for models whose templates accept one system message at the beginning, or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.test_completions import ROUTE, SAID, pieces_of, turns, upstream
from tests.providers.upstream import Reply, streamed, whole

__all__ = ["upstream"]

QUESTION = "Where is the shop?"
INSTRUCTIONS = {"role": "system", "content": "Be brief."}
# Messages of servers with such a template.
BEGINNING = "System message must be at the beginning."
ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."
REFUSALS = [
    (400, {"error": {"message": BEGINNING, "type": "BadRequestError", "code": 400}}),
    (500, {"error": {"message": f"Failed to apply the template: {BEGINNING}", "type": "server_error", "code": 500}}),
    (422, {"detail": "Only one system message is supported"}),
    (400, {"error": {"message": "Unexpected role 'system' after role 'user'", "code": "invalid_request"}}),
    (400, {"error": {"message": f"After the optional system message, {ALTERNATE.lower()}"}}),
]
Messages = list[dict[str, Any]]


def takes_first_only(messages: Messages) -> bool:
    return "system" not in [one["role"] for one in messages[1:]]


def takes_none(messages: Messages) -> bool:
    return "system" not in [one["role"] for one in messages]


def strict(takes: Callable[[Messages], bool], status: int, said: Any, text: str = SAID) -> Callable[[Any], Reply]:
    """Return a model that answers messages which its template accepts, and refuses others."""

    def answer(body: dict[str, Any]) -> Reply:
        if not takes(body["messages"]):
            return Reply([json.dumps(said).encode()], status=status)
        return streamed(text) if body.get("stream") else whole(text)

    return answer


@pytest.fixture
def known(alice, remember) -> None:
    """Store a pinned memory, and one that answers."""
    nuts = remember(alice, "I am allergic to nuts.", session="s0", speaker="Ann")
    alice.post(f"/v1/memories/{nuts}/pin", {})
    remember(alice, SAID, session="s0", speaker="Ann")


def ask(tenant: Any, messages: Messages, **fields: Any) -> Any:
    return tenant.post(ROUTE, {"model": "small", "messages": messages, "user": "ann", **fields})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("status", "said"), REFUSALS)
def test_after_a_refusal_it_is_folded_into_the_first_and_the_last_message(alice, upstream, known, status, said, stream):
    upstream.answer = strict(takes_first_only, status, said)
    question = {"role": "user", "content": QUESTION, "name": "ann"}
    talk = [INSTRUCTIONS, {"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}, question]
    answer = ask(alice, talk, stream=stream)

    assert answer.status_code == 200, answer.content
    assert SAID.encode() in (pieces_of(answer) if stream else answer.content)
    first, *between, last = upstream.messages
    assert between == talk[1:3]
    assert first["content"].endswith("\nBe brief.")
    assert "I am allergic to nuts." in first["content"]
    assert last["content"].endswith(f"\n{QUESTION}")
    assert f"Ann: {SAID}" in last["content"]
    assert (first["role"], last["role"], last["name"]) == ("system", "user", "ann")
    assert [text for _, _, text in turns(alice)][-2:] == [QUESTION, SAID]


def test_it_is_refused_once_only_and_by_each_model_for_itself(alice, bob, upstream, known, settings):
    upstream.answer = strict(takes_first_only, *REFUSALS[0])
    talk = [INSTRUCTIONS, {"role": "user", "content": QUESTION}]
    for tenant in (alice, alice, bob):
        assert ask(tenant, talk).status_code == 200
    assert len(upstream.asked) == 4

    settings.MEMOS_LLM_MODEL = "other"
    upstream.answer = lambda _: whole(SAID)
    ask(alice, talk, model="other")
    assert [one["role"] for one in upstream.messages] == ["system", "system", "system", "user"]


def test_a_model_that_takes_no_system_is_told_in_the_last_message_of_the_user(alice, upstream, known):
    upstream.answer = strict(takes_none, 400, {"error": {"message": "System role not supported"}})
    image = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
    parts = [{"type": "text", "text": QUESTION}, image]
    assert ask(alice, [{"role": "user", "content": parts}]).status_code == 200

    (last,) = upstream.messages
    told, *rest = last["content"]
    assert rest == parts
    assert "I am allergic to nuts." in told["text"]
    assert f"Ann: {SAID}" in told["text"]


def test_a_refusal_of_the_callers_own_messages_is_passed_on(alice, upstream, known):
    upstream.answer = strict(takes_first_only, *REFUSALS[0])
    answer = ask(alice, [{"role": "user", "content": QUESTION}, INSTRUCTIONS])

    assert (answer.status_code, answer.json()) == REFUSALS[0]
    assert len(upstream.asked) == 3


def test_other_refusals_are_passed_on_at_once(alice, upstream, known):
    upstream.answer = strict(takes_none, 400, {"error": {"message": "The image cannot be read."}})
    assert ask(alice, [{"role": "user", "content": QUESTION}]).status_code == 400
    assert len(upstream.asked) == 1


def test_nothing_to_add_is_nothing_to_fold(alice, upstream):
    upstream.answer = strict(takes_first_only, *REFUSALS[0])
    talk = [{"role": "user", "content": "Good morning!"}, INSTRUCTIONS]
    assert ask(alice, talk).status_code == 400
    assert [asked["messages"] for asked in upstream.asked] == [talk]


@pytest.mark.parametrize(
    ("places", "roles", "status"),
    [
        ({"llamacpp": "system"}, ["system", "user"], 200),
        ({"llamacpp": "system", "llamacpp/small": "user"}, ["system", "user"], 200),
        ({"llamacpp/small": "apart"}, ["system", "system", "system", "user"], 400),
        ({"vllm": "user"}, ["system", "user"], 200),
    ],
)
def test_a_setting_says_where_by_provider_and_model(alice, upstream, known, settings, places, roles, status):
    settings.MEMOS_LLM_MEMORY_PLACE = places
    upstream.answer = strict(takes_first_only, *REFUSALS[0])
    assert ask(alice, [INSTRUCTIONS, {"role": "user", "content": QUESTION}]).status_code == status

    assert [one["role"] for one in upstream.messages] == roles
    assert len(upstream.asked) == (2 if "vllm" in places else 1)
    assert (INSTRUCTIONS in upstream.messages) == (places.get("llamacpp/small") in ("apart", "user"))


def test_parameters_are_given_up_in_either_place(alice, upstream, known):
    folded = strict(takes_first_only, *REFUSALS[0])
    unsupported = {"error": {"message": "Unsupported parameter: 'max_tokens'", "param": "max_tokens"}}
    upstream.answer = lambda body: (
        Reply([json.dumps(unsupported).encode()], status=400) if "max_tokens" in body else folded(body)
    )
    assert ask(alice, [{"role": "user", "content": QUESTION}], max_tokens=9).status_code == 200
    assert upstream.asked[-1]["max_completion_tokens"] == 9
