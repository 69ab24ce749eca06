"""One chat model behind an OpenAI-compatible endpoint: a whole answer, a stream of text, or JSON of a given shape."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jsonschema
import orjson
from django.conf import settings

from memory.enums import ModelCallStatus, ModelKind, ModelPurpose
from memory.errors import LLMUnavailable
from memory.providers.calls import EndedCall, PlannedCall, TokenUsage, call_ended, call_planned
from memory.providers.chat.presets import ChatPreset
from memory.text.tokens import count_tokens

if TYPE_CHECKING:
    from openai import OpenAI

# As chat.completions takes it: {"role": "system" | "user" | "assistant" | "tool", "content": …}.
Message = Mapping[str, Any]

_SCHEMA_IN_WORDS = "Answer one JSON object, without any other text. It follows this JSON schema: "
_NOT_VALID = "This is not what was asked for: {problem}. Answer the JSON object again, without any other text."


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A whole answer. `finish`: why it ended, `stop` or `length`. `duration_ms` in milliseconds."""

    text: str
    finish: str
    usage: TokenUsage
    duration_ms: int


class ChatStream:
    """The text of an answer, piece by piece; `usage`, `finish` and `ttft_ms` are complete when it has ended."""

    def __init__(self, chunks: Iterator[Any], *, name: str, started: float) -> None:
        self._chunks = chunks
        self._name = name
        self._started = started
        self.usage = TokenUsage()
        self.finish = ""
        self.ttft_ms: int | None = None

    def __iter__(self) -> Iterator[str]:
        """Raises LLMUnavailable when the answer breaks off; then what came is no answer."""
        import openai  # noqa: PLC0415 - half a second, for those who use it

        try:
            for chunk in self._chunks:
                if chunk.usage:
                    self.usage = _usage(chunk.usage)
                for choice in chunk.choices[:1]:
                    self.finish = choice.finish_reason or self.finish
                    if choice.delta.content:
                        if self.ttft_ms is None:
                            self.ttft_ms = _elapsed_ms(self._started)
                        yield choice.delta.content
        except (openai.OpenAIError, TypeError, AttributeError, ValueError) as error:
            raise LLMUnavailable(f"{self._name} broke off: {type(error).__name__}") from error
        if not self.finish:
            raise LLMUnavailable(f"{self._name} broke off without an end")


