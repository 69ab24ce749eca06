"""The chat model that the settings name, behind an OpenAI-compatible endpoint: one client for all who ask it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings
from django.core.signals import setting_changed

from memory.errors import LLMUnavailable


class ChatModel:
    """Asks one chat model, with no retries: `timeout` is the most seconds that an answer may take."""

    def __init__(self, *, name: str, base_url: str, api_key: str, timeout: float) -> None:
        # The client takes half a second to import: only those who use it wait for it.
        import openai  # noqa: PLC0415

        self.name = name
        self._errors = openai.OpenAIError
        self._client = openai.OpenAI(api_key=api_key, base_url=base_url or None, timeout=timeout, max_retries=0)

    def ask(self, instructions: str, material: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that the model answers to the `material`, which is sent as JSON.

        Raises LLMUnavailable when it does not answer, or answers anything else.
        """
        try:
            answer = self._client.chat.completions.create(
                model=self.name,
                temperature=0,
                response_format={"type": "json_object"},
                messages=[
                    {"role": "system", "content": instructions},
                    {"role": "user", "content": orjson.dumps(material).decode()},
                ],
            )
            content = answer.choices[0].message.content or ""
        except (self._errors, IndexError, TypeError, AttributeError, ValueError) as error:
            raise LLMUnavailable(f"{self.name} did not answer: {type(error).__name__}") from error
        try:
            said = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise LLMUnavailable(f"{self.name} answered no JSON") from error
        if not isinstance(said, dict):
            raise LLMUnavailable(f"{self.name} answered no JSON object")
        return said


def configured_chat(*, timeout: float | None = None) -> ChatModel | None:
    """The chat model that the settings name; None unless MEMOS_LLM_ENABLED is on and there is a key.

    `timeout` in seconds, in place of MEMOS_LLM_TIMEOUT_SECONDS.
    """
    if not (settings.MEMOS_LLM_ENABLED and settings.MEMOS_LLM_API_KEY):
        return None
    return _chat(
        settings.MEMOS_LLM_MODEL,
        settings.MEMOS_LLM_BASE_URL,
        settings.MEMOS_LLM_API_KEY,
        settings.MEMOS_LLM_TIMEOUT_SECONDS if timeout is None else timeout,
    )


@lru_cache(maxsize=4)
def _chat(name: str, base_url: str, api_key: str, timeout: float) -> ChatModel:
    return ChatModel(name=name, base_url=base_url, api_key=api_key, timeout=timeout)


def _forget_chat(*, setting: str, **_: object) -> None:
    if setting.startswith("MEMOS_LLM"):
        _chat.cache_clear()


setting_changed.connect(_forget_chat, dispatch_uid="memory.providers.chat")
