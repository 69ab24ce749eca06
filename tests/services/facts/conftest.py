"""A namespace whose policy extracts facts, and a model that gives a test's answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from memory.services.facts.extract import Extracted, extract_session
from memory.services.tenancy.policy import put_policy
from tests.providers.endpoint import Endpoint, serving


def says(facts: Any) -> tuple[int, Any]:
    text = facts if isinstance(facts, str) else json.dumps({"facts": facts})
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return 200, {"id": "c", "object": "chat.completion", "created": 1, "model": "fact-model", "choices": [choice]}


@pytest.fixture
def endpoint(settings) -> Iterator[Endpoint]:
    with serving(lambda body: says([])) as endpoint:
        settings.MEMOS_LLM_ENABLED = True
        settings.MEMOS_LLM_API_KEY = "k-1"
        settings.MEMOS_LLM_BASE_URL = endpoint.url
        settings.MEMOS_LLM_MODEL = "fact-model"
        settings.MEMOS_LLM_TIMEOUT_SECONDS = 5.0
        yield endpoint


@pytest.fixture
def wanted(alice) -> None:
    """Let Alice's policy extract facts."""
    put_policy(alice.scope, wanted={"extract": "facts"}, now=timezone.now())


@pytest.fixture
def extract(alice, endpoint) -> Callable[..., Extracted]:
    """Return a function that makes the model answer with these facts, and extracts from new turns of the session."""

    def run(*facts: dict[str, Any], session: str = "s1") -> Extracted:
        endpoint.answer = lambda body: says(list(facts))
        return extract_session(alice.scope, session=session, now=timezone.now())

    return run
