"""all-MiniLM-L6-v2, alone or with a multilingual model beside it: bundled weights, no torch, nothing to download."""

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
from memory.providers.embedding.interface import WHOLE, EmbeddingModelKind, Pending
from memory.providers.gloss import add_glosses, has_chinese, unread_share
from memory.providers.minilm import joint
from memory.providers.minilm.client import EmbeddingClient, EmbeddingServerAway, PendingVectors
from memory.providers.minilm.joint import JOINED, MODELS, ReadText, make_model
from memory.providers.minilm.scheduling import EmbeddingQueue
from memory.providers.minilm.weights import WeightsError
from memory.text.analysis import cjk_share
from memory.text.languages import may_be_in_another_language, unread_letters
from memory.text.question_frames import FRAMES, take_out

DEFAULT_MODEL = "all-MiniLM-L6-v2-int8-zh"
# Ends the name of MiniLM that reads Chinese by way of a dictionary.
GLOSSING = "-zh"


class MiniLMEmbedding:
    """Vectors of 384 dimensions, or of 896 with the multilingual model; about 0.2 ms of one core a word of text.

    `name` holds the precision: int8 (weights and activations a row at a time, twice as fast) or fp32. With `-zh` behind
    it, MiniLM reads Chinese word by word through a dictionary; without, as the model alone reads it, which is badly.
    JOINED at its end adds the multilingual model (`joint`). Batches are sorted by length and cut into runs, `threads`
    of them at a time. With `socket` the process that answers there has the models, and this one none. Raises
    EmbeddingUnavailable when the bundled weights are missing, or that process does not answer.
    """

    def __init__(self, name: str, *, model_dir: Path, threads: int, socket: Path | None = None) -> None:
        self._is_joint = name.endswith(JOINED)
        self._glossing = name.removesuffix(JOINED).endswith(GLOSSING)
        model = read_model(name)
        if model not in MODELS:
            raise EmbeddingUnavailable(
                f"unknown MiniLM model {name!r}: use {DEFAULT_MODEL} or all-MiniLM-L6-v2-fp32{GLOSSING}, "
                f"with {JOINED} behind it for other languages"
            )
        self._model_dir = model_dir
        self._model = make_model(model, model_dir)
        self._client = EmbeddingClient(socket, model, self._model.dimensions) if socket else None
        self._queue = EmbeddingQueue(threads)
        self._loading = threading.Lock()
        self._framing = threading.Lock()

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    @property
    def parts(self) -> Sequence[slice]:
        return joint.PARTS if self._is_joint else WHOLE

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        read = self._as_read(texts)
        with _describe_faults():
            return self._client.embed(read) if self._client else self._queue.embed(self._model, read)

    def start(self, texts: Sequence[str]) -> Pending | None:
        """See `EmbedsElsewhere`."""
        return _SentTexts(self._client.start(self._as_read(texts))) if self._client else None

    def familiarity(self, text: str) -> float:
        own = self._read_share(text)
        if own == 1 or not self._is_joint:
            return own
        return max(own, 1.0 - unread_letters(text, scripts=joint.SCRIPTS, languages=joint.LANGUAGES))

    def as_questions(self, texts: Sequence[str], vectors: np.ndarray) -> np.ndarray:
        """Removes from the vectors what all questions have in common.

        In a joint model, the share of a question that MiniLM reads decides how much its part counts.
        """
        with self._framing:
            frames = self._frames
        if not self._is_joint:
            return take_out(frames, vectors)
        minilm, multilingual = map(take_out, joint.take_apart(frames), joint.take_apart(vectors))
        weight = joint.SHARE * np.array([self._share_to_trust(text) for text in texts])
        return joint.weigh(minilm, multilingual, weight=weight)

    def _share_to_trust(self, text: str) -> float:
        """Returns how much of its usual weight MiniLM has for a question: half where it may be in another language."""
        share = self._read_share(text)
        return share / 2 if not has_chinese(text) and may_be_in_another_language(text) else share

    def _read_share(self, text: str) -> float:
        """Returns the share (0..1) of a text that MiniLM reads."""
        share = cjk_share(text)
        if share and self._glossing:
            share *= unread_share(text, self._load_dictionary())
        return max(0.0, 1.0 - share - unread_letters(text))

    def _as_read(self, texts: Sequence[str]) -> Sequence[ReadText]:
        """Returns the texts as MiniLM reads them; beside it as they stand, where that differs and both are wanted."""
        if not (self._glossing and any(map(has_chinese, texts))):
            return texts
        dictionary = self._load_dictionary()
        read = [add_glosses(text, dictionary) for text in texts]
        if not self._is_joint:
            return read
        return [own if own == text else (own, text) for own, text in zip(read, texts, strict=True)]

    def _load_dictionary(self) -> Dictionary:
        with self._loading:
            return self._dictionary

    @cached_property
    def _frames(self) -> np.ndarray:
        """The vectors of questions without content."""
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


def read_model(name: str) -> str:
    """Returns which of `joint.MODELS` the name of a model asks for."""
    precision = name.removesuffix(JOINED).removesuffix(GLOSSING).rsplit("-", 1)[-1]
    return precision + JOINED if name.endswith(JOINED) else precision


def _make(name: str, _: int) -> MiniLMEmbedding:
    return MiniLMEmbedding(
        name,
        model_dir=settings.MEMOS_MODEL_DIR,
        threads=settings.MEMOS_EMBEDDING_THREADS,
        socket=Path(settings.MEMOS_EMBEDDING_SOCKET) if settings.MEMOS_EMBEDDING_SOCKET else None,
    )


KIND = EmbeddingModelKind(DEFAULT_MODEL, _make)
