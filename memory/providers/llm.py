"""The language model that the settings name, if any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from django.conf import settings
from django.core.signals import setting_changed

from memory.text.statements import Turn


class CardWriter(Protocol):
    """Writes a session's memory card."""

    name: str

    def write_card(self, turns: Sequence[Turn], *, previous: Mapping[str, Any] | None) -> dict[str, Any]:
        """A card of the turns merged with the earlier one. Raises LLMUnavailable."""
        ...


def configured_llm() -> CardWriter | None:
    """The language model that the settings name; None unless it is switched on and has a key."""
    if not (settings.MEMOS_LLM_ENABLED and settings.MEMOS_LLM_API_KEY):
        return None
    return _writer(
        settings.MEMOS_LLM_MODEL,
        settings.MEMOS_LLM_BASE_URL,
        settings.MEMOS_LLM_API_KEY,
        settings.MEMOS_LLM_TIMEOUT_SECONDS,
    )


@lru_cache(maxsize=1)
def _writer(name: str, base_url: str, api_key: str, timeout: float) -> CardWriter:
    # The client takes half a second to import: only those who use it wait for it.
    from memory.providers.llm_cards import LLMCardWriter  # noqa: PLC0415

    return LLMCardWriter(name=name, base_url=base_url, api_key=api_key, timeout=timeout)


def _forget_writer(*, setting: str, **_: object) -> None:
    if setting.startswith("MEMOS_LLM"):
        _writer.cache_clear()


setting_changed.connect(_forget_writer, dispatch_uid="memory.providers.llm")
