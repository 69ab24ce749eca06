"""Records the parts of the configuration that a search's result depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from memory.enums import ARMS
from memory.retrieval.arms import bm25
from memory.retrieval.candidate_features import DENSE_POOL, LEXICAL_POOL
from memory.retrieval.fusion import RARE_WORDS, SIGNALS, WORDS
from memory.services.index.embedding_model import ActiveModel

_PREFIXES = ("MEMOS_EMBEDDING_", "MEMOS_RETRIEVAL_", "MEMOS_RERANK_", "MEMOS_TOKENIZER")
# The address of a model doesn't affect the result, and may contain a password.
_PRIVATE = ("_KEY", "_URL", "_PASSWORD", "_SECRET")


def snapshot(model: ActiveModel, *, weights: Mapping[str, float]) -> dict[str, Any]:
    """Return the configuration as JSON; `weights` are the retrievers' mean weights over the questions."""
    return {
        "version": settings.SPECTACULAR_SETTINGS["VERSION"],
        "embedding": {"provider": model.provider_name, "model": model.name, "dimensions": model.dimensions},
        "arms": list(ARMS),
        "weights": {arm: round(weight, 6) for arm, weight in weights.items()},
        "signals": SIGNALS,
        "evidence": {"words": WORDS, "rare_words": RARE_WORDS},
        "pools": {"dense": DENSE_POOL, "lexical": LEXICAL_POOL},
        "bm25": {"k1": bm25.K1, "b": bm25.B},
        "settings": {
            name: getattr(settings, name)
            for name in sorted(dir(settings))
            if name.startswith(_PREFIXES) and not name.endswith(_PRIVATE)
        },
    }
