"""Draws the map of a namespace: axes through its vectors, positions of its memories on them, and named clusters.

The worker draws it on request (`ask`). Axes stay until the namespace has grown to GROWN times the size that they were
fitted to, or new ones are requested: with the same axes, new memories are placed and old ones stay where they are.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from django.db import transaction

from memory.enums import EmbeddingState, JobState
from memory.models import EmbeddingModel, Job, Memory, ProjectedMemory, Projection
from memory.models.keys import new_id
from memory.models.locks import Lock, lock_in_transaction
from memory.models.queries import memories as queries
from memory.retrieval import kmeans
from memory.retrieval.axes import Axes, cluster_count, naming_terms
from memory.services.jobs import queue, runner
from memory.text.analysis import terms
from memory.types import Scope

# The most points, which a browser draws at once without a pause.
SHOWN = 10_000
GROWN = 2
# The most memories whose texts are read to find the spelling of a cluster's words.
_SPELLED_FROM = 60
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of the map: the words that distinguish it (texts of memories, to be masked), and its points."""

    number: int
    words: list[str]
    size: int


@dataclass(frozen=True, slots=True)
class Chart:
    """A namespace's map as it was last drawn. `memories` have a vector; `shown` of them are on the map."""

    version: uuid.UUID
    explained: list[float]
    clusters: list[Cluster]
    memories: int
    shown: int
    placed_at: datetime
    fitted_at: datetime


@dataclass(frozen=True, slots=True)
class _Sample:
    """The memories to draw: at most SHOWN, with their vectors and terms, and the number of all."""

    ids: list[uuid.UUID]
    vectors: np.ndarray
    terms: list[list[str]]
    of: int
    read_at: datetime


@dataclass(frozen=True, slots=True)
class _Fitted:
    axes: Axes
    centroids: np.ndarray
    version: uuid.UUID
    on: int
    of: int
    read_at: datetime
    is_new: bool = field(default=False)


def chart(scope: Scope) -> Chart | None:
    """Return the map of the namespace for the active model; None if there is none."""
    row = _find_stored(scope)
    if row is None:
        return None
    shown = ProjectedMemory.objects.in_scope(scope).filter(model_id=row.model_id).values_list("cluster", flat=True)
    sizes = Counter(shown)
    clusters = [Cluster(number, named["words"], sizes[number]) for number, named in enumerate(row.clusters)]
    return Chart(
        row.version, row.explained, clusters, row.memories, sum(sizes.values()), row.placed_at, row.read_at
    )  # fmt: skip


def ask(scope: Scope, *, anew: bool = False) -> str:
    """Have the worker draw the map, or update it; `anew`: with new axes. Return the job's id."""
    with transaction.atomic():
        if anew:
            # Its points stay visible until the new ones are there.
            Projection.objects.in_scope(scope).update(fitted_of=0)
        return queue.enqueue(queue.PROJECT, scope.namespace_id)


def in_the_making(scope: Scope) -> Job | None:
    """Return the job that draws the namespace's map, if one waits or runs."""
    jobs = Job.objects.in_scope(scope).unfinished().filter(kind=queue.PROJECT.name)
    return jobs.order_by("-id").first()


def last_failure(scope: Scope) -> Job | None:
    """Return the last job that drew it, if it failed."""
    job = Job.objects.in_scope(scope).filter(kind=queue.PROJECT.name).order_by("-id").first()
    return job if job is not None and job.state == JobState.FAILED else None


def project(scope: Scope, *, now: datetime) -> int:
    """Draw the map: fit axes unless there are suitable ones, and place the sample; return how many memories.

    Memories erased while it reads leave no trace in the map, because it is then drawn again from the beginning.
    """
    model = EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first()
    for _try in range(_TRIES if model else 0):
        assert model is not None
        runner.report(0, 3)
        sample = _sample(scope, model.pk, now=now)
        if not sample.ids:
            Projection.objects.in_scope(scope).delete()
            return 0
        runner.report(1, 3)
        fitted = _fit_axes(_find_stored(scope), sample)
        clusters = kmeans.assign(sample.vectors, fitted.centroids)
        named = _name_clusters(scope, sample, clusters, count=len(fitted.centroids))
        runner.report(2, 3)
        if _store(scope, model.pk, sample=sample, fitted=fitted, clusters=clusters, named=named, now=now):
            return len(sample.ids)
    return 0


def _find_stored(scope: Scope) -> Projection | None:
    return Projection.objects.in_scope(scope).filter(model__state=EmbeddingState.ACTIVE).first()


