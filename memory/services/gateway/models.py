"""Which chat models a caller may name."""

from __future__ import annotations

from django.conf import settings

from memory.enums import ModelPurpose
from memory.errors import LLMUnavailable, NotFound
from memory.providers.chat.model import ChatModel
from memory.providers.chat.registry import choice_problem, configured_chat, list_chats
from memory.services.tenancy.policy import in_force
from memory.types import Scope

# What a client sends that leaves the choice to the server.
USUAL = "default"


class ModelUnknown(NotFound):
    """No chat model of that name is configured."""

    code = "model_not_found"


class ModelNotConfigured(LLMUnavailable):
    """There is no chat model at all. Clients try a 503 again by themselves, which would not help."""

    status = 404
    code = "model_not_configured"


def list_models() -> list[str]:
    """The names of the chat models that may be asked for, `provider/model`, the usual one first: those that settings
    name for a purpose, then the others that MEMOS_LLM_ALLOWED_MODELS names."""
    allowed = [name for name in settings.MEMOS_LLM_ALLOWED_MODELS if _is_allowed(name)]
    return list(dict.fromkeys([*list_chats(), *allowed]))


def _is_allowed(name: str) -> bool:
    """Whether the server names the model, or all of its provider, as allowed. An empty list allows nobody a choice."""
    provider, _, own = name.partition("/")
    named = {name, f"{provider}/*"} & set(settings.MEMOS_LLM_ALLOWED_MODELS)
    return bool(named) and own not in ("", "*") and choice_problem(name) is None


def choose_model(name: str, scope: Scope | None = None) -> ChatModel:
    """The model called `name`: `provider/model`, or a configured model's own name; "" or USUAL for the usual one.

    The usual one of a `scope` is that of its namespace's policy, if it has one. Raises ModelUnknown, which lists those
    that there are, and ModelNotConfigured where there is none.
    """
    own = in_force(scope.namespace_id).policy.models[ModelPurpose.ANSWER] if scope else ""
    chosen_there = configured_chat(ModelPurpose.ANSWER, own) if own else None
    models = {**({chosen_there.label: chosen_there} if chosen_there else {}), **list_chats()}
    if not models:
        raise ModelNotConfigured(
            "No language model is configured: set MEMOS_LLM_ENABLED=1, MEMOS_LLM_PROVIDER, MEMOS_LLM_MODEL and the "
            "provider's key, and restart."
        )
    if name in ("", USUAL):
        return next(iter(models.values()))
    chosen = models.get(name) or next((model for model in models.values() if model.name == name), None)
    if chosen is None and _is_allowed(name):
        chosen = configured_chat(ModelPurpose.ANSWER, name)
    if chosen is None:
        there = ", ".join(dict.fromkeys([*models, *list_models()]))
        raise ModelUnknown(
            f"The model {name!r} is not configured here. There is: {there}; {USUAL!r} is the first.",
            detail={"field": "model"},
        )
    return chosen
