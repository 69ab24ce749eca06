"""Passes a caller's chat completion to a model, and streams the answer back.

Both stay unchanged, except that memories are added and refused parameters are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import orjson
from django.conf import settings

from memory.enums import ModelCallStatus, ModelKind
from memory.errors import LLMTimeout, LLMUnavailable, PassedOnError, PassedOnRefusal
from memory.providers.calls import EndedCall, PlannedCall, TokenUsage, call_ended, call_planned
from memory.providers.chat.faults import Endpoint, explain_failures, no_completion, retry_after_of
from memory.providers.chat.guard import guard_of
from memory.providers.chat.model import ChatModel
from memory.providers.chat.parameters import ask_as_wanted
from memory.providers.chat.placement import ask_where_taken
from memory.providers.chat.presets import PRESETS, ChatPreset
from memory.providers.chat.replies import estimate_completion, ms_since
from memory.providers.chat.silence import read_with_pauses
from memory.providers.chat.slot_plan import SlotPlan, prepare_slot
from memory.text.completion_messages import AddedMemory, text_of
from memory.text.completion_stream import Completion, EventReader
from memory.text.tokens import count_tokens

if TYPE_CHECKING:
    import httpx2

# Estimate of an answer's tokens if the request doesn't limit them.
USUAL_ANSWER_TOKENS = 2_000
# Maximum size of a provider's error that is passed on.
MOST_ERROR_BYTES = 65_536
# Most proxies and clients wait longer than this.
PING_SECONDS = 15.0
_PING = b": ping\n\n"
_LIMITS = ("max_completion_tokens", "max_tokens")


class RelayedAnswer:
    """The answer to a request that was passed on; it can be read once, whole or as events.

    `completion` is its state so far; `is_complete` tells whether all of it has arrived.
    """

    def __init__(self, response: httpx2.Response, endpoint: Endpoint, *, started: float) -> None:
        self.content_type = response.headers.get("content-type", "")
        self.completion = Completion()
        self.is_complete = False
        self.ttft_ms: int | None = None
        self._response = response
        self._endpoint = endpoint
        self._started = started

    def read(self) -> bytes:
        """Return the whole answer. Raise LLMUnavailable if it breaks off or isn't a chat completion."""
        content = b"".join(self._response.iter_raw())
        try:
            self.completion.read(orjson.loads(content), name="message")
        except orjson.JSONDecodeError as error:
            raise LLMUnavailable(no_completion(self._endpoint)) from error
        if not self.completion.has_choices:
            raise LLMUnavailable(no_completion(self._endpoint))
        self.is_complete = True
        return content

    def events(self) -> Iterator[bytes]:
        """Yield the events byte for byte, except for the last, which marks the end.

        After each PING_SECONDS without an event, yield a comment, which keeps connections open and reveals that a
        reader has left. Raise LLMUnavailable if the answer breaks off or isn't a stream of events.
        """
        if not self.content_type.startswith("text/event-stream"):
            raise LLMUnavailable(no_completion(self._endpoint))
        reader = EventReader()
        self.completion = reader.completion
        with closing(read_with_pauses(self._response, seconds=PING_SECONDS)) as pieces:
            complete_events = chain.from_iterable(reader.cut(piece) if piece else (_PING,) for piece in pieces)
            for event in chain(complete_events, reader.end()):
                if self.ttft_ms is None and self.completion.pieces:
                    self.ttft_ms = ms_since(self._started)
                if reader.is_over:
                    break
                yield event
        if self.completion.error is not None or not (reader.is_over or self.completion.finish):
            raise LLMUnavailable(f"{self._endpoint.label} broke off in the middle of its answer: ask again.")
        self.is_complete = True


@contextmanager
def relay(
    model: ChatModel, body: Mapping[str, Any], *, added: AddedMemory | None = None, slot_plan: SlotPlan | None = None
) -> Iterator[RelayedAnswer]:
    """Send `body` with the model's name and the `added` memories to the slot of `slot_plan`.

    Leaving the block ends the call at the provider. The answer may take any time in total, but not be silent for
    MEMOS_LLM_RELAY_IDLE_SECONDS. Raise PassedOnError for an error of the provider, LLMUnavailable if it doesn't answer
    (also while the answer is read), and what a receiver of `call_planned` refuses the call with.
    """
    with guard_of(model.label, model.endpoint.base_url).admit():
        planned = _plan(model, {**body, "messages": added.add_to(body["messages"]) if added else body["messages"]})
        call_planned.send(sender=ChatModel, call=planned)
        started = time.monotonic()
        status, timed_out = ModelCallStatus.FAILED, False
        answer: RelayedAnswer | None = None
        given: int | None = None
        try:
            with (
                prepare_slot(slot_plan) as slot,
                _explain_failures(model, planned),
                _passing_on(model),
                _open(model, {**body, **slot.fields, "model": model.name}, added) as response,
            ):
                answer = RelayedAnswer(response, model.endpoint, started=started)
                given = slot.tokens
                try:
                    yield answer
                finally:
                    slot.cached = _usage(answer.completion.usage, PRESETS[model.provider]).cached
                status = ModelCallStatus.OK if answer.is_complete else ModelCallStatus.CANCELLED
        except GeneratorExit:
            status = ModelCallStatus.CANCELLED
            raise
        except LLMTimeout:
            timed_out = True
            raise
        finally:
            ended = _build_ended_call(planned, status, answer, ms_since(started))
            call_ended.send(sender=ChatModel, call=replace(ended, timed_out=timed_out, activation_tokens=given))


