"""The files of the model: their names, and the table of word embeddings."""

from __future__ import annotations

from pathlib import Path

import numpy as np

HIDDEN = 384
VOCABULARY = 30_522
PRECISIONS = ("int8", "fp32")
# Raise when the graph changes, so that a cached file of an older layout is not used.
GRAPH_VERSION = 2


class WeightsError(RuntimeError):
    """The bundled weights are absent, damaged or not the published ones."""


def graph_filename(precision: str) -> str:
    return f"all-MiniLM-L6-v2-{precision}-v{GRAPH_VERSION}.onnx"


def words_filename() -> str:
    return f"all-MiniLM-L6-v2-words-v{GRAPH_VERSION}.npy"


def read_words(file: Path) -> np.ndarray:
    """The table of word embeddings, float32 [30522, 384], mapped from `file`.

    Raises WeightsError when it is damaged.
    """
    try:
        words: np.ndarray = np.load(file, mmap_mode="r")
        if words.shape == (VOCABULARY, HIDDEN) and words.dtype == np.float32:
            return words
    except (ValueError, EOFError):
        pass
    raise WeightsError(f"{file} is damaged")
