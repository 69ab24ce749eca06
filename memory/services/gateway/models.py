"""Finds the chat model for a request of OpenAI's API."""

from __future__ import annotations

from memory.enums import ErrorCode, ModelPurpose
from memory.errors import LLMUnavailable, NotFound
from memory.providers.chat.model import ChatModel
from memory.providers.chat.registry import missing_setting, resolve_model
from memory.services.answers.models import find_model, list_models

# A client that sends this leaves the choice to the server.
USUAL = "default"


class ModelUnknown(NotFound):
    """No chat model of that name is configured."""

    code = ErrorCode.MODEL_NOT_FOUND.value


class ModelNotConfigured(LLMUnavailable):
    """There is no chat model at all. Clients repeat a 503 by themselves, which would not help, so the status is 404."""

    status = 404
    code = ErrorCode.MODEL_NOT_CONFIGURED.value


def choose_model(name: str, namespace_id: int | None = None) -> ChatModel:
    """Return the model called `name`; "" or USUAL means the usual one.

    Raises ModelUnknown, which lists the available models, and ModelNotConfigured if there is none.
    """
    there = list_models(namespace_id)
    if not there:
        provider, _ = resolve_model(ModelPurpose.ANSWER)
        raise ModelNotConfigured(
            f"No language model is configured: {missing_setting(provider)} is missing. Set MEMOS_LLM_ENABLED=1, "
            "MEMOS_LLM_PROVIDER, MEMOS_LLM_MODEL and the provider's key (`hf`: MEMOS_HF_PYTHON), and restart."
        )
    chosen = find_model(there[0] if name in ("", USUAL) else name, namespace_id)
    if chosen:
        return chosen
    raise ModelUnknown(
        f"The model {name!r} is not configured here. There is: {', '.join(there)}; {USUAL!r} is the first.",
        detail={"field": "model"},
    )
