"""Which chat model serves a purpose: that of the setting for it, or the one that serves all."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.core.signals import setting_changed

from memory.enums import ModelPurpose
from memory.providers.chat.model import ChatModel
from memory.providers.chat.presets import PRESETS


def configured_chat(purpose: ModelPurpose, *, timeout: float | None = None) -> ChatModel | None:
    """The chat model that the settings name for the purpose; None unless MEMOS_LLM_ENABLED is on and it has its key.

    `timeout` in seconds, in place of MEMOS_LLM_TIMEOUT_SECONDS.
    """
    if not settings.MEMOS_LLM_ENABLED:
        return None
    provider, name = _choice(purpose)
    preset = PRESETS[provider]
    api_key = getattr(settings, preset.key_setting) if preset.key_setting else ""
    if preset.key_setting and not api_key:
        return None
    base_url = settings.MEMOS_LLM_BASE_URL if provider == settings.MEMOS_LLM_PROVIDER else ""
    return _chat_model(
        purpose,
        provider,
        name,
        base_url or preset.base_url,
        api_key,
        settings.MEMOS_LLM_TIMEOUT_SECONDS if timeout is None else timeout,
    )


def _choice(purpose: ModelPurpose) -> tuple[str, str]:
    """Provider and model, which the setting of the purpose writes as `provider/model`."""
    provider, _, name = settings.MEMOS_LLM_MODELS.get(purpose, "").partition("/")
    return (provider, name) if name else (settings.MEMOS_LLM_PROVIDER, settings.MEMOS_LLM_MODEL)


@lru_cache(maxsize=32)
def _chat_model(  # noqa: PLR0917 - lru_cache reads best by place
    purpose: ModelPurpose, provider: str, name: str, base_url: str, api_key: str, timeout: float
) -> ChatModel:
    return ChatModel(
        name=name, preset=PRESETS[provider], purpose=purpose, base_url=base_url, api_key=api_key, timeout=timeout
    )


def _forget_models(*, setting: str, **_: object) -> None:
    if setting.startswith("MEMOS_LLM"):
        _chat_model.cache_clear()


setting_changed.connect(_forget_models, dispatch_uid="memory.providers.chat.registry")
