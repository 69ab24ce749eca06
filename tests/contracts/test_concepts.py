"""The page of concepts is right: its requests are sent in order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "concepts.md").read_text(encoding="utf-8")
REQUESTS = [
    (path, json.loads(body))
    for path, body in re.findall(r"^```http\nPOST (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
]


@pytest.fixture
def answers(make_tenant: Any) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    everyone = make_tenant("any", all_namespaces=True)
    found = []
    for path, body in REQUESTS:
        answer = everyone.post(path, body)
        assert answer.status_code == 200, (body, answer.content)
        found.append((path, body, answer.json()))
    return found


def test_every_request_is_answered_and_every_question_finds_something(answers):
    assert len(answers) == len(REQUESTS) > 8
    for path, body, answer in answers:
        if path == "/v1/ingest":
            assert answer["accepted"], body
        else:
            assert answer["raw_chunks"], body
            assert answer["degraded"] == []


def test_filters_leave_out_what_the_page_says(answers):
    narrowed = [(body, answer) for _, body, answer in answers if "filter" in body]
    assert len(narrowed) == 2
    for body, answer in narrowed:
        ((name, value),) = body["filter"].items()
        assert {chunk["metadata"][name] for chunk in answer["raw_chunks"]} == {value}


def test_what_is_skipped_is_said(answers):
    (chat,) = [answer for _, body, answer in answers if "messages" in body]
    assert [entry["field"] for entry in chat["skipped"]] == ["messages[1]"]
    assert len(chat["memory_ids"]) == 3
