"""Answers of a chat model: whole ones, and streams of text."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from memory.errors import LLMRefused, LLMUnavailable
from memory.providers.calls import TokenUsage
from memory.providers.chat.faults import Endpoint, no_completion
from memory.providers.chat.presets import ChatPreset
from memory.text.completion_messages import list_texts
from memory.text.json_values import characters_of
from memory.text.thinking import ThinkingFilter
from memory.text.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A whole answer; `finish` is the finish reason (`stop` or `length`), `duration_ms` in milliseconds."""

    text: str
    finish: str
    usage: TokenUsage
    duration_ms: int


@dataclass(frozen=True, slots=True)
class JsonReply:
    """The JSON object that a model answered, and the tokens of all calls that it took."""

    value: dict[str, Any]
    usage: TokenUsage


class ChatStream:
    """Yields the text of an answer piece by piece, without the model's thinking.

    `usage`, `finish` and `ttft_ms` are complete at its end. `pieces` has what has come so far, with thinking.
    """

    def __init__(
        self,
        chunks: Iterator[Any],
        *,
        endpoint: Endpoint,
        preset: ChatPreset,
        started: float,
        explained: AbstractContextManager[None],
    ) -> None:
        self._chunks = chunks
        self._endpoint = endpoint
        self._preset = preset
        self._started = started
        self._explained = explained
        self.usage = TokenUsage()
        self.finish = ""
        self.ttft_ms: int | None = None
        self.pieces: list[str] = []
        self._half = ""
        self._thinking = ThinkingFilter()

    def __iter__(self) -> Iterator[str]:
        """Yield the text, once. Raise LLMUnavailable if the answer breaks off, which makes what came unusable."""
        came = has_text = False
        with self._explained:
            for piece in self._read_pieces():
                came = True
                if said := self._thinking.feed(piece):
                    has_text = has_text or bool(said.strip())
                    yield said
            if said := self._thinking.feed(characters_of(self._half)) + self._thinking.end():
                has_text = has_text or bool(said.strip())
                yield said
        if not came:
            raise LLMUnavailable(no_completion(self._endpoint))
        if not self.finish:
            raise LLMUnavailable(
                f"{self._endpoint.label} broke off in the middle of its answer: ask again, and look at the log of the "
                f"provider at {self._endpoint.address}."
            )
        check_finish(self._endpoint, self.finish, has_text=has_text)

    def _read_pieces(self) -> Iterator[str]:
        """Yield the text of each chunk, "" for one without choices such as that of the usage."""
        for chunk in self._chunks:
            if usage := getattr(chunk, "usage", None):
                self.usage = token_usage(usage, self._preset)
            written = ""
            for choice in getattr(chunk, "choices", None) or ():
                if getattr(choice, "index", None) not in (0, None):
                    continue
                self.finish = getattr(choice, "finish_reason", None) or self.finish
                written += self._take("".join(list_texts(getattr(choice.delta, "content", None))))
            yield written

    def _take(self, content: str) -> str:
        """Return what can be passed on; half a surrogate pair, which some providers send, waits for the other half."""
        if content and self.ttft_ms is None:
            self.ttft_ms = ms_since(self._started)
        text = self._half + content
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        said = characters_of(text.removesuffix(self._half))
        self.pieces.append(said)
        return said


def check_finish(endpoint: Endpoint, finish: str, *, has_text: bool) -> None:
    """Raise LLMRefused for an answer without usable text."""
    if has_text and finish != "content_filter":
        return
    reasons = {
        "tool_calls": "wants to call a tool, though none was offered: choose a model that answers without tools",
        "function_call": "wants to call a tool, though none was offered: choose a model that answers without tools",
        "content_filter": "withheld its answer (content_filter): the provider's filter refuses what it was asked",
        "length": "spent all the tokens that it may answer before it said anything: allow more (max_tokens), or choose "
        "a model that thinks less",
    }
    raise LLMRefused(f"{endpoint.label} {reasons.get(finish, 'answered nothing: ask again, or another model')}.")


def estimate_completion(pieces: Iterable[str], usage: TokenUsage) -> int | None:
    """Estimate the tokens of an answer's pieces; return None if the provider counted them."""
    return count_tokens("".join(pieces), settings.MEMOS_TOKENIZER) if usage.completion is None else None


def token_usage(said: Any, preset: ChatPreset) -> TokenUsage:
    """Return the tokens that a provider counted, None for what it didn't report as a number."""
    details = getattr(said, "prompt_tokens_details", None)
    cached = _count(details, "cached_tokens")
    if cached is None and preset.cached_field:
        cached = _count(said, preset.cached_field)
    return TokenUsage(_count(said, "prompt_tokens"), _count(said, "completion_tokens"), cached)


def ms_since(started: float) -> int:
    """Return the milliseconds since a value of time.monotonic()."""
    return round((time.monotonic() - started) * 1000)


def _count(said: Any, name: str) -> int | None:
    value = getattr(said, name, None)
    return value if type(value) is int and value >= 0 else None
