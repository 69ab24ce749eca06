"""Computes a prefix's keys and values and writes them to a file: in a slot of llama.cpp's server, or by transformers
here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from django.conf import settings

from memory.enums import ActivationEngine, ModelKind, ModelPurpose, PromptForm
from memory.errors import Conflict, InvalidInput, LLMBusy, LLMRefused, RedisAway
from memory.providers.calls import PlannedCall, TokenUsage, announce
from memory.providers.chat.model import ChatModel
from memory.providers.chat.registry import find_chat_model
from memory.providers.dynamic_cache import CausalModel
from memory.providers.llama_slots import LlamaSlots
from memory.services.activation.prefix import begin_messages, cut_prompt
from memory.services.tenancy.policy import in_force
from memory.stores.activation_folder import CacheFolder, has_tokens
from memory.stores.slots import forget_note
from memory.text.tokens import count_tokens

# The time within which a model must compute a cache.
BUILD_SECONDS = 600
# The time to wait for a busy slot, and the attempts to compute a prompt whose slot another caller has taken.
WAIT_SECONDS = 30.0
TRIES = 3
_PROVIDER = ActivationEngine.LLAMACPP.value


@dataclass(frozen=True, slots=True)
class WrittenCache:
    """The contents of a file: `tokens` of the prompt; `build_ms`: the milliseconds that the model took to compute
    them."""

    tokens: int
    bytes: int
    build_ms: int


class Engine(Protocol):
    """An engine. `ending`: the suffix of its files; `model_sha256`: identifies the model on which keys and values
    depend."""

    ending: str

    @property
    def model_sha256(self) -> str: ...

    def write(self, prefix: str, form: PromptForm, folder: CacheFolder, name: str) -> WrittenCache:
        """Compute the prefix and write its file. Raises MemosError; then there may be half a file."""
        ...


def choose_engine(engine: ActivationEngine, model: str, *, namespace_id: int) -> tuple[str, Engine]:
    """Return the model's name in caches, and its engine; `model` "" means the model that answers.

    Raises Conflict if it is not configured, InvalidInput for a model without such caches.
    """
    if engine == ActivationEngine.TRANSFORMERS:
        name = name_local_model()
        if model not in ("", name):
            raise _no_model(model, name)
        return name, TransformersEngine()
    found = choose_llama(model, namespace_id=namespace_id)
    return found.label, found


def choose_llama(model: str, *, namespace_id: int) -> LlamaEngine:
    """Return the engine of a model of llama.cpp; `model` "" means the model that answers. Raises as `choose_engine`."""
    chosen = find_chat_model(ModelPurpose.ANSWER, model or in_force(namespace_id).policy.models[ModelPurpose.ANSWER])
    if chosen is None:
        raise Conflict(
            "No language model is set up that answers: set MEMOS_LLM_ENABLED=1, MEMOS_LLM_PROVIDER=llamacpp and "
            "MEMOS_LLM_MODEL, and restart.",
            detail={"setting": "MEMOS_LLM_ENABLED"},
        )
    if chosen.provider != _PROVIDER:
        raise _no_model(chosen.label, f"{_PROVIDER}/NAME")
    return LlamaEngine(chosen)


def name_local_model() -> str:
    """Return the name of the model of MEMOS_ACTIVATION_MODEL. Raises Conflict if it is not set, or the extra is
    missing."""
    if not settings.MEMOS_ACTIVATION_MODEL:
        raise Conflict(
            "The engine `transformers` has no model: set MEMOS_ACTIVATION_MODEL to a folder with safetensors or to a "
            "GGUF file, and restart.",
            detail={"setting": "MEMOS_ACTIVATION_MODEL"},
        )
    return f"{ActivationEngine.TRANSFORMERS.value}/{_local_model(settings.MEMOS_ACTIVATION_MODEL).name}"


class LlamaEngine:
    """Uses slots of the chat model's server."""

    ending = "slot"

    def __init__(self, model: ChatModel) -> None:
        self.label = model.label
        self._model = model
        self.slots = LlamaSlots(model.endpoint.base_url)

    @property
    def model_sha256(self) -> str:
        return self.slots.describe()

    def write(self, prefix: str, form: PromptForm, folder: CacheFolder, name: str) -> WrittenCache:
        """Compute the prefix in a slot and save it. The tokens in the file are checked, because another caller may take
        the slot in between."""
        prompt = cut_prompt(self.slots.write_prompt(begin_messages(form, prefix)))
        tokens = self.slots.count_tokens(prompt) if prompt else []
        if not tokens:
            raise _no_place(self._model.label)
        for _ in range(TRIES):
            slot = self._find_idle()
            self._check_folder(slot, folder, name)
            build_ms = self._compute(prompt, slot, tokens)
            written = self.slots.save(slot, name)
            if folder.size_of(name) == written.bytes and has_tokens(folder.path_of(name), tokens):
                self.slots.erase(slot)
                return WrittenCache(len(tokens), written.bytes, build_ms)
            folder.delete(name)
        raise LLMBusy(
            f"{self._model.label} is asked so much that no slot kept the prefix until it was saved, or its version "
            "writes files of another form: try again, with more slots (--parallel).",
            retry_after=60,
        )

    def _check_folder(self, slot: int, folder: CacheFolder, name: str) -> None:
        """Save an empty slot first: if the server writes elsewhere, no memories are written there."""
        self.slots.erase(slot)
        self.slots.save(slot, name)
        if not folder.delete(name):
            raise Conflict(
                "llama.cpp's server does not write into the folder of MEMOS_ACTIVATION_DIR: name the same folder in "
                "its --slot-save-path, on a disk that both see.",
                detail={"setting": "MEMOS_ACTIVATION_DIR"},
            )

    def _compute(self, prompt: str, slot: int, tokens: Sequence[int]) -> int:
        """Return the milliseconds taken. Budgets and figures count this as a call of a model."""
        model = self._model
        counted = count_tokens(prompt, settings.MEMOS_TOKENIZER)
        planned = PlannedCall(ModelKind.CHAT, model.purpose, model.provider, model.name, counted)
        with announce(planned) as call:
            started = time.monotonic()
            self.slots.read_prompt(prompt, slot=slot, seconds=BUILD_SECONDS)
            call.usage = TokenUsage(len(tokens), 0, 0)
            return round((time.monotonic() - started) * 1000)

    def _find_idle(self) -> int:
        """Return an idle slot. Raises LLMBusy."""
        deadline = time.monotonic() + WAIT_SECONDS
        while (slot := find_idle_slot(self.slots)) is None:
            if time.monotonic() > deadline:
                raise LLMBusy(f"All slots of {self._model.label} are at work: try again later.", retry_after=30)
            time.sleep(0.2)
        return slot


