"""Calls one chat model behind an OpenAI-compatible endpoint for an answer, whole or streamed, or for JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson
from django.conf import settings

from memory.enums import ModelCallStatus, ModelKind, ModelPurpose
from memory.errors import LLMRefused, LLMTimeout, LLMUnavailable
from memory.providers.calls import EndedCall, PlannedCall, TokenUsage, call_ended, call_planned
from memory.providers.chat.faults import Endpoint, explain_failures
from memory.providers.chat.guard import guard_of
from memory.providers.chat.parameters import ask_as_wanted
from memory.providers.chat.presets import ChatPreset
from memory.providers.chat.replies import (
    ChatReply,
    ChatStream,
    JsonReply,
    check_finish,
    estimate_completion,
    ms_since,
    token_usage,
)
from memory.providers.chat.schemas import read_json, validator_of
from memory.providers.chat.slot_plan import PreparedSlot, SlotPlan, prepare_slot
from memory.text.completion_messages import add_instruction, list_texts
from memory.text.json_values import characters_of
from memory.text.thinking import remove_thinking
from memory.text.tokens import count_tokens

if TYPE_CHECKING:
    from openai import OpenAI

# A message of chat.completions: {"role": "system" | "user" | "assistant" | "tool", "content": …}.
Message = Mapping[str, Any]

_SCHEMA_IN_WORDS = "Answer one JSON object, without any other text. It follows this JSON schema: "
_NOT_VALID = "This is not what was asked for: {problem}. Answer the JSON object again, without any other text."
# No second question is asked with less time left.
_MIN_SECONDS = 0.05


class ChatModel:
    """Calls one chat model for one purpose; `timeout` is the maximum time of a whole answer, in seconds.

    Calls aren't repeated, except when the model refuses a parameter. Answers don't include the model's thinking.

    Every method raises LLMUnavailable if the model doesn't answer, or not usably. Its subclass LLMContextTooLong means
    that the prompt is too long, and LLMBusy that too many calls of the model run.
    """

    def __init__(
        self, *, name: str, preset: ChatPreset, purpose: ModelPurpose, endpoint: Endpoint, api_key: str, timeout: float
    ) -> None:
        self.name = name
        self.provider = preset.name
        self.label = endpoint.label
        self._preset = preset
        self.purpose = purpose
        self.endpoint = endpoint
        # Local servers need no key, but the client insists on one.
        self._api_key = api_key or "none"
        self.timeout = timeout

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> ChatReply:
        """Return the whole answer of at most `max_tokens` tokens; with a `schema`, JSON that should follow it."""
        return self._complete(messages, max_tokens, schema, self.timeout)

    @contextmanager
    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, slot_plan: SlotPlan | None = None
    ) -> Iterator[ChatStream]:
        """Yield the answer as a stream. Leaving the block early ends the call at the provider.

        The time to the first token includes what `slot_plan` prepares. Reading the pieces may raise as well.
        """
        request = self._request(messages, max_tokens, None)
        with guard_of(self.label, self.endpoint.base_url).admit():
            planned = self._plan(messages, max_tokens)
            started = time.monotonic()
            with prepare_slot(slot_plan) as slot:
                yield from self._stream(request, planned, started, slot)

    def _stream(
        self, request: dict[str, Any], planned: PlannedCall, started: float, slot: PreparedSlot
    ) -> Iterator[ChatStream]:
        try:
            with self._explain_failures(planned):
                chunks = ask_as_wanted(
                    lambda sent: self.client.chat.completions.create(
                        **sent, stream=True, stream_options={"include_usage": True}, extra_body=slot.fields
                    ),
                    request,
                )
        except LLMUnavailable as error:
            self._end(planned, ModelCallStatus.FAILED, started, error=error)
            raise
        stream = ChatStream(
            iter(chunks),
            endpoint=self.endpoint,
            preset=self._preset,
            started=started,
            explained=self._explain_failures(planned),
        )
        status, fault = ModelCallStatus.CANCELLED, None
        try:
            yield stream
            status = ModelCallStatus.OK if stream.finish else ModelCallStatus.CANCELLED
        except LLMUnavailable as error:
            status, fault = ModelCallStatus.FAILED, error
            raise
        finally:
            chunks.close()
            slot.cached = stream.usage.cached
            self._end(planned, status, started, stream=stream, error=fault, slot=slot)

    def complete_json(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any],
        max_tokens: int,
        slot_plan: SlotPlan | None = None,
    ) -> JsonReply:
        """Return the JSON object that the model answers, valid by `schema`; an invalid one is asked for again, once.

        Both answers together may take `timeout`; `slot_plan` is prepared for each. Raise InvalidInput if `schema`
        isn't a schema.
        """
        validator = validator_of(schema)
        deadline = time.monotonic() + self.timeout
        asked = list(messages)
        if self._preset.structured != "schema":
            # Some templates accept instructions only in the first message.
            asked = add_instruction(asked, _SCHEMA_IN_WORDS + orjson.dumps(schema).decode())
        problem = ""
        usage = TokenUsage(0, 0, 0)
        for _ in range(2):
            seconds = deadline - time.monotonic()
            if problem and seconds < _MIN_SECONDS:
                break
            reply = self._complete(asked, max_tokens, schema, seconds, slot_plan)
            usage += reply.usage
            said, problem = read_json(reply.text, validator)
            if said is not None:
                return JsonReply(said, usage)
            if reply.finish == "length":
                problem = f"it is cut off at {max_tokens} tokens"
            asked = [
                *asked,
                {"role": "assistant", "content": reply.text},
                {"role": "user", "content": _NOT_VALID.format(problem=problem)},
            ]
        raise LLMRefused(
            f"{self.label} did not answer the JSON that it was asked for: {problem}. Choose a model that follows a "
            "schema."
        )

    def ask(
        self, instructions: str, material: Mapping[str, Any], *, schema: Mapping[str, Any], max_tokens: int
    ) -> dict[str, Any]:
        """Return the JSON object, valid by `schema`, that the model answers to `material`, which is sent as JSON."""
        messages = [
            {"role": "system", "content": instructions},
            {"role": "user", "content": orjson.dumps(material).decode()},
        ]
        return self.complete_json(messages, schema=schema, max_tokens=max_tokens).value

    @property
    def json_form(self) -> str:
        """The way in which the model is asked for JSON, in words."""
        return {"schema": "by a schema", "object": "as an object", "words": "in words"}[self._preset.structured]

    @cached_property
    def relay_client(self) -> OpenAI:
        """The client for answers that are passed on: its `timeout` is for each read, and none is for the whole."""
        import openai  # noqa: PLC0415 - takes half a second to import

        from memory.providers.tls import tls_context  # noqa: PLC0415 - the same

        return self.client.with_options(http_client=openai.DefaultHttpxClient(verify=tls_context()))

    @cached_property
    def client(self) -> OpenAI:
        """The SDK's client of the endpoint; `faults.explain_failures` explains what it raises."""
        import openai  # noqa: PLC0415 - takes half a second to import

        from memory.providers.chat.timed_client import create_timed_client  # noqa: PLC0415 - as above

        return openai.OpenAI(
            api_key=self._api_key,
            base_url=self.endpoint.base_url,
            timeout=self.timeout,
            max_retries=0,
            http_client=create_timed_client(),
        )

    def _complete(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        schema: Mapping[str, Any] | None,
        seconds: float,
        slot_plan: SlotPlan | None = None,
    ) -> ChatReply:
        request = self._request(messages, max_tokens, schema)
        with guard_of(self.label, self.endpoint.base_url).admit():
            planned = self._plan(messages, max_tokens)
            started = time.monotonic()
            with prepare_slot(slot_plan) as slot:
                # Preparing the slot counts towards the time of the answer.
                left = max(seconds - (time.monotonic() - started), _MIN_SECONDS)
                try:
                    with self._explain_failures(planned):
                        answer = ask_as_wanted(
                            lambda sent: self.client.chat.completions.create(
                                **sent, timeout=left, extra_body=slot.fields
                            ),
                            request,
                        )
                        choice = answer.choices[0]
                        said = "".join(list_texts(choice.message.content))
                        text, finish = remove_thinking(characters_of(said)), choice.finish_reason or ""
                        usage = token_usage(answer.usage, self._preset)
                except LLMUnavailable as error:
                    self._end(planned, ModelCallStatus.FAILED, started, error=error, slot=slot)
                    raise
                slot.cached = usage.cached
                self._end(planned, ModelCallStatus.OK, started, usage=usage, slot=slot)
            check_finish(self.endpoint, finish, has_text=bool(text))
        return ChatReply(text, finish, usage, ms_since(started))

    def _request(
        self, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.name,
            "messages": list(messages),
            self._preset.limit_field: max_tokens,
        }
        if not self.name.startswith(self._preset.no_temperature or ("\0",)):
            request["temperature"] = 0
        if schema is not None and self._preset.structured == "schema":
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema},
            }
        elif schema is not None and self._preset.structured == "object":
            request["response_format"] = {"type": "json_object"}
        return request

    def _explain_failures(self, planned: PlannedCall) -> AbstractContextManager[None]:
        late = f"took more than {self.timeout:g} seconds: raise MEMOS_LLM_TIMEOUT_SECONDS (not for the gate)"
        return explain_failures(self.endpoint, late=late, prompt_tokens=planned.prompt_tokens)

    def _plan(self, messages: Sequence[Message], max_tokens: int) -> PlannedCall:
        """Announce the call. Raise what a receiver of `call_planned` refuses it with."""
        prompt = "\n".join(str(message.get("content") or "") for message in messages)
        planned = PlannedCall(
            ModelKind.CHAT,
            self.purpose,
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
        *,
        usage: TokenUsage | None = None,
        stream: ChatStream | None = None,
        error: LLMUnavailable | None = None,
        slot: PreparedSlot | None = None,
    ) -> None:
        ended = EndedCall(
            planned,
            status,
            stream.usage if stream else usage or TokenUsage(),
            ms_since(started),
            stream.ttft_ms if stream else None,
            estimate_completion(stream.pieces, stream.usage) if stream else None,
            timed_out=isinstance(error, LLMTimeout),
            activation_tokens=slot.tokens if slot else None,
        )
        call_ended.send(sender=type(self), call=ended)
