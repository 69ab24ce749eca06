"""Which chat model answers a question, if one does."""

from __future__ import annotations

from memory.enums import AnswerMode, ModelPurpose
from memory.errors import InvalidInput
from memory.providers.chat.model import ChatModel
from memory.providers.chat.registry import configured_chat

# Those that write texts for people; the first is the usual one.
_PURPOSES = (ModelPurpose.ANSWER, ModelPurpose.SUMMARISE, ModelPurpose.EXTRACT, ModelPurpose.JUDGE)


def choose_model(name: str | None) -> ChatModel | None:
    """The model called `name` (`provider/model`), or the one for answers; None for `extractive`, or where none is
    configured. Raises InvalidInput, which lists those that are."""
    if name is None:
        return configured_chat(ModelPurpose.ANSWER)
    if name == AnswerMode.EXTRACTIVE:
        return None
    models = {f"{model.provider}/{model.name}": model for model in map(configured_chat, _PURPOSES) if model}
    if name not in models:
        there = ", ".join([AnswerMode.EXTRACTIVE.value, *sorted(models)])
        raise InvalidInput(
            f"model: {name!r} is not configured. There is: {there}. Leave it out for the usual one.",
            detail=[{"field": "model", "problem": f"is none of: {there}."}],
        )
    return models[name]
