"""Finds the chat model for a purpose: that of the namespace, of the purpose's setting, or the general one."""

from __future__ import annotations

import re
from functools import lru_cache

from django.conf import settings

from memory.enums import CHAT_PURPOSES, ModelPurpose
from memory.providers.chat.faults import Endpoint
from memory.providers.chat.model import ChatModel
from memory.providers.chat.presets import PRESETS
from memory.text.translatable import Sentence
from memory.text.translatable import gettext_noop as _

# The name under which model servers know an adapter (`Adapter.served_name`), which has learnt a namespace's memories.
_ADAPTER = re.compile(r"memos-(?P<namespace>\d+)-")


def find_chat_model(purpose: ModelPurpose, model: str = "", *, timeout: float | None = None) -> ChatModel | None:
    """Return the chat model for the purpose: `model` (`provider/model`), or if "" that of the settings.

    Return None if MEMOS_LLM_ENABLED is off, or the provider is unknown or lacks its key. `timeout` (seconds) replaces
    MEMOS_LLM_TIMEOUT_SECONDS.
    """
    provider, name = resolve_model(purpose, model)
    if missing_setting(provider):
        return None
    return _chat_model(
        purpose,
        provider,
        name,
        base_url_of(provider),
        _key_of(provider),
        settings.MEMOS_LLM_TIMEOUT_SECONDS if timeout is None else timeout,
    )


def list_chats() -> dict[str, ChatModel]:
    """Return the chat models of the settings by `provider/model`; that for answers comes first."""
    models: dict[str, ChatModel] = {}
    for purpose in CHAT_PURPOSES:
        if model := find_chat_model(purpose):
            models.setdefault(model.label, model)
    return models


def resolve_model(purpose: ModelPurpose, model: str = "") -> tuple[str, str]:
    """Return provider and model for the purpose."""
    provider, _, name = (model or str(settings.MEMOS_POLICY[f"models.{purpose}"])).partition("/")
    return (provider, name) if name else (settings.MEMOS_LLM_PROVIDER, settings.MEMOS_LLM_MODEL)


def is_model_name(text: str) -> bool:
    """Tell whether `text` has the form `provider/model` with a known provider."""
    provider, _, name = text.partition("/")
    return provider in PRESETS and bool(name.strip())


def missing_setting(provider: str) -> str:
    """Return the setting that prevents calls of the provider's models while it isn't set, or ""."""
    if not settings.MEMOS_LLM_ENABLED:
        return "MEMOS_LLM_ENABLED"
    if provider not in PRESETS:
        return "MEMOS_LLM_PROVIDER"
    preset = PRESETS[provider]
    if preset.key_setting and not _key_of(provider):
        return preset.key_setting
    return "" if base_url_of(provider) else preset.start_setting


def adapter_problem(model: str, namespace_id: int | None) -> str | None:
    """Return why the namespace (None if unknown) may not choose `model`, in the form of `choice_problem`.

    An adapter is only for the namespace whose memories it has learnt.
    """
    learnt = _ADAPTER.match(model.partition("/")[2])
    if learnt is None or int(learnt["namespace"]) == namespace_id:
        return None
    return Sentence(_("is an adapter, and not one of this namespace: choose one of its own, or another model."))


def choice_problem(model: str) -> str | None:
    """Return why a namespace may not choose `model` (`provider/model`), as a predicate; None if it may."""
    provider = model.partition("/")[0]
    if provider not in PRESETS:
        return Sentence(
            _("names a provider that there is not: choose one of %(providers)s."), providers=", ".join(PRESETS)
        )
    preset = PRESETS[provider]
    if preset.key_setting and not _key_of(provider):
        return Sentence(_("needs %(setting)s on the server: choose another provider."), setting=preset.key_setting)
    if not preset.key_setting and not _is_set_up(provider):
        needed = preset.start_setting or preset.url_setting
        return Sentence(_("needs %(setting)s on the server: choose another provider."), setting=needed)
    allowed = settings.MEMOS_LLM_ALLOWED_MODELS or (preset.start_setting and [*list_chats()])
    if allowed and not {model, f"{provider}/*"} & set(allowed):
        return Sentence(_("is not allowed on this server: choose one of %(models)s."), models=", ".join(allowed))
    return None


def _is_set_up(provider: str) -> bool:
    """Tell whether the settings mention a provider that needs no key."""
    named = {settings.MEMOS_LLM_PROVIDER, *(resolve_model(purpose)[0] for purpose in CHAT_PURPOSES)}
    return provider in named or bool(getattr(settings, PRESETS[provider].url_setting))


def base_url_of(provider: str) -> str:
    """Return the provider's address: MEMOS_LLM_BASE_URL for MEMOS_LLM_PROVIDER, its own setting, or its default."""
    preset = PRESETS[provider]
    chosen = settings.MEMOS_LLM_BASE_URL if provider == settings.MEMOS_LLM_PROVIDER else ""
    own = getattr(settings, preset.url_setting) if preset.url_setting else ""
    return str(chosen or own or preset.base_url)


def _url_setting(provider: str) -> str:
    own = PRESETS[provider].url_setting
    if provider == settings.MEMOS_LLM_PROVIDER and (settings.MEMOS_LLM_BASE_URL or not own):
        return "MEMOS_LLM_BASE_URL"
    return own or "MEMOS_LLM_PROVIDER"


def _key_of(provider: str) -> str:
    setting = PRESETS[provider].key_setting
    return getattr(settings, setting) if setting else ""


@lru_cache(maxsize=64)
def _chat_model(  # noqa: PLR0917 - lru_cache reads best by place
    purpose: ModelPurpose, provider: str, name: str, base_url: str, api_key: str, timeout: float
) -> ChatModel:
    preset = PRESETS[provider]
    endpoint = Endpoint(provider, name, base_url, preset.key_setting, _url_setting(provider))
    return ChatModel(name=name, preset=preset, purpose=purpose, endpoint=endpoint, api_key=api_key, timeout=timeout)
