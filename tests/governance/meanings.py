"""What texts mean, for tests of what is decided by it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from memory.governance.likelihood import Nearness


class AllAsNear:
    """Every two texts have the same cosine."""

    def __init__(self, cosine: float) -> None:
        self._cosine = cosine

    def know(self, statement: str, clause: str, former: str) -> bool:
        return True

    def measure(self, statement: str, clause: str, formers: Collection[str]) -> Mapping[str, Nearness]:
        return {former: Nearness(self._cosine, self._cosine) for former in formers}
