"""A completion is read in parts, whole or streamed, with one call after another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory.text.completion_parts import CallPiece, CompletionReader, Part, Text


def event(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> bytes:
    return (
        b"data: %s\n\n"
        % json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **fields}).encode()
    )


def call(index: int | None, arguments: str, name: str = "", identity: str = "") -> dict[str, Any]:
    number = {} if index is None else {"index": index}
    named = {"id": identity} if identity else {}
    return {"tool_calls": [{**number, **named, "function": {"name": name, "arguments": arguments}}]}


def read(*events: bytes) -> tuple[list[Part], CompletionReader]:
    reader = CompletionReader()
    return list(reader.read_events(events)), reader


def test_text_and_thinking_are_told_apart():
    parts, reader = read(
        b": a comment\n\n",
        event({"role": "assistant", "content": ""}),
        event({"reasoning": "Hm."}),
        event({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "So."}]}]}),
        event({"content": "Lyon."}, "stop"),
        b'data: {"choices": [{"index": 1, "delta": {"content": "Nice."}}]}\n\n',
        b'data: {"choices": [], "usage": {"prompt_tokens": 3}}\n\n',
        b'data: {"choices": [], "memos": {"namespace": "n"}}\n\n',
        b"data: [DONE]\n\n",
    )

    assert parts == [Text("Hm.", is_thinking=True), Text("So.", is_thinking=True), Text("Lyon.")]
    assert (reader.finish, reader.usage, reader.memos) == ("stop", {"prompt_tokens": 3}, {"namespace": "n"})
    assert (reader.written, reader.has_calls, reader.is_cut_off) == (["Hm.", "So.", "Lyon."], False, False)


def test_calls_whose_pieces_come_by_turns_are_put_in_order():
    parts, reader = read(
        event(call(0, "", "find", "a")),
        event(call(1, "", "look", "b")),
        event(call(0, '{"x"')),
        event({"content": "Wait."}),
        event(call(1, "{}")),
        event(call(0, ": 1}")),
        event({}, "tool_calls"),
    )

    assert [part for part in parts if isinstance(part, CallPiece) and part.index == 0] == parts[:3]
    assert "".join(part.arguments for part in parts[:3] if isinstance(part, CallPiece)) == '{"x": 1}'
    assert parts[3:] == [CallPiece(1, "b", "look", ""), CallPiece(1, "b", "look", "{}"), Text("Wait.")]
    assert reader.has_calls


def test_calls_without_numbers_and_ids_are_calls_each():
    parts, _ = read(event(call(None, "{}", "find")), event(call(None, "{}", "find")))

    first, second = parts
    assert isinstance(first, CallPiece)
    assert isinstance(second, CallPiece)
    assert (first.index, second.index) == (0, 1)
    assert first.call_id != second.call_id
    assert first.call_id.startswith("call_")


@pytest.mark.parametrize("odd", [{}, {"choices": None}, {"choices": [5]}, {"choices": [{"message": None}]}])
def test_a_whole_answer_that_says_nothing_has_no_parts(odd):
    assert list(CompletionReader().read_whole(odd)) == []


def test_a_whole_answer_has_all_of_it():
    message = {"content": "Lyon.", "reasoning_content": "Hm.", "refusal": None, **call(0, "{}", "find", "a")}
    reader = CompletionReader()
    parts = list(reader.read_whole({"choices": [{"message": message, "finish_reason": "length"}]}))

    assert parts == [Text("Hm.", is_thinking=True), Text("Lyon."), CallPiece(0, "a", "find", "{}")]
    assert reader.is_cut_off
