"""Writes vectors for PostgreSQL."""

import numpy as np
import orjson


def halfvec_literal(vector: np.ndarray) -> str:
    """Return the text form of a vector, float32 [dimensions], which PostgreSQL casts to `halfvec`."""
    return orjson.dumps(np.ascontiguousarray(vector), option=orjson.OPT_SERIALIZE_NUMPY).decode()
