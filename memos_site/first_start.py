"""What a start says to whoever supervises it. Loads no Django."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StartSettings:
    """Settings that whoever supervises the servers needs. `address`: the URL that MemOS will answer at.
    `public_address`: the one that programs elsewhere are given.

    `embedding`: the arguments of the embedding process; None where none is needed.
    """

    address: str
    public_address: str
    static_root: str
    demo: bool
    logging: dict[str, Any]
    embedding: list[str] | None


@dataclass(frozen=True, slots=True)
class FirstStart:
    """What this run made; None for what was there already. Password and key cannot be shown again."""

    admin_user: str | None
    admin_password: str | None
    api_key: str | None
    demo_memories: int
