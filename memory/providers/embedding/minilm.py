"""all-MiniLM-L6-v2: bundled weights, no torch, nothing to download."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from django.conf import settings

from memory.errors import EmbeddingUnavailable
from memory.providers.cedict import Dictionary
from memory.providers.embedding.interface import EmbeddingModelKind, Pending
from memory.providers.gloss import add_glosses, has_chinese, unread_share
from memory.providers.minilm.client import EmbeddingClient, EmbeddingServerAway, PendingVectors
from memory.providers.minilm.model import MiniLM
from memory.providers.minilm.scheduling import EmbeddingQueue
from memory.providers.minilm.weights import HIDDEN, PRECISIONS, WeightsError
from memory.text.analysis import cjk_share
from memory.text.languages import unread_letters
from memory.text.question_frames import FRAMES

DEFAULT_MODEL = "all-MiniLM-L6-v2-int8-zh"
# Ends the name of a model that reads Chinese by way of a dictionary.
GLOSSING = "-zh"


class MiniLMEmbedding:
    """Vectors of 384 dimensions; about 0.2 ms of one core a word of text.

    `name` holds the precision: int8 (weights and activations a row at a time, twice as fast) or fp32. With `-zh` at its
    end Chinese is read word by word through a dictionary; without, as the model alone reads it, which is badly.
    Batches are sorted by length and cut into runs, `threads` of them at a time. With `socket` the process that answers
    there has the model, and this one none. Raises EmbeddingUnavailable when the bundled weights are missing, or that
    process does not answer.
    """

    def __init__(self, name: str, *, model_dir: Path, threads: int, socket: Path | None = None) -> None:
        self._glossing = name.endswith(GLOSSING)
        precision = read_precision(name)
        if precision not in PRECISIONS:
            raise EmbeddingUnavailable(
                f"unknown MiniLM model {name!r}: use {DEFAULT_MODEL} or all-MiniLM-L6-v2-fp32{GLOSSING}"
            )
        self._model_dir = model_dir
        self._client = EmbeddingClient(socket, precision) if socket else None
        self._model = MiniLM(precision, model_dir)
        self._queue = EmbeddingQueue(threads)
        self._loading = threading.Lock()
        self._framing = threading.Lock()

    @property
    def dimensions(self) -> int:
        return HIDDEN

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        texts = self._as_read(texts)
        with _describe_faults():
            return self._client.embed(texts) if self._client else self._queue.embed(self._model, texts)

    def start(self, texts: Sequence[str]) -> Pending | None:
        """See `EmbedsElsewhere`."""
        return _SentTexts(self._client.start(self._as_read(texts))) if self._client else None

    def familiarity(self, text: str) -> float:
        share = cjk_share(text)
        if share and self._glossing:
            share *= unread_share(text, self._load_dictionary())
        return max(0.0, 1.0 - share - unread_letters(text))

    def frames(self) -> np.ndarray:
        with self._framing:
            return self._frames

    def _as_read(self, texts: Sequence[str]) -> Sequence[str]:
        if not (self._glossing and any(map(has_chinese, texts))):
            return texts
        dictionary = self._load_dictionary()
        return [add_glosses(text, dictionary) for text in texts]

    def _load_dictionary(self) -> Dictionary:
        with self._loading:
            return self._dictionary

    @cached_property
    def _frames(self) -> np.ndarray:
        return self.embed(FRAMES)

    @cached_property
    def _dictionary(self) -> Dictionary:
        return Dictionary(self._model_dir)


@dataclass(frozen=True, slots=True)
class _SentTexts:
    vectors: PendingVectors

    def result(self) -> np.ndarray:
        with _describe_faults():
            return self.vectors.result()


@contextmanager
def _describe_faults() -> Iterator[None]:
    try:
        yield
    except (WeightsError, EmbeddingServerAway) as error:
        raise EmbeddingUnavailable(str(error)) from error


def read_precision(name: str) -> str:
    """The precision that the name of a model holds."""
    return name.removesuffix(GLOSSING).rsplit("-", 1)[-1]


def _make(name: str, _: int) -> MiniLMEmbedding:
    return MiniLMEmbedding(
        name,
        model_dir=settings.MEMOS_MODEL_DIR,
        threads=settings.MEMOS_EMBEDDING_THREADS,
        socket=Path(settings.MEMOS_EMBEDDING_SOCKET) if settings.MEMOS_EMBEDDING_SOCKET else None,
    )


KIND = EmbeddingModelKind(DEFAULT_MODEL, _make)