class ChatModel:
    """Asks one chat model for one purpose, with no retries; `timeout` is how many seconds an answer may take."""

    def __init__(
        self, *, name: str, preset: ChatPreset, purpose: ModelPurpose, base_url: str, api_key: str, timeout: float
    ) -> None:
        self.name = name
        self.provider = preset.name
        self._preset = preset
        self._purpose = purpose
        self._base_url = base_url
        # Local servers want no key, the client insists on one.
        self._api_key = api_key or "none"
        self._timeout = timeout

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> ChatReply:
        """The model's whole answer, of at most `max_tokens` tokens; with a `schema`, JSON that should follow it.

        Raises LLMUnavailable when it does not answer, or answers what is no chat completion.
        """
        import openai  # noqa: PLC0415 - half a second, for those who use it

        planned = self._plan(messages, max_tokens)
        started = time.monotonic()
        try:
            answer = self._client.chat.completions.create(**self._request(messages, max_tokens, schema))
            choice = answer.choices[0]
            reply = ChatReply(
                choice.message.content or "", choice.finish_reason or "", _usage(answer.usage), _elapsed_ms(started)
            )
        except (openai.OpenAIError, IndexError, TypeError, AttributeError, ValueError) as error:
            self._end(planned, ModelCallStatus.FAILED, started)
            raise LLMUnavailable(f"{self.name} did not answer: {type(error).__name__}") from error
        self._end(planned, ModelCallStatus.OK, started, reply.usage)
        return reply

    @contextmanager
    def stream(self, messages: Sequence[Message], *, max_tokens: int) -> Iterator[ChatStream]:
        """The answer as it comes. Leaving the block early ends the call at the provider.

        Raises LLMUnavailable, also while one reads the pieces.
        """
        import openai  # noqa: PLC0415 - half a second, for those who use it

        planned = self._plan(messages, max_tokens)
        started = time.monotonic()
        try:
            chunks = self._client.chat.completions.create(
                **self._request(messages, max_tokens, None), stream=True, stream_options={"include_usage": True}
            )
        except openai.OpenAIError as error:
            self._end(planned, ModelCallStatus.FAILED, started)
            raise LLMUnavailable(f"{self.name} did not answer: {type(error).__name__}") from error
        stream = ChatStream(iter(chunks), name=self.name, started=started)
        status = ModelCallStatus.CANCELLED
        try:
            yield stream
            status = ModelCallStatus.OK if stream.finish else ModelCallStatus.CANCELLED
        except LLMUnavailable:
            status = ModelCallStatus.FAILED
            raise
        finally:
            chunks.close()
            self._end(planned, status, started, stream.usage, stream.ttft_ms)

    def complete_json(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any], max_tokens: int
    ) -> dict[str, Any]:
        """The JSON object that the model answers, valid by `schema`. Asks once more, with what was wrong, if it is not.

        Raises LLMUnavailable when it does not answer, or answers anything else twice.
        """
        asked = list(messages)
        if self._preset.structured != "schema":
            asked = [*asked, {"role": "system", "content": _SCHEMA_IN_WORDS + orjson.dumps(schema).decode()}]
        problem = ""
        for _ in range(2):
            reply = self.complete(asked, max_tokens=max_tokens, schema=schema)
            try:
                said = orjson.loads(reply.text)
                jsonschema.validate(said, schema)
            except orjson.JSONDecodeError:
                problem = "no JSON"
            except jsonschema.ValidationError as error:
                problem = error.message
            else:
                if isinstance(said, dict):
                    return said
                problem = "no JSON object"
            asked = [
                *asked,
                {"role": "assistant", "content": reply.text},
                {"role": "user", "content": _NOT_VALID.format(problem=problem)},
            ]
        raise LLMUnavailable(f"{self.name} answered {problem}")

    def ask(
        self,
        instructions: str,
        material: Mapping[str, Any],
        *,
        schema: Mapping[str, Any] = {"type": "object"},
        max_tokens: int = 2_000,
    ) -> dict[str, Any]:
        """The JSON object, valid by `schema`, that the model answers to the `material`, which is sent as JSON.

        Raises LLMUnavailable as `complete_json` does.
        """
        messages = [
            {"role": "system", "content": instructions},
            {"role": "user", "content": orjson.dumps(material).decode()},
        ]
        return self.complete_json(messages, schema=schema, max_tokens=max_tokens)

    @cached_property
    def _client(self) -> OpenAI:
        import openai  # noqa: PLC0415 - half a second, for those who use it

        return openai.OpenAI(api_key=self._api_key, base_url=self._base_url, timeout=self._timeout, max_retries=0)

    def _request(
        self, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.name,
            "messages": list(messages),
            "temperature": 0,
            self._preset.limit_field: max_tokens,
        }
        if schema is not None and self._preset.structured == "schema":
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema},
            }
        elif schema is not None and self._preset.structured == "object":
            request["response_format"] = {"type": "json_object"}
        return request

    def _plan(self, messages: Sequence[Message], max_tokens: int) -> PlannedCall:
        """Raises what a receiver of `call_planned` refuses the call with."""
        prompt = "\n".join(str(message.get("content") or "") for message in messages)
        planned = PlannedCall(
            ModelKind.CHAT,
            self._purpose,
            self.provider,
            self.name,
            count_tokens(prompt, settings.MEMOS_TOKENIZER),
            max_tokens,
        )
        call_planned.send(sender=type(self), call=planned)
        return planned

    def _end(
        self,
        planned: PlannedCall,
        status: ModelCallStatus,
        started: float,
        usage: TokenUsage | None = None,
        ttft_ms: int | None = None,
    ) -> None:
        ended = EndedCall(planned, status, usage or TokenUsage(), _elapsed_ms(started), ttft_ms)
        call_ended.send(sender=type(self), call=ended)


def _usage(said: Any) -> TokenUsage:
    if said is None:
        return TokenUsage()
    details = getattr(said, "prompt_tokens_details", None)
    return TokenUsage(said.prompt_tokens, said.completion_tokens, getattr(details, "cached_tokens", None))


def _elapsed_ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
