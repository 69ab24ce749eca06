"""Search by meaning in a large namespace: the nearest IVF lists by estimate, the best of their codes exactly.

What is in no list yet is compared one by one, so a memory is found as soon as it is written. Lists are hints: every hit
is read from its vector, which says whether it is still there and searchable.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from memory.caches import Cache, up_to
from memory.models.sql import fetch, uuid_array
from memory.retrieval import ivf
from memory.retrieval.arms import ArmHit
from memory.retrieval.ivf import CoarseQuantizer, ProbedLists
from memory.retrieval.question import Question
from memory.text.vectors import halfvec_literal
from memory.types import Scope

# Candidates compared exactly, for each hit asked for and at least. Measured on real sentences and questions, 200 find
# of the top 10 what all candidates would; of vectors without clusters, 400 find 98 %.
COMPARED_PER_HIT = 2
COMPARED = 400
# Half a million memories have 6 MB of centroids.
_QUANTIZERS_BYTES = 64 * 1024 * 1024

# By namespace and model.
_quantizers: Cache[tuple[int, int], CoarseQuantizer] = up_to(_QUANTIZERS_BYTES, size_of=lambda kept: kept.bytes)

_CENTROIDS = """
SELECT i.version, l.number, l.size, l.centroid
FROM memory_ivfindex i
JOIN memory_ivflist l ON l.namespace_id = i.namespace_id AND l.model_id = i.model_id
WHERE i.namespace_id = %(namespace_id)s AND i.model_id = %(model_id)s
"""

# One statement, one snapshot: the codes belong to the centroids of the version that comes with them.
_CODES = """
SELECT i.version, l.number, l.codes
FROM memory_ivfindex i
LEFT JOIN memory_ivflist l
       ON l.namespace_id = i.namespace_id AND l.model_id = i.model_id AND l.number = ANY(%(numbers)s::int[])
WHERE i.namespace_id = %(namespace_id)s AND i.model_id = %(model_id)s
"""

# OFFSET 0 keeps the planner from reading the whole namespace by its key, which is in the order of the groups.
_SCORES = """
SELECT memory_id::text, 1 - min(distance)
FROM (
    SELECT memory_id, embedding <=> %(vector)s::halfvec AS distance
    FROM memory_memoryvector
    WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable
      AND memory_id = ANY(%(ids)s::uuid[])
    UNION ALL
    (
        SELECT memory_id, min(distance) AS distance
        FROM (
            SELECT memory_id, embedding <=> %(vector)s::halfvec AS distance
            FROM memory_memoryvector
            WHERE namespace_id = %(namespace_id)s AND model_id = %(model_id)s AND searchable AND NOT filed
            OFFSET 0
        ) AS unfiled
        GROUP BY memory_id ORDER BY min(distance)::float4, memory_id DESC LIMIT %(unfiled)s
    )
) AS compared
GROUP BY memory_id
"""


def search(scope: Scope, question: Question, *, limit: int) -> list[ArmHit]:
    """As `dense.search`, without a predicate: of the nearest 10 at least 98 in 100 are there (bench/scale.py).

    A memory is as near as its nearest passage: a passage farther off may not be looked at, and need not be.
    """
    count = max(COMPARED, COMPARED_PER_HIT * limit)
    depth = ivf.CANDIDATES
    probed = _probe(scope, question, depth=depth)
    shortlist = probed.best(count) if probed else []
    compared = set(shortlist)
    found = _scores(scope, question, compared, unfiled=limit)
    while True:
        there = sum(1 for identity in shortlist if identity in found)
        if there >= limit and 2 * there >= len(shortlist):
            break
        # Many codes are of gone or of the same memories: more of them are compared, then more lists probed.
        if probed is None or (probed.are_all and count >= len(probed.codes)):
            break
        if count < len(probed.codes):
            count *= 4
        else:
            depth *= 4
            probed = _probe(scope, question, depth=depth)
        shortlist = probed.best(count) if probed else []
        found |= _scores(scope, question, {*shortlist} - compared, unfiled=0)
        compared.update(shortlist)
    # As in exact search: equals to seven digits are equal, and the newer of them comes first.
    rounded = np.array(list(found.values()), dtype=np.float32).tolist()
    ordered = sorted(zip(rounded, found, strict=True), reverse=True)[:limit]
    return [ArmHit(identity, found[identity], rank) for rank, (_, identity) in enumerate(ordered, start=1)]


def _probe(scope: Scope, question: Question, *, depth: int) -> ProbedLists | None:
    """The lists nearest to the question, of `depth` codes or a few more together; None where there are no lists."""
    key = (scope.namespace_id, question.model_id)
    place = {"namespace_id": scope.namespace_id, "model_id": question.model_id}
    vector = ivf.rotate(question.vector[None])[0]
    known = _quantizers.get(key) or _read_quantizer(key)
    while known is not None:
        rows = known.choose_lists(vector, codes=depth)
        numbers = known.numbers[rows].tolist()
        read = fetch(_CODES, {**place, "numbers": numbers}, prepared=True, binary=True)
        if read and read[0][0] == known.version:
            packed = {number: codes for _, number, codes in read}
            parts = [packed[number] for number in numbers]
            are_all = len(numbers) == len(known.numbers)
            return ivf.scan_lists(vector, known.centroids[rows], parts, are_all=are_all)
        # The worker has changed the centroids.
        known = _read_quantizer(key)
    return None


def _read_quantizer(key: tuple[int, int]) -> CoarseQuantizer | None:
    read = fetch(_CENTROIDS, {"namespace_id": key[0], "model_id": key[1]}, prepared=False, binary=True)
    if not read:
        _quantizers.forget(key)
        return None
    centroids = np.frombuffer(b"".join(row[3] for row in read), dtype="<f2").reshape(len(read), -1)
    fresh = CoarseQuantizer.of(
        read[0][0], [row[1] for row in read], centroids.astype(np.float32), [row[2] for row in read]
    )
    return _quantizers.put(key, fresh)


def _scores(scope: Scope, question: Question, ids: Collection[str], *, unfiled: int) -> dict[str, float]:
    """Exact scores of those of `ids` that are searchable, and of the `unfiled` nearest that no list holds yet."""
    parameters = {
        "vector": halfvec_literal(question.vector),
        "namespace_id": scope.namespace_id,
        "model_id": question.model_id,
        "ids": uuid_array(ids),
        "unfiled": unfiled,
    }
    return dict(fetch(_SCORES, parameters, prepared=True))
