"""Checks the embedding and reranking models of search, and the stored vectors."""

from __future__ import annotations

import time

from django.conf import settings

from memory.enums import EmbeddingState
from memory.errors import EmbeddingUnavailable, RerankUnavailable
from memory.models import EmbeddingModel, MemoryVector
from memory.providers.embedding.minilm import GLOSSING
from memory.providers.embedding.registry import provider_for, read_configured_model
from memory.providers.rerank.registry import find_reranker
from memory.services.diagnosis.finding import FAIL, OK, START_WORKER, WARN, Finding
from memory.services.index import hnsw_indexes as indexes
from memory.services.index import marks
from memory.services.index.missing_vectors import pending_count


def embedding_works() -> Finding:
    """Load the model that search uses (without one: the configured one) and embed a sentence."""
    active = _active_model()
    provider, name = (active.provider, active.name) if active else read_configured_model()
    label = f"{provider}/{name}"
    fixes = {
        "minilm": "run `make install` (weights), and let MEMOS_MODEL_DIR be a folder that this user may write",
        "openai": "check MEMOS_EMBEDDING_BASE_URL, MEMOS_EMBEDDING_API_KEY and that the endpoint runs",
    }
    try:
        started = time.perf_counter()
        maker = provider_for(provider, name)
        maker.embed(["ready"])
        loaded = time.perf_counter()
        vector = maker.embed(["How long does one sentence take?"])[0]
        done = time.perf_counter()
    except EmbeddingUnavailable as error:
        return Finding(
            FAIL, "embedding model", f"{label}: {error.message}", fixes.get(provider, "repair what it names")
        )
    if active and len(vector) != active.dimensions:
        what = f"{label} makes vectors of {len(vector)} dimensions, the stored ones have {active.dimensions}"
        return Finding(
            FAIL, "embedding model", what, "restore the former model, or `manage.py reembed` to another name"
        )
    times = f"ready in {(loaded - started) * 1000:.0f} ms, a sentence in {(done - loaded) * 1000:.1f} ms"
    what = f"{label}, {len(vector)} dimensions, {times}"
    return Finding(OK, "embedding model", what)


def embedding_agrees() -> Finding:
    provider, name = read_configured_model()
    active = _active_model()
    if active is None:
        return Finding(OK, "embedding choice", f"none yet: {provider}/{name} with the first memory")
    if (active.provider, active.name + GLOSSING) == (provider, name):
        fix = f"`manage.py reembed` switches search to {provider}/{name}; or set MEMOS_EMBEDDING_MODEL={active.name}"
        return Finding(WARN, "embedding choice", f"search uses {active}, which does not read Chinese", fix)
    if (active.provider, active.name) != (provider, name):
        fix = (
            f"`manage.py reembed` switches search to {provider}/{name}; or set "
            f"MEMOS_EMBEDDING_PROVIDER={active.provider} MEMOS_EMBEDDING_MODEL={active.name}"
        )
        return Finding(WARN, "embedding choice", f"search uses {active}, the settings name {provider}/{name}", fix)
    building = EmbeddingModel.objects.filter(state=EmbeddingState.BUILDING).first()
    if building:
        made = MemoryVector.objects.across_namespaces().filter(model_id=building.pk).count()
        fix = f"to finish: manage.py reembed --provider {building.provider} --model {building.name}"
        return Finding(WARN, "embedding choice", f"a switch to {building} stopped after {made} vectors", fix)
    return Finding(OK, "embedding choice", f"search uses {active}, as configured")


def vectors() -> Finding:
    if mismarked := marks.wrong():
        what = f"{mismarked} memories are said to have one and have none, or the other way round"
        return Finding(WARN, "vectors", what, "manage.py doctor --recount, or wait for the worker's hourly check")
    if pending := pending_count():
        what = f"{pending} memories have none and are found by their words only"
        return Finding(WARN, "vectors", what, f"the worker makes them, once the model works; {START_WORKER}")
    return Finding(OK, "vectors", "every memory has one")


def hnsw_indexes() -> Finding:
    """Check whether the large namespaces have an HNSW index that searches use."""
    name, state = "HNSW indexes", indexes.look()
    if state.left_out:
        what = f"{len(state.left_out)} large namespaces have none: as many as may have one already"
        return Finding(
            WARN, name, what, "spread them over several servers, or archive what is old: all their vectors are compared"
        )
    if missing := [place for place in state.wanted if place not in state.valid]:
        what = f"{len(missing)} of {len(state.wanted)} are not whole yet; their namespaces are searched without"
        return Finding(
            WARN, name, what, f"the worker makes them, one at a time; `manage.py jobs` has why not; {START_WORKER}"
        )
    return Finding(OK, name, f"{len(state.wanted)}, all whole" if state.wanted else "no namespace needs one")


def reranking() -> Finding:
    """Check the reranker with as many texts as a query has: it must answer, in time, and rank the answer first."""
    name = "reranking"
    try:
        reranker = find_reranker()
        if reranker is None:
            return Finding(OK, name, "off")
        right, wrong = "The train to Lyon leaves at 9:04.", "We painted the kitchen yellow."
        reranker.scores("ready", [right])
        loaded = time.perf_counter()
        count = max(settings.MEMOS_RERANK_CANDIDATES, 2)
        scores = reranker.scores("When does the train to Lyon leave?", [right, *[wrong] * (count - 1)])
        spent = time.perf_counter() - loaded
    except RerankUnavailable as error:
        fix = "repair what it names, or set MEMOS_RERANK_PROVIDER=off; until then queries are ranked without it"
        return Finding(FAIL, name, error.message, fix)
    if scores[0] <= max(scores[1:]):
        what = f"{reranker.name} prefers a sentence about a kitchen to the answer about a train"
        return Finding(WARN, name, what, "use a model that was trained for reranking, or MEMOS_RERANK_PROVIDER=off")
    return Finding(OK, name, f"{reranker.name}, {count} short texts in {spent * 1000:.0f} ms")


def _active_model() -> EmbeddingModel | None:
    return EmbeddingModel.objects.filter(state=EmbeddingState.ACTIVE).first()
