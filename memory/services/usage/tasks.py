"""Background jobs that delete the calls of models; their sums by day stay."""

from __future__ import annotations

from memory.services.usage import calls

__all__ = ["forget_model_calls"]

forget_model_calls = calls.forget
