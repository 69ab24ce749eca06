"""Checks the chat models that the settings name, by asking each for one word as JSON with a schema."""

from __future__ import annotations

import time
from collections.abc import Iterator

from django.conf import settings

from memory.enums import CHAT_PURPOSES, ModelPurpose
from memory.errors import LLMRefused, LLMUnavailable
from memory.providers.chat.model import ChatModel
from memory.providers.chat.registry import find_chat_model, missing_setting, resolve_model
from memory.services.diagnosis.finding import FAIL, OK, WARN, Finding

NAME = "language model"
# The limit includes what a reasoning model thinks before it answers.
_MAX_TOKENS = 500
_WORD = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": ["ready"]}},
    "required": ["word"],
    "additionalProperties": False,
}
_QUESTION = 'Answer the JSON object {"word": "ready"}.'


def language_models() -> Iterator[Finding]:
    """Yield a finding for each model that the settings name. With MEMOS_LLM_ENABLED off, no model is called."""
    if not settings.MEMOS_LLM_ENABLED:
        yield Finding(OK, NAME, "off: answers and summaries are extractive")
        return
    purposes: dict[tuple[str, str], list[ModelPurpose]] = {}
    for purpose in CHAT_PURPOSES:
        purposes.setdefault(resolve_model(purpose), []).append(purpose)
    for (provider, name), served in purposes.items():
        label = f"{provider}/{name} ({', '.join(served)})"
        chat = find_chat_model(served[0])
        if chat is None:
            missing = missing_setting(provider)
            yield Finding(WARN, NAME, f"{label} is not asked: {missing} is not set", f"set {missing}")
        else:
            yield _try_model(chat, label)


def _try_model(chat: ChatModel, label: str) -> Finding:
    started = time.perf_counter()
    try:
        chat.complete_json([{"role": "user", "content": _QUESTION}], schema=_WORD, max_tokens=_MAX_TOKENS)
    except LLMRefused as error:
        fix = "choose a model that follows a JSON schema, in the setting of the purpose or MEMOS_LLM_MODEL"
        return Finding(WARN, NAME, f"{label}: {error.message}", fix)
    except LLMUnavailable as error:
        return Finding(FAIL, NAME, f"{label}: {error.message}", "repair what it names, or unset MEMOS_LLM_ENABLED")
    spent = (time.perf_counter() - started) * 1000
    return Finding(OK, NAME, f"{label}, JSON {chat.json_form} in {spent:.0f} ms")
