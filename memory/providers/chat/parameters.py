"""Repeats a request in the form that its model accepts, when the provider refuses one of its parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import openai

Answer = TypeVar("Answer")

# A refused parameter is replaced by the other one, or left out so that the model's default applies.
_REPLACEMENTS: Final[dict[str, str | None]] = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
    "temperature": None,
    "top_p": None,
    "presence_penalty": None,
    "frequency_penalty": None,
    "top_k": None,
    "reasoning_effort": None,
    "verbosity": None,
    "parallel_tool_calls": None,
    "stream_options": None,
}
_REFUSES = re.compile(
    r"(un|not )supported|n[o'’]t support|un(recognized|recognised|known|expected)|extra|forbidden"
    r"|not (permitted|allowed)|deprecated|incompatible|instead|cannot both|\bonly\b",
    re.IGNORECASE,
)
_MAX_WORDS_READ = 4_000


def ask_as_wanted(ask: Callable[[dict[str, Any]], Answer], request: Mapping[str, Any]) -> Answer:
    """Return the result of `ask` for the request, after replacing or leaving out parameters that are refused.

    Each parameter is given up once; if it is refused again, that is raised.
    """
    import openai  # noqa: PLC0415 - takes half a second to import

    sent, refused = dict(request), set[str]()
    while True:
        try:
            return ask(sent)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as refusal:
            name = _find_refused(sent, refusal)
            replacement = _REPLACEMENTS.get(name or "")
            if name is None or replacement in refused:
                raise
            refused.add(name)
            value = sent.pop(name)
            if replacement:
                sent.setdefault(replacement, value)


def _find_refused(sent: Mapping[str, Any], refusal: openai.APIStatusError) -> str | None:
    """Return the parameter of the request that the model refuses, or None if the refusal is about something else."""
    words = refusal.response.text[:_MAX_WORDS_READ]
    if not _REFUSES.search(words):
        return None
    names = [name for name in _REPLACEMENTS if name in sent]
    if refusal.param in names:
        return refusal.param
    found = {name: match.start() for name in names if (match := re.search(rf"\b{name}\b", words))}
    return min(found, key=found.__getitem__, default=None)
