"""A real model behind llama.cpp's server: whole answers, streams, JSON by a schema, cached prompts, cancelled calls."""

from __future__ import annotations

import json
import time
import urllib.request
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest

from memory.enums import ModelPurpose
from memory.errors import LLMContextTooLong
from memory.providers import llm_cards
from memory.providers.chat.model import ChatModel
from memory.providers.chat.registry import find_chat_model
from memory.services.diagnosis import language
from memory.text.statements import Turn
from tests.providers.llama import Llama

QUESTION = [
    {"role": "system", "content": "You answer in one short sentence."},
    {"role": "user", "content": "Name a colour of the sky, of grass, of snow and of coal, please."},
]


@pytest.fixture
def chat(llama: Llama, settings) -> ChatModel:
    llama.serve(settings)
    chat = find_chat_model(ModelPurpose.ANSWER)
    assert chat is not None
    return chat


def test_a_whole_answer_and_what_of_a_second_question_was_cached(chat):
    first = chat.complete(QUESTION, max_tokens=8)
    second = chat.complete(QUESTION, max_tokens=8)

    assert first.text
    assert first.finish in {"stop", "length"}
    assert first.usage.prompt is not None
    assert first.usage.prompt > 30
    assert 0 < (first.usage.completion or 0) <= 8
    assert (second.usage.cached or 0) > first.usage.prompt / 2


def test_a_stream_is_the_same_answer_piece_by_piece(chat):
    with chat.stream(QUESTION, max_tokens=8) as stream:
        pieces = list(stream)

    assert len(pieces) > 1
    assert "".join(pieces) == chat.complete(QUESTION, max_tokens=8).text
    assert stream.finish in {"stop", "length"}
    assert stream.ttft_ms is not None
    assert (stream.usage.completion or 0) > 1


def test_json_follows_the_schema(chat):
    schema = {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["blue", "green"]}, "sure": {"type": "boolean"}},
        "required": ["colour", "sure"],
        "additionalProperties": False,
    }
    said = chat.complete_json(QUESTION, schema=schema, max_tokens=40).value
    assert set(said) == {"colour", "sure"}
    assert said["colour"] in {"blue", "green"}


def slots(llama: Llama) -> list[dict[str, Any]]:
    with urllib.request.urlopen(llama.url.removesuffix("/v1") + "/slots", timeout=60) as answer:
        found: list[dict[str, Any]] = json.load(answer)
        return found


def test_a_reader_that_leaves_frees_the_only_slot(chat, llama):
    endless = [{"role": "user", "content": "Count from one to a thousand, in words."}]
    with chat.stream(endless, max_tokens=1_500) as stream:
        next(iter(stream))
        assert [slot["is_processing"] for slot in slots(llama)] == [True]

    until = time.monotonic() + 60
    while any(slot["is_processing"] for slot in slots(llama)) and time.monotonic() < until:
        time.sleep(0.05)
    # The server answers another request long before the 1,500 tokens could have been generated.
    assert not any(slot["is_processing"] for slot in slots(llama))


def test_more_than_the_model_takes_is_told_as_such(chat):
    with pytest.raises(LLMContextTooLong, match="takes fewer tokens than the about"):
        chat.complete([{"role": "user", "content": "snow " * 3_000}], max_tokens=8)


@pytest.mark.usefixtures("chat")
def test_the_doctor_finds_that_it_takes_a_schema():
    [found] = language.language_models()
    assert (found.status, found.fix) == ("ok", "")
    assert found.what.startswith("llamacpp/smollm2 (answer, summarise, extract, judge), JSON by a schema in ")


def test_a_card_has_the_shape_of_a_card(chat):
    """Check only the form: the small model's summary is worthless, but the schema makes it a card."""
    turns = [Turn("a", "I prefer green tea.", "user", "Ann", datetime(2026, 5, 6, 12, tzinfo=UTC))]
    said = chat.ask(
        llm_cards.INSTRUCTIONS,
        llm_cards.material_of(turns, None),
        schema=llm_cards.ANSWER_SCHEMA,
        max_tokens=llm_cards.MAX_ANSWER_TOKENS,
    )
    jsonschema.validate(said, llm_cards.ANSWER_SCHEMA)
