"""Measures the steps of a retrieval."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from memory import tracing


class StepClock:
    """Measures steps; `laps` has the milliseconds of each."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measures the time of the enclosed code, and traces it as a span."""
        started = time.perf_counter()
        with tracing.span(f"recall {name}"):
            yield
        self.laps[name] = round((time.perf_counter() - started) * 1000, 3)
