"""Gives a call of a llama.cpp model the cache of its prefix: a slot that still has it, or one into which it is
restored.

It never makes an answer fail or differ: the server computes any part of the prompt that its slot does not have. Notes
about the slots (`memory.stores.slots`) are trusted only while the server's own count of calls agrees, so that a slot
with the prefix and the conversation so far is not overwritten with less.
"""

from __future__ import annotations

import hashlib
import logging
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import F
from django.utils import timezone

from memory.enums import ActivationEngine, DropReason, PromptForm
from memory.errors import Conflict, LLMUnavailable, RedisAway
from memory.models import ActivationCache
from memory.providers.chat.model import ChatModel
from memory.providers.llama_slots import LlamaSlot, LlamaSlots
from memory.services.activation import caches
from memory.stores import slots as notes
from memory.stores.activation_folder import open_folder
from memory.stores.slots import SlotNote
from memory.types import Scope

log = logging.getLogger("memos.activation")

# A slot counts as having the prefix when the server took at least this share of it from there.
HIT_SHARE = 0.9
USED = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class LoadedCache:
    """A cache that was just loaded into a slot, and the milliseconds that it took."""

    slot: int
    tokens: int
    load_ms: int


@dataclass(slots=True)
class CachedPrefix:
    """The cache for a call (a `SlotPlan`): `prepare` is called before it, `end` after it. `key` identifies its
    prefix."""

    cache: ActivationCache
    slots: LlamaSlots
    session: str
    key: str
    _slot: int | None = field(default=None)

    @property
    def tokens(self) -> int:
        """Return the number of the prompt's tokens in the cache."""
        return self.cache.tokens

    def prepare(self) -> int | None:
        """Return the slot that has the prefix now; None lets the server choose, if no slot is free or the cache is
        gone."""
        try:
            idle = [slot for slot in self.slots.list_slots() if not slot.is_busy]
            held = _read_notes(self.slots.address)
            self._slot = self._find_warm(idle, held)
            if self._slot is not None:
                _touch(self.cache, now=timezone.now())
            elif idle:
                chosen = min(idle, key=lambda slot: held[slot.number].at if slot.number in held else 0.0)
                load(self.cache, self.slots, chosen.number)
                self._slot = chosen.number
        except (LLMUnavailable, Conflict, OSError) as error:
            reason = error.message if isinstance(error, LLMUnavailable | Conflict) else type(error).__name__
            log.warning("an answer without its activation cache", extra={"cache": str(self.cache.pk), "reason": reason})
            self._slot = None
        return self._slot

    def end(self, cached: int | None) -> None:
        """Record the present content of the slot. `cached`: the tokens that the server took from it; None if it did not
        report them (the call failed, or was cancelled)."""
        if self._slot is None:
            return
        try:
            if cached is None or cached < HIT_SHARE * self.tokens:
                notes.forget_note(self.slots.address, self._slot)
                return
            task = next(slot.task for slot in self.slots.list_slots() if slot.number == self._slot)
            note = SlotNote(self.key, self.session, task, time.time())
            notes.write_note(self.slots.address, self._slot, note)
        except (LLMUnavailable, RedisAway, StopIteration) as error:
            log.info("what a slot holds is not noted", extra={"slot": self._slot, "reason": type(error).__name__})

    def _find_warm(self, idle: list[LlamaSlot], held: dict[int, SlotNote]) -> int | None:
        """Return a slot that still has the prefix, preferably one that has the session's conversation too."""
        warm = [
            slot.number
            for slot in idle
            if slot.number in held and held[slot.number].key == self.key and held[slot.number].task == slot.task
        ]
        return max(warm, key=lambda number: held[number].session == self.session, default=None)


def find_prefix_cache(
    scope: Scope, model: ChatModel, *, form: PromptForm, prefix_sha256: str, session: str
) -> CachedPrefix | None:
    """Return the cache for a call whose prompt begins with this prefix; None if this machine has none."""
    if model.provider != ActivationEngine.LLAMACPP.value:
        return None
    try:
        folder = open_folder()
    except Conflict as error:
        log.warning("answers without activation caches", extra={"reason": error.message})
        return None
    if folder is None:
        return None
    cache = (
        ActivationCache.objects.in_scope(scope)
        .ready()
        .filter(engine=ActivationEngine.LLAMACPP, model=model.label, form=form, prefix_sha256=prefix_sha256)
        .filter(folder_id=folder.id)
        .order_by("-id")
        .first()
    )
    if cache is None:
        return None
    key = _hash(f"{scope.namespace_id}:{model.label}:{form}:{prefix_sha256}")
    return CachedPrefix(cache, LlamaSlots(model.endpoint.base_url), _hash(f"{scope.namespace_id}:{session}"), key)


def load(cache: ActivationCache, slots: LlamaSlots, slot: int) -> LoadedCache:
    """Restore the cache into the slot, and count the use. A cache whose file has changed is marked as stale.

    Raises Conflict for one that is gone, or was made by another model than the server's; LLMUnavailable.
    """
    started = time.monotonic()
    folder = caches.require_folder()
    if folder.size_of(cache.file) != cache.bytes:
        caches.mark_stale([cache], DropReason.LOST)
        raise Conflict("The cache's file is missing, or is not the one that was written: it is built again.")
    if slots.describe() != cache.model_sha256:
        raise Conflict("The server has another model, adapter or template than the cache was made by: build it again.")
    # A cache that is dropped is marked before its file is deleted.
    if not _count_use(cache, now=timezone.now()):
        raise Conflict("The cache is not ready (any more).")
    restored = slots.restore(slot, cache.file)
    if restored.tokens != cache.tokens:
        caches.mark_stale([cache], DropReason.LOST)
        slots.erase(slot)
        raise Conflict("The cache's file has another number of tokens than was written: it is built again.")
    return LoadedCache(slot, restored.tokens, round((time.monotonic() - started) * 1000))


def _count_use(cache: ActivationCache, *, now: datetime) -> int:
    mine = ActivationCache.objects.filter(namespace_id=cache.namespace_id, pk=cache.pk).ready()
    return mine.update(uses=F("uses") + 1, used_at=now)


def _touch(cache: ActivationCache, *, now: datetime) -> None:
    """Record the use, once a minute, so that a cache that stays in a slot is not the first to be removed."""
    if cache.used_at is None or cache.used_at < now - USED:
        ActivationCache.objects.filter(namespace_id=cache.namespace_id, pk=cache.pk).ready().update(used_at=now)


def _read_notes(server: str) -> dict[int, SlotNote]:
    try:
        return notes.read_notes(server)
    except RedisAway:
        return {}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
