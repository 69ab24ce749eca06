"""Holds what a start tells its supervisor. Loads no Django."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StartSettings:
    """Settings that whoever supervises the servers needs. `address`: the URL that MemOS will answer at.
    `public_address`: the one that programs elsewhere are given.

    `embedding`: the arguments of the embedding process; None where none is needed. `hf_idle_seconds`: how long the
    process of local models goes on without a request.
    """

    address: str
    public_address: str
    static_root: str
    demo: bool
    logging: dict[str, Any]
    embedding: list[str] | None
    hf_idle_seconds: float


@dataclass(frozen=True, slots=True)
class FirstStart:
    """Holds what this run made; None for what was there already. Password and key cannot be shown again."""

    admin_user: str | None
    admin_password: str | None
    api_key: str | None
    demo_memories: int
