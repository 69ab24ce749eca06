"""Vectors as PostgreSQL reads them."""

import numpy as np
import orjson


def halfvec_literal(vector: np.ndarray) -> str:
    """The text form of a vector, float32 [dimensions], that casts to `halfvec`."""
    return orjson.dumps(np.ascontiguousarray(vector), option=orjson.OPT_SERIALIZE_NUMPY).decode()
