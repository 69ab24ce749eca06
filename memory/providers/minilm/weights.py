"""The files of the model: their names, and the table of word embeddings."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

HIDDEN = 384
VOCABULARY = 30_522
PRECISIONS = ("int8", "fp32")
# Raise when the graph changes, so that a cached file of an older layout is not used.
GRAPH_VERSION = 3
# Rows of the table of words that a process keeps: 3 MB.
KEPT_WORDS = 2_048


class WeightsError(RuntimeError):
    """The bundled weights are absent, damaged or not the published ones."""


def graph_filename(precision: str) -> str:
    return f"all-MiniLM-L6-v2-{precision}-v{GRAPH_VERSION}.onnx"


def words_filename() -> str:
    return f"all-MiniLM-L6-v2-words-v{GRAPH_VERSION}.npy"


def remove_earlier_files(folder: Path) -> None:
    """Deletes from `folder` what earlier versions made, as far as it can: those that run have it open."""
    for version in range(1, GRAPH_VERSION):
        for name in (*(f"{precision}-v{version}.onnx" for precision in PRECISIONS), f"words-v{version}.npy"):
            with suppress(OSError):
                (folder / f"all-MiniLM-L6-v2-{name}").unlink(missing_ok=True)


class RowTable:
    """A table of embeddings in `file`, of which the rows that are asked for are read.

    Mapped, all of it would soon be in memory: a page that is read brings those beside it. Raises WeightsError when the
    file is damaged.
    """

    def __init__(self, file: Path, *, shape: tuple[int, ...], dtype: np.dtype, dimensions: int) -> None:
        try:
            table = np.load(file, mmap_mode="r")
        except (ValueError, EOFError) as error:
            raise WeightsError(f"{file} is damaged") from error
        if table.shape != shape or table.dtype != dtype:
            raise WeightsError(f"{file} is damaged")
        self._begin: int = table.offset
        self._row: Any = np.empty(shape[1:], dtype)
        self._dimensions = dimensions
        self._size = shape[0]
        self._file = file.open("rb", buffering=0)
        self._reading = threading.Lock()
        self._start_anew(0)

    def decode(self, row: np.ndarray) -> np.ndarray:
        """Returns the embedding of a stored row, which is the row itself where nothing else is said."""
        return row

    def find(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Finds the embeddings of `ids`, int32 of any shape: where each is in a table, int32 of that shape, and the
        table, float32 [rows, dimensions]."""
        with self._reading:
            places = self._places[ids]
            if places.min(initial=0) < 0:
                missing = np.unique(ids[places < 0])
                if self._count + len(missing) > len(self._rows):
                    missing = np.unique(ids)
                    self._start_anew(len(missing))
                self._read(missing)
                places = self._places[ids]
            return places, self._rows

    def _start_anew(self, least: int) -> None:
        # Runs under way keep the rows that they were given.
        self._rows = np.empty((max(KEPT_WORDS, least), self._dimensions), dtype=np.float32)
        self._places = np.full(self._size, -1, dtype=np.int32)
        self._count = 0

    def _read(self, words: np.ndarray) -> None:
        row_bytes = self._row.nbytes
        for word in words.tolist():
            if os.preadv(self._file.fileno(), [self._row], self._begin + word * row_bytes) != row_bytes:
                raise WeightsError(f"{self._file.name} is damaged")
            self._rows[self._count] = self.decode(self._row)
            self._places[word] = self._count
            self._count += 1


class WordTable(RowTable):
    """The table of word embeddings, float32 [30522, 384]."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, shape=(VOCABULARY, HIDDEN), dtype=np.dtype(np.float32), dimensions=HIDDEN)
