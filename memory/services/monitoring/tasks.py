"""Background jobs that delete old figures of requests."""

from __future__ import annotations

from memory.services.monitoring import request_stats

__all__ = ["forget_request_figures"]

forget_request_figures = request_stats.forget
