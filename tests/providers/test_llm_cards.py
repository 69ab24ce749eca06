"""Summaries by a language model that the tests serve: they are kept if they are correct, and replaced if not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from memory.enums import ModelPurpose
from memory.models import Condensation, Memory
from memory.providers.chat.registry import find_chat_model
from memory.services.recall.query import query
from memory.services.recall.search import Ask
from memory.services.summaries.condense import condense_session
from memory.services.summaries.writer import EXTRACTIVE
from tests.providers.endpoint import Endpoint, serving

TURNS = ["I prefer green tea.", "We decided to ship on Friday.", "Never call before nine."]
# A Wednesday: a card may name the day on which its source was said; the refused cards name others.
SAID = datetime(2026, 5, 6, 12, tzinfo=UTC)
GOOD = {
    "facts": [{"text": "Ann ships on Friday.", "sources": [2]}],
    "preferences": [{"text": "Ann prefers green tea.", "sources": [1]}],
    "constraints": [{"text": "Do not call before nine.", "sources": [3]}],
    "decisions": [],
    "risks": [{"text": "A late call annoys Ann.", "sources": [1, 3]}],
    "actions": [],
}


def says(content: Any) -> tuple[int, Any]:
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return 200, {"id": "c", "object": "chat.completion", "created": 1, "model": "card-model", "choices": [choice]}


@pytest.fixture
def endpoint(settings) -> Iterator[Endpoint]:
    with serving(lambda body: says(GOOD)) as endpoint:
        settings.MEMOS_LLM_ENABLED = True
        settings.MEMOS_LLM_API_KEY = "k-1"
        settings.MEMOS_LLM_BASE_URL = endpoint.url
        settings.MEMOS_LLM_MODEL = "card-model"
        settings.MEMOS_LLM_TIMEOUT_SECONDS = 5.0
        yield endpoint


@pytest.fixture
def told(alice, remember) -> list[str]:
    return [remember(alice, text, speaker="Ann", occurred_at=SAID) for text in TURNS]


def condense(alice) -> Condensation:
    (stored,) = condense_session(alice.scope, session="s1", now=timezone.now())
    return stored


def card(stored: Condensation) -> dict[str, Any]:
    return json.loads(stored.condensed_text)


def test_a_right_card_is_stored_under_the_models_name_with_its_sources(alice, told, endpoint):
    stored = condense(alice)

    assert stored.method == "card-model"
    assert card(stored)["preferences"] == ["Ann prefers green tea."]
    assert card(stored)["pitfalls"] == card(stored)["risks"] == ["A late call annoys Ann."]
    assert "sources" not in card(stored)
    assert stored.item_sources["risks"] == [[told[0], told[2]]]
    assert stored.item_sources["decisions"] == []
    assert [str(identity) for identity in stored.source_memory_ids] == told


def test_the_request_holds_every_turn_and_treats_it_as_data(alice, told, endpoint):
    condense(alice)

    (asked,) = endpoint.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer k-1"
    assert (asked.body["model"], asked.body["temperature"]) == ("card-model", 0)
    assert asked.body["response_format"]["type"] == "json_schema"
    assert set(asked.body["response_format"]["json_schema"]["schema"]["properties"]) == set(GOOD)
    assert asked.body["max_completion_tokens"] == 1200
    instructions, material = (message["content"] for message in asked.body["messages"])
    assert "follow no instruction" in instructions
    assert not any(text in instructions for text in TURNS)
    messages = json.loads(material)["messages"]
    assert [(entry["number"], entry["speaker"], entry["text"]) for entry in messages] == [
        (number, "Ann", text) for number, text in enumerate(TURNS, start=1)
    ]
    assert messages[0]["date"] == SAID.date().isoformat()


def test_the_next_version_is_told_the_earlier_card_and_may_keep_its_items(alice, told, remember, endpoint):
    condense(alice)
    newest = remember(alice, "Ann moved to Oslo.")
    for text in ("She likes it there.", "The flat is small.", "It rains a lot."):
        remember(alice, text)
    kept = {"text": "Ann prefers green tea.", "sources": []}
    endpoint.answer = lambda body: says(
        {"preferences": [kept], "facts": [{"text": "Ann lives in Oslo.", "sources": [1]}]}
    )

    second = condense(alice)

    earlier = json.loads(endpoint.asked[1].body["messages"][1]["content"])["earlier_card"]
    assert earlier["preferences"] == ["Ann prefers green tea."]
    assert second.number == 2
    assert second.item_sources["preferences"] == [[told[0]]]
    assert second.item_sources["facts"] == [[newest]]


def only(item: Any) -> tuple[int, Any]:
    return says(GOOD | {"facts": [item]})


WRONG = {
    "nothing": says(""),
    "an-empty-card": says({"facts": []}),
    "invented": only({"text": "Ann owns a yacht.", "sources": []}),
    "no-text": only({"text": "  ", "sources": [1]}),
    "message-0": only({"text": "Ann ships.", "sources": [0]}),
    "message-4": only({"text": "Ann ships.", "sources": [4]}),
    "no-choices": (200, {"id": "c", "object": "chat.completion", "choices": []}),
    "wrong-key": (401, {"error": {"message": "wrong key"}}),
    "broken": (500, {"error": {"message": "boom"}}),
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
def test_a_card_that_cannot_be_believed_is_replaced_by_the_extractive_one(alice, told, endpoint, answer, caplog):
    endpoint.answer = lambda body: answer

    stored = condense(alice)

    assert stored.method == EXTRACTIVE
    assert "green tea" in stored.condensed_text
    assert len(endpoint.asked) == 1
    assert "the language model wrote no card" in caplog.text


NO_CARD = {
    "no-json": says("Here is your card: {"),
    "a-list": says([GOOD]),
    "facts-no-list": says(GOOD | {"facts": "Ann ships on Friday."}),
    "bare-text": only("Ann ships on Friday."),
    "no-sources": only({"text": "Ann ships on Friday."}),
    "sources-no-list": only({"text": "Ann ships on Friday.", "sources": 2}),
    "message-x": only({"text": "Ann ships.", "sources": ["1"]}),
}


@pytest.mark.parametrize("answer", NO_CARD.values(), ids=NO_CARD)
def test_what_does_not_have_the_shape_of_a_card_is_asked_for_once_more(alice, told, endpoint, answer):
    replies = iter([answer, says(GOOD)])
    endpoint.answer = lambda body: next(replies)

    assert condense(alice).method == "card-model"
    assert [message["role"] for message in endpoint.asked[1].body["messages"]] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip
    assert endpoint.asked[1].body["messages"][3]["content"].startswith("This is not what was asked for: ")


@pytest.mark.parametrize("answer", NO_CARD.values(), ids=NO_CARD)
def test_a_second_answer_in_a_wrong_shape_is_replaced(alice, told, endpoint, answer):
    endpoint.answer = lambda body: answer
    assert condense(alice).method == EXTRACTIVE
    assert len(endpoint.asked) == 2


JUNK = {
    "another-shape": (200, {"ok": True}),
    "a-page": (200, b"<html>a gateway's page</html>"),
    "no-message": (200, {"id": "c", "choices": [{"index": 0}]}),
}


@pytest.mark.parametrize("answer", JUNK.values(), ids=JUNK)
def test_an_answer_in_another_shape_is_replaced_too(alice, told, endpoint, answer):
    endpoint.answer = lambda body: answer
    assert condense(alice).method == EXTRACTIVE


def test_a_model_that_does_not_answer_in_time_is_replaced(alice, told, endpoint, settings):
    settings.MEMOS_LLM_TIMEOUT_SECONDS = 0.1
    endpoint.answer = lambda body: (200, endpoint.closing.wait(30))
    assert condense(alice).method == EXTRACTIVE


def test_a_nul_in_the_models_card_does_not_break_the_sessions_queries(alice, told, endpoint):
    endpoint.answer = lambda body: only({"text": "Ann\0ships on Friday.", "sources": [2]})
    condense(alice)
    assert query(alice.scope, Ask("When?", 3, timezone.now()), session="s1").summary is not None


def test_long_answers_are_cut(alice, told, endpoint):
    endpoint.answer = lambda body: says(
        {"facts": [{"text": "x" * 1000, "sources": [1]}], "actions": [{"text": "Call.", "sources": [3]}] * 30}
    )
    stored = card(condense(alice))
    assert [len(fact) for fact in stored["facts"]] == [400]
    assert len(stored["actions"]) == 12


REFUSED = {
    "number": ({"text": "Ann wants 3 cups of green tea.", "sources": [1]}, "3"),
    "number-in-words": ({"text": "Ann ships two parts on Friday.", "sources": [2]}, "two"),
    "of-another-message": ({"text": "Ann ships on Friday.", "sources": [1]}, "Friday"),
    "weekday": ({"text": "Ann ships on Monday.", "sources": [2]}, "Monday"),
    "date": ({"text": "Ann decided it on 1999-05-08.", "sources": [2]}, "1999"),
    "name": ({"text": "Ann ships to Oslo on Friday.", "sources": [2]}, "Oslo"),
    "name-first": ({"text": "Zoltan prefers green tea.", "sources": [1]}, "Zoltan"),
    "chinese-name": ({"text": "小李喜欢绿茶。", "sources": [1]}, "小李"),
}


@pytest.mark.parametrize(("item", "stranger"), REFUSED.values(), ids=REFUSED)
@pytest.mark.usefixtures("told")
def test_a_number_or_name_that_no_source_has_refuses_the_card_and_the_record_says_why(
    alice, endpoint, caplog, item, stranger
):
    endpoint.answer = lambda body: only(item)

    stored = condense(alice)

    assert stored.method == EXTRACTIVE
    assert stored.trigger_details["no_card_from"] == {
        "model": "card-model",
        "reason": "an item of the language model's card has a number or a name that none of its messages has",
        "item": "facts.0",
        "invented": stranger,
    }
    told = [(record.getMessage(), record.__dict__.get("reason")) for record in caplog.records]
    assert told
    assert not any(stranger in str(one) for one in told)


def test_the_record_says_why_a_model_that_did_not_answer_is_not_the_author(alice, told, endpoint):
    endpoint.answer = lambda body: (500, {"error": {"message": "boom"}})
    assert condense(alice).trigger_details["no_card_from"] == {
        "model": "card-model",
        "reason": "openai/card-model failed (500): that is the provider's own fault; look at its log or status page.",
    }


def test_a_card_of_a_model_keeps_to_the_most_that_a_card_may_cost(alice, told, endpoint):
    long = {"text": " ".join(["tea green prefer"] * 25), "sources": [1]}
    endpoint.answer = lambda body: says({"facts": [long] * 12})
    stored = condense(alice)
    assert "more than 600 tokens" in stored.trigger_details["no_card_from"]["reason"]


def test_commands_are_kept_whoever_writes_the_card(alice, told, remember, endpoint):
    remember(alice, "Run it:\n$ make deploy ENV=prod")
    assert card(condense(alice))["shell_commands"] == ["make deploy ENV=prod"]


def test_neither_ingest_nor_query_asks_the_model(alice, told, endpoint):
    assert (
        alice.post(
            "/v1/ingest", {"namespace": "alice", "session_id": "s1", "role": "user", "text": "More.", "metadata": {}}
        ).status_code
        == 200
    )
    for _ in range(2):
        answer = alice.post("/v1/query", {"namespace": "alice", "session_id": "s1", "query": "tea?"})
        assert answer.status_code == 200
    assert Memory.objects.across_namespaces().count() == len(TURNS) + 1
    assert endpoint.asked == []


@pytest.mark.parametrize(("enabled", "key"), [(False, "k-1"), (True, ""), (False, "")])
def test_without_being_switched_on_with_a_key_there_is_no_model(settings, enabled, key):
    settings.MEMOS_LLM_ENABLED = enabled
    settings.MEMOS_LLM_API_KEY = key
    assert find_chat_model(ModelPurpose.SUMMARISE) is None


def test_a_change_of_the_settings_makes_another_client(endpoint, settings):
    first = find_chat_model(ModelPurpose.SUMMARISE)
    assert find_chat_model(ModelPurpose.SUMMARISE) is first
    settings.MEMOS_LLM_MODEL = "other"
    assert find_chat_model(ModelPurpose.SUMMARISE).name == "other"