def _sample(scope: Scope, model_id: int, *, now: datetime) -> _Sample:
    rows = queries.sample_for_map(scope.namespace_id, model_id, limit=SHOWN)
    # halfvec_send writes two 16-bit numbers, then the values, big-endian.
    values = b"".join(bytes(row[2])[4:] for row in rows)
    vectors = np.frombuffer(values, dtype=">f2").reshape(len(rows), -1 if rows else 0).astype(np.float32)
    return _Sample([row[0] for row in rows], vectors, [row[1] for row in rows], rows[0][3] if rows else 0, now)


def _fit_axes(row: Projection | None, sample: _Sample) -> _Fitted:
    """Return the stored axes if they are suitable, else new ones."""
    dimensions = sample.vectors.shape[1]
    if row is not None and sample.of < GROWN * row.fitted_of:
        axes = Axes(_floats(row.mean), _floats(row.components).reshape(-1, dimensions), row.explained)
        centroids = _floats(row.centroids).reshape(-1, dimensions)
        return _Fitted(axes, centroids, row.version, row.fitted_on, row.fitted_of, row.read_at)
    centroids = kmeans.train(sample.vectors, cluster_count(len(sample.ids)))
    axes = Axes.of(sample.vectors)
    return _Fitted(axes, centroids, new_id(), len(sample.ids), sample.of, sample.read_at, is_new=True)


def _name_clusters(scope: Scope, sample: _Sample, clusters: np.ndarray, *, count: int) -> list[dict[str, Any]]:
    """Return the clusters with their words, in the most frequent spelling of their memories."""
    by_cluster = naming_terms(clusters.tolist(), sample.terms, count=count)
    wanted: defaultdict[uuid.UUID, set[str]] = defaultdict(set)
    for number, names in enumerate(by_cluster):
        for term in names:
            holding = [sample.ids[row] for row in np.flatnonzero(clusters == number) if term in sample.terms[row]]
            for memory_id in holding[:_SPELLED_FROM]:
                wanted[memory_id].add(term)
    spelled = _spellings(scope, wanted)
    return [{"words": [spelled.get(term, term) for term in names]} for names in by_cluster]


def _spellings(scope: Scope, wanted: Mapping[uuid.UUID, set[str]]) -> dict[str, str]:
    """Return the most frequent spelling in these memories for each index term (stem)."""
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    texts = Memory.objects.in_scope(scope).filter(pk__in=wanted).values_list("pk", "text")
    for memory_id, text in texts:
        for word in dict.fromkeys(text.split()):
            plain = word.strip(".,;:!?\"'()[]{}<>*_`“”‘’«»。，；：！？（）").lower()
            own = terms(plain)
            if len(own) == 1 and own[0] in wanted[memory_id]:
                seen[own[0]][plain] += 1
    return {term: words.most_common(1)[0][0] for term, words in seen.items()}


class _Gone(Exception):
    """Data that were read no longer exist."""


def _store(
    scope: Scope,
    model_id: int,
    *,
    sample: _Sample,
    fitted: _Fitted,
    clusters: np.ndarray,
    named: list[dict[str, Any]],
    now: datetime,
) -> bool:
    """Replace the stored map; return False when a memory of the sample, or the axes, no longer exist."""
    coordinates = fitted.axes.place(sample.vectors)
    try:
        with transaction.atomic():
            lock_in_transaction(Lock.MAP, scope.namespace_id)
            row = Projection.objects.in_scope(scope).select_for_update().filter(model_id=model_id).first()
            if not fitted.is_new and (row is None or row.version != fitted.version):
                raise _Gone
            ProjectedMemory.objects.in_scope(scope).delete()
            placed = queries.place_on_map(
                scope.namespace_id,
                model_id,
                sample.ids,
                axes={name: coordinates[:, axis].tolist() for axis, name in enumerate("xyz")},
                clusters=clusters.tolist(),
            )
            if placed != len(sample.ids):
                raise _Gone
            Projection.objects.in_scope(scope).exclude(model_id=model_id).delete()
            Projection.objects.update_or_create(
                namespace_id=scope.namespace_id,
                model_id=model_id,
                defaults={
                    "version": fitted.version,
                    "mean": fitted.axes.mean.tobytes(),
                    "components": fitted.axes.components.tobytes(),
                    "explained": fitted.axes.explained,
                    "centroids": fitted.centroids.tobytes(),
                    "clusters": named,
                    "fitted_on": fitted.on,
                    "fitted_of": fitted.of if fitted.is_new or row is None else row.fitted_of,
                    "memories": sample.of,
                    "read_at": fitted.read_at,
                    "placed_at": now,
                },
            )
    except _Gone:
        return False
    return True


def _floats(stored: bytes | memoryview) -> np.ndarray:
    return np.frombuffer(bytes(stored), dtype=np.float32)
