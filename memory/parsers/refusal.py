"""Why a file is not read."""

from __future__ import annotations


class FileRefused(Exception):
    """`reason` is a value of `memory.enums.FileRefusal`; `says` is for people: what is wrong, and how to mend it."""

    def __init__(self, reason: str, says: str) -> None:
        super().__init__(says)
        self.reason = reason
        self.says = says
