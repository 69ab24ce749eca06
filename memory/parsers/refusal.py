"""The exception for files that aren't read."""

from __future__ import annotations


class FileRefused(Exception):
    """Raised for a refused file. `reason` is a value of `memory.enums.FileRefusal`; `says` names cause and remedy."""

    def __init__(self, reason: str, says: str) -> None:
        super().__init__(says)
        self.reason = reason
        self.says = says