class TransformersEngine:
    """Uses the model of MEMOS_ACTIVATION_MODEL, in this process."""

    ending = "safetensors"

    @property
    def model_sha256(self) -> str:
        return _local_model(settings.MEMOS_ACTIVATION_MODEL).sha256

    def write(self, prefix: str, form: PromptForm, folder: CacheFolder, name: str) -> WrittenCache:
        model = _local_model(settings.MEMOS_ACTIVATION_MODEL)
        prompt = cut_prompt(model.write_prompt(begin_messages(form, prefix)))
        if not prompt:
            raise _no_place(model.name)
        started = time.monotonic()
        saved = model.save(prompt, folder.path_of(name))
        folder.sync()
        return WrittenCache(saved.tokens, saved.bytes, round((time.monotonic() - started) * 1000))


def find_idle_slot(slots: LlamaSlots) -> int | None:
    """Return the slot that has been idle longest, and forget the note of its content; None when all are busy."""
    idle = [slot for slot in slots.list_slots() if not slot.is_busy]
    if not idle:
        return None
    chosen = min(idle, key=lambda slot: slot.task).number
    _forget(slots.address, chosen)
    return chosen


@lru_cache(maxsize=1)
def _local_model(path: str) -> CausalModel:
    return CausalModel(path)


def _forget(server: str, slot: int) -> None:
    try:
        forget_note(server, slot)
    except RedisAway:
        # The server's own count of calls differs from that in the note by then, which has the same effect.
        return


def _no_place(model: str) -> LLMRefused:
    return LLMRefused(
        f"The template of {model} has no place for a prefix (it drops or rewrites messages): there is nothing to keep. "
        "Choose a model whose template tells the messages in their order."
    )


def _no_model(model: str, wanted: str) -> InvalidInput:
    return InvalidInput(
        f"model: {model!r} has no such cache: choose {wanted}. Providers elsewhere keep prefixes by themselves.",
        detail=[{"field": "model", "problem": f"choose {wanted}."}],
    )
