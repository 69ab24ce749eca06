"""Passes a caller's chat completion on with the memories recalled for it, and remembers both sides."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from memory import deadline
from memory.enums import Degradation, PromptForm
from memory.errors import LLMUnavailable
from memory.providers.chat.model import ChatModel
from memory.providers.chat.relay import RelayedAnswer, relay
from memory.services.activation.use import CachedPrefix, find_prefix_cache
from memory.services.gateway.turns import ChatTurn, GivenMemory, RememberedChat, remember
from memory.text.completion_messages import AddedMemory
from memory.text.completion_stream import Completion

_DONE = b"data: [DONE]\n\n"
# Listed in `degraded` when the answer ended before its end, and is not remembered.
CUT_OFF = Degradation.ANSWER_CUT_OFF.value


@dataclass(frozen=True, slots=True)
class ChatCompletion:
    """A request for a completion: its `body` as the caller wrote it, the model that answers, and the recalled
    memories."""

    turn: ChatTurn
    body: Mapping[str, Any]
    model: ChatModel
    given: GivenMemory | None

    @property
    def added(self) -> AddedMemory | None:
        """Return the memories that the model is given in addition to the caller's messages."""
        return AddedMemory(self.given.prefix, self.given.recalled) if self.given else None


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """A model's answer as it came; `memos`: the memories that the model was given and the remembered turns."""

    content: bytes
    content_type: str
    memos: dict[str, Any]


def complete(asked: ChatCompletion) -> WholeAnswer:
    """Return the model's answer; the turn is remembered.

    If there is none, or it is cut off, only the question is remembered. Raises as `relay` and its answer do.
    """
    # The model's silence is limited, but not the length of its answer.
    with deadline.without_limit():
        try:
            with relay(asked.model, asked.body, added=asked.added, slot_plan=_find_cache(asked)) as answer:
                content = answer.read()
        except LLMUnavailable:
            _remember(asked)
            raise
        remembered = _remember(asked, answer)
        return WholeAnswer(content, answer.content_type, _describe(asked, remembered))


def stream(asked: ChatCompletion) -> Generator[bytes]:
    """Yield the events of the model's answer as they come; the one before the last describes the given and remembered
    memories. The first piece is empty and means that the model has begun.

    If the answer breaks off or is cut off, or its reader leaves, only the question is remembered. Raises as `relay` and
    its answer do.
    """
    answer: RelayedAnswer | None = None
    try:
        with relay(asked.model, asked.body, added=asked.added, slot_plan=_find_cache(asked)) as answer:
            yield b""
            yield from answer.events()
    except BaseException:
        # A reader that leaves may do so when the answer is complete.
        _remember(asked, answer)
        raise
    remembered = _remember(asked, answer)
    yield b"data: " + orjson.dumps(_last_chunk(answer.completion, asked, remembered)) + b"\n\n"
    yield _DONE


def _find_cache(asked: ChatCompletion) -> CachedPrefix | None:
    """Find the activation cache of the prefix, if there is one for the model and the caller names no slot."""
    given = asked.given
    if given is None or not given.prefix or "id_slot" in asked.body:
        return None
    return find_prefix_cache(
        asked.turn.scope,
        asked.model,
        form=PromptForm.COMPLETION,
        prefix_sha256=given.prefix_sha256,
        session=asked.turn.session,
    )


def _remember(asked: ChatCompletion, answer: RelayedAnswer | None = None) -> RememberedChat:
    cut_off = answer is not None and answer.completion.is_cut_off
    text = answer.completion.text if answer and answer.is_complete and not cut_off else ""
    remembered = remember(asked.turn, answer=text, given=asked.given, model=asked.model.label)
    return replace(remembered, degraded=(*remembered.degraded, CUT_OFF)) if cut_off else remembered


def _last_chunk(completion: Completion, asked: ChatCompletion, remembered: RememberedChat) -> dict[str, Any]:
    """Build a chunk with one empty choice, because clients read the first choice of every chunk."""
    return {
        "id": "",
        "created": 0,
        "model": asked.model.name,
        **completion.head,
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {}, "finish_reason": None}],
        "memos": _describe(asked, remembered),
    }


def _describe(asked: ChatCompletion, remembered: RememberedChat) -> dict[str, Any]:
    return {
        **context_of(asked),
        "remembered": {
            "user": str(remembered.question) if remembered.question else None,
            "assistant": str(remembered.answer) if remembered.answer else None,
        },
        "gate": list(remembered.gate),
        "degraded": [*(asked.given.degraded if asked.given else ()), *remembered.degraded],
    }


def context_of(asked: ChatCompletion) -> dict[str, Any]:
    """Describe the memories that the model was given, and the caller's namespace and session."""
    given = asked.given
    whose = {one: given.whose[one]["cube"] for one in given.numbers.values() if one in given.whose} if given else {}
    return {
        "namespace": asked.turn.scope.namespace,
        "session_id": asked.turn.session,
        "context_pack_id": str(given.pack_id) if given and given.pack_id else None,
        "prefix_sha256": given.prefix_sha256 if given else None,
        "citations": given.numbers if given else {},
        "memory_ids": given.memory_ids if given else [],
        **({"cubes": {one: cube and cube["id"] for one, cube in whose.items()}} if asked.turn.beside else {}),
    }
