"""Computes BM25: the weight of a term, and what one posting of it adds to a memory's score."""

from __future__ import annotations

import math

from memory.text.question_frames import FRAME_TERMS, TERM_WORTH

# The parameters of BM25 (Robertson et al. 1995). They are lower than the usual 1.2 and 0.75, because turns are short,
# and a repeated word adds little.
K1 = 0.9
B = 0.6

# `term_idf` in SQL, for a row with `term` and `holding` and the `memories` of `c`; `framing` has the FRAME_TERMS.
IDF = (
    "ln(1 + (c.memories - least(holding, c.memories) + 0.5) / (holding + 0.5::float8)) "
    f"* CASE WHEN term = ANY(%(framing)s::text[]) THEN {TERM_WORTH} ELSE 1 END"
)


def idf(*, holding: float, memories: float) -> float:
    """Computes the inverse document frequency (> 0) of a term that `holding` of `memories` memories hold."""
    return math.log(1 + (memories - min(holding, memories) + 0.5) / (holding + 0.5))


def term_idf(term: str, *, holding: float, memories: float) -> float:
    """Computes the `idf` of a question's `term`; terms that frame questions (FRAME_TERMS) count TERM_WORTH of it."""
    return idf(holding=holding, memories=memories) * (TERM_WORTH if term in FRAME_TERMS else 1.0)


def weight(idf: str, posting: str, mean_length: str) -> str:
    """Returns the SQL of one posting's score: `idf` and `mean_length` are expressions, `posting` names a row of
    postings."""
    length = f"{1 - B} + {B}::float8 * {posting}.length / {mean_length}"
    return f"{idf} * {posting}.frequency * {K1 + 1}::float8 / ({posting}.frequency + {K1}::float8 * ({length}))"