@contextmanager
def _open(model: ChatModel, body: Mapping[str, Any], added: AddedMemory | None) -> Iterator[httpx2.Response]:
    """Open the answer to the body and `added`, in a form that the model accepts."""
    import httpx2  # noqa: PLC0415 - imported together with openai

    timeout = httpx2.Timeout(settings.MEMOS_LLM_RELAY_IDLE_SECONDS, connect=model.timeout)
    create = model.relay_client.chat.completions.with_streaming_response.create
    with ExitStack() as opened:

        def ask(sent: dict[str, Any]) -> Any:
            return opened.enter_context(
                create(
                    model=model.name,
                    messages=[],
                    stream=bool(sent.get("stream")),
                    extra_body=sent,
                    # The bytes of the answer are passed on unchanged.
                    extra_headers={"Accept-Encoding": "identity"},
                    timeout=timeout,
                )
            )

        response = ask_where_taken(
            lambda messages: ask_as_wanted(ask, {**body, "messages": messages}), model.endpoint, body["messages"], added
        )
        yield response.http_response


def _explain_failures(model: ChatModel, planned: PlannedCall) -> AbstractContextManager[None]:
    late = f"sent nothing for {settings.MEMOS_LLM_RELAY_IDLE_SECONDS:g} seconds"
    return explain_failures(model.endpoint, late=late, prompt_tokens=planned.prompt_tokens)


@contextmanager
def _passing_on(model: ChatModel) -> Iterator[None]:
    """Turn an error response of the provider into PassedOnError."""
    import openai  # noqa: PLC0415 - takes half a second to import

    try:
        yield
    except openai.APIStatusError as error:
        response, status = error.response, error.status_code
        if status in (401, 403):
            # The key is this server's, not the caller's, and the provider's message may quote it.
            raise PassedOnError(
                f"{model.label} does not accept this server's key for it ({status}): the operator of MemOS has to "
                "correct it.",
                status=502,
            ) from error
        kind = PassedOnRefusal if status < 500 and status != 429 else PassedOnError
        raise kind(
            f"{model.label} answered {status}.",
            status=status,
            body=_words(response.content, model.client.api_key),
            retry_after=retry_after_of(response.headers),
        ) from error


def _words(content: bytes, secret: str) -> dict[str, Any] | None:
    if len(content) > MOST_ERROR_BYTES:
        return None
    if secret:
        content = content.replace(secret.encode(), b"[key]")
    try:
        said = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    return said if isinstance(said, dict) and "error" in said else None


def _plan(model: ChatModel, body: Mapping[str, Any]) -> PlannedCall:
    prompt = "\n".join(text_of(message) for message in body["messages"])
    # If a request has both limits, the provider decides which one applies.
    limits = [body[name] for name in _LIMITS if type(body.get(name)) is int and body[name] > 0]
    limit = max(limits, default=USUAL_ANSWER_TOKENS)
    choices = body.get("n")
    return PlannedCall(
        ModelKind.CHAT,
        model.purpose,
        model.provider,
        model.name,
        count_tokens(prompt, settings.MEMOS_TOKENIZER),
        limit * (choices if isinstance(choices, int) and choices > 0 else 1),
    )


def _build_ended_call(
    planned: PlannedCall, status: ModelCallStatus, answer: RelayedAnswer | None, duration_ms: int
) -> EndedCall:
    """Describe how a call ended. Providers count a stream only on request and at its end; otherwise it is estimated."""
    if answer is None:
        return EndedCall(planned, status, TokenUsage(), duration_ms)
    usage = _usage(answer.completion.usage, PRESETS[planned.provider])
    estimate = estimate_completion(answer.completion.written, usage)
    return EndedCall(planned, status, usage, duration_ms, answer.ttft_ms, estimate)


def _usage(said: Mapping[str, Any], preset: ChatPreset) -> TokenUsage:
    """Return the tokens that a provider counted, as `replies.token_usage` reads them."""
    details = said.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    if cached is None and preset.cached_field:
        cached = _count(said.get(preset.cached_field))
    return TokenUsage(_count(said.get("prompt_tokens")), _count(said.get("completion_tokens")), cached)


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
