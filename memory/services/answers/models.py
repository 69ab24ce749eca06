"""Chooses the chat model that answers: the usual one of a namespace, or one that a caller names."""

from __future__ import annotations

from django.conf import settings

from memory.enums import AnswerMode, ModelPurpose
from memory.errors import InvalidInput
from memory.providers.chat.model import ChatModel
from memory.providers.chat.registry import adapter_problem, choice_problem, find_chat_model, is_model_name, list_chats
from memory.services.tenancy.policy import in_force


def usual_model(namespace_id: int | None = None) -> ChatModel | None:
    """Return the model for requests that name none: that of the namespace's policy, else that of the settings."""
    own = in_force(namespace_id).policy.models[ModelPurpose.ANSWER] if namespace_id is not None else ""
    return find_chat_model(ModelPurpose.ANSWER, own)


def choose_model(name: str | None, namespace_id: int | None = None) -> ChatModel | None:
    """Return the model called `name`, the usual one for None; None for `extractive`, or if no model is configured.

    Raises InvalidInput, which lists the available models.
    """
    if name is None:
        return usual_model(namespace_id)
    if name == AnswerMode.EXTRACTIVE:
        return None
    if model := find_model(name, namespace_id):
        return model
    there = ", ".join([AnswerMode.EXTRACTIVE.value, *list_models(namespace_id)])
    raise InvalidInput(
        f"model: {name!r} is not configured. There is: {there}. Leave it out for the usual one.",
        detail=[{"field": "model", "problem": f"is none of: {there}."}],
    )


def find_model(name: str, namespace_id: int | None = None) -> ChatModel | None:
    """Return the model called `name`, which is `provider/model` or a configured model's own name.

    Returns None for a model that a caller may not name: it is neither the namespace's, nor one of the settings', nor
    allowed by MEMOS_LLM_ALLOWED_MODELS. A name in MEMOS_LLM_MODEL_NAMES stands for another model.
    """
    if name in settings.MEMOS_LLM_MODEL_NAMES:
        return find_chat_model(ModelPurpose.ANSWER, _read_target(name))
    usual = usual_model(namespace_id)
    models = {**({usual.label: usual} if usual else {}), **list_chats()}
    named = models.get(name) or next((model for model in models.values() if model.name == name), None)
    if named is None and _is_allowed(name, namespace_id):
        return find_chat_model(ModelPurpose.ANSWER, name)
    return named


def list_models(namespace_id: int | None = None) -> list[str]:
    """Return the names that `find_model` accepts, `provider/model`, the usual one first."""
    usual = usual_model(namespace_id)
    allowed = [name for name in settings.MEMOS_LLM_ALLOWED_MODELS if _is_allowed(name, namespace_id)]
    return list(dict.fromkeys([*([usual.label] if usual else []), *list_chats(), *allowed, *_list_names()]))


def _list_names() -> list[str]:
    """Return the names in MEMOS_LLM_MODEL_NAMES whose models are available."""
    return [name for name in settings.MEMOS_LLM_MODEL_NAMES if find_chat_model(ModelPurpose.ANSWER, _read_target(name))]


def _read_target(name: str) -> str:
    """Return the model that the name stands for, as `provider/model`."""
    target: str = settings.MEMOS_LLM_MODEL_NAMES[name]
    return target if is_model_name(target) else f"{settings.MEMOS_LLM_PROVIDER}/{target}"


def _is_allowed(name: str, namespace_id: int | None) -> bool:
    """Return whether the settings allow the model, or all models of its provider. An empty list allows none."""
    provider, _, own = name.partition("/")
    named = {name, f"{provider}/*"} & set(settings.MEMOS_LLM_ALLOWED_MODELS)
    if not named or own in {"", "*"}:
        return False
    return choice_problem(name) is None and adapter_problem(name, namespace_id) is None
