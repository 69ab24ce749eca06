"""Finds the embedding model in use, and embeds questions with it."""

from __future__ import annotations

import contextvars
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
from django.conf import settings
from django.db import IntegrityError, transaction

from memory.caches import Cache, for_seconds
from memory.enums import EmbeddingState
from memory.errors import EmbeddingUnavailable
from memory.models import EmbeddingModel
from memory.postgresql import reach
from memory.providers.embedding.interface import EmbedsElsewhere, Pending
from memory.providers.embedding.registry import EmbeddingProvider, provider_for, read_configured_model
from memory.stores import model_calls
from memory.text.question_frames import take_out_names
from memory.text.requests import REQUESTS

# A process may keep using the model it knows for this long after another one became active.
KNOWN_SECONDS = 3.0
# The vector of a question is cached for this long, because agents retry and ask the same questions.
QUESTION_SECONDS = 600.0
QUESTIONS_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class ActiveModel:
    """Represents the model that search uses: the id of its row and its embedding provider."""

    id: int
    provider_name: str
    name: str
    dimensions: int

    @property
    def provider(self) -> EmbeddingProvider:
        return provider_for(self.provider_name, self.name, self.dimensions)

    @property
    def calls_network(self) -> bool:
        """Tells whether its vectors are made over the network, and may cost money."""
        return self.provider_name == "openai"

    @property
    def is_minilm(self) -> bool:
        """Tells whether weights learned for MiniLM are valid for its cosines."""
        return self.provider_name == "minilm"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Embeds texts, float32 [len(texts), dimensions].

        Raises EmbeddingUnavailable, also for vectors of another length.
        """
        return self.check(self.provider.embed(texts))

    def check(self, vectors: np.ndarray) -> np.ndarray:
        """Returns the provider's vectors. Raises EmbeddingUnavailable for vectors of another length."""
        if vectors.shape[1:] != (self.dimensions,):
            raise EmbeddingUnavailable(
                f"{self.name} answers {vectors.shape[-1]} dimensions, the stored vectors have {self.dimensions}: "
                "set MEMOS_EMBEDDING_DIMENSIONS back, or switch by `manage.py reembed`."
            )
        model_calls.note_answer(model_calls.EMBEDDING)
        return vectors

    def embed_questions(self, texts: Sequence[str]) -> np.ndarray:
        """Embeds questions as `embed` does, without the component that all questions have in common."""
        return self.provider.as_questions(texts, self.embed(texts))

    def embed_requests(self) -> np.ndarray:
        """Returns the vectors of requests of all kinds, float32 [requests, dimensions]; cached.

        There are none for a model whose vectors of requests were not measured. Raises EmbeddingUnavailable.
        """
        known = _requests.get(self.id)
        if known is not None:
            return known
        asked = REQUESTS if self.is_minilm else ()
        return _requests.put(
            self.id, self.embed_questions(asked) if asked else np.zeros((0, self.dimensions), np.float32)
        )

    def take_out_speakers(self, names: Sequence[str], vector: np.ndarray) -> np.ndarray:
        """Returns the vector of a question without what the names of speakers alone add to that of what they say.

        Raises EmbeddingUnavailable.
        """
        return take_out_names(self.embed_speakers(names), vector, parts=self.provider.parts)

    def embed_speakers(self, names: Sequence[str]) -> np.ndarray:
        """Embeds the prefix that a speaker's name puts before each turn, float32 [names, dimensions].

        Raises EmbeddingUnavailable.
        """
        whose = (self.id, reach.current())
        found = {name: _speakers.get((*whose, name)) for name in names}
        known = {name: vector for name, vector in found.items() if vector is not None}
        unknown = [name for name in names if name not in known]
        if unknown:
            for name, vector in zip(unknown, self.embed([f"{name}:" for name in unknown]), strict=True):
                known[name] = _speakers.put((*whose, name), vector)
        return np.stack([known[name] for name in names])

    def start_embedding(self, text: str) -> Pending | np.ndarray:
        """Returns the cached vector of a question, float32 [dimensions], or starts to compute it in parallel."""
        key = (
            self.id,
            reach.current(),
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(),
        )
        known = _questions.get(key)
        if known is not None:
            return known
        provider = self.provider
        if isinstance(provider, EmbedsElsewhere) and (pending := provider.start([text])) is not None:
            return _PendingQuestion(
                pending, lambda vectors: _questions.put(key, provider.as_questions([text], self.check(vectors))[0])
            )
        # It runs in the caller's context, so that a model call over the network is attributed to the caller.
        context = contextvars.copy_context()
        return _beside().submit(context.run, lambda: _questions.put(key, self.embed_questions([text])[0]))


class _PendingQuestion:
    """Represents the pending vector of a question, which `finish` makes from the model's answer."""

    def __init__(self, pending: Pending, finish: Callable[[np.ndarray], np.ndarray]) -> None:
        self._pending = pending
        self._finish = finish
        self._vector: np.ndarray | None = None

    def result(self) -> np.ndarray:
        if self._vector is None:
            self._vector = self._finish(self._pending.result())
        return self._vector


@cache
def _beside() -> ThreadPoolExecutor:
    """Returns a pool with as many threads as answer requests, so that none waits for the vector of another."""
    return ThreadPoolExecutor(settings.MEMOS_WEB_THREADS, thread_name_prefix="embed-question")


# Keyed by model, the caller's reach (so that timing does not reveal others' questions) and a digest of the text.
_questions: Cache[tuple[int, reach.Reach, bytes], np.ndarray] = for_seconds(QUESTION_SECONDS, most=QUESTIONS_KEPT)
# Keyed by model; a process uses one, and during a switch also the former one.
_requests: Cache[int, np.ndarray] = for_seconds(QUESTION_SECONDS * 144, most=4)
# Keyed by model, the caller's reach, and the speaker's name.
_speakers: Cache[tuple[int, reach.Reach, str], np.ndarray] = for_seconds(QUESTION_SECONDS, most=QUESTIONS_KEPT)
# The cache has one key.
_active: Cache[None, ActiveModel] = for_seconds(KNOWN_SECONDS)


def active_model(*, choose: bool = True) -> ActiveModel:
    """Returns the active model; on an empty server the configured one becomes active, if the caller may `choose`.

    Raises EmbeddingUnavailable.
    """
    known = _active.get(None)
    if known is not None:
        return known
    row = EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first()
    if row is None and not choose:
        raise EmbeddingUnavailable("No embedding model is active yet: remember something first.")
    row = row or _first_model()
    return _active.put(None, ActiveModel(row.pk, row.provider, row.name, row.dimensions))


def _first_model() -> EmbeddingModel:
    provider, name = read_configured_model()
    row = find_model_row(provider, name)
    try:
        with transaction.atomic():
            EmbeddingModel.objects.filter(pk=row.pk).update(state=EmbeddingState.ACTIVE)
    except IntegrityError:
        # Another process has activated another model first.
        return EmbeddingModel.objects.get(state=EmbeddingState.ACTIVE)
    row.state = EmbeddingState.ACTIVE
    return row


def find_model_row(provider: str, name: str) -> EmbeddingModel:
    """Finds or creates the row of a model. Raises EmbeddingUnavailable."""
    dimensions = provider_for(provider, name).dimensions
    row, _ = EmbeddingModel.objects.get_or_create(
        provider=provider, name=name, dimensions=dimensions, defaults={"state": EmbeddingState.BUILDING}
    )
    return row


def forget_active_model() -> None:
    """Clears the cached active model, so that this process looks it up again."""
    _active.clear()
