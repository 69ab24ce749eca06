"""Background jobs that dump cubes to files and load them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone

from memory.services.cube_files import requests, run
from memory.spool import clear_leftovers

__all__ = ["dump_cube", "forget_cube_files", "load_cube"]


def dump_cube(namespace_id: int, file_id: str, *, now: datetime) -> int:
    """Write a namespace into a cube's file; return its number of bytes."""
    return run.carry_out_dump(namespace_id=namespace_id, file_id=UUID(file_id), now=timezone.now)


def load_cube(namespace_id: int, file_id: str, *, now: datetime) -> int:
    """Load a cube's file; return how many lines were processed."""
    return run.carry_out_load(namespace_id=namespace_id, file_id=UUID(file_id), now=timezone.now)


def forget_cube_files(*, now: datetime) -> int:
    """Delete old files of dumps, their rows later, and files that killed processes have left on this machine's disk."""
    clear_leftovers()
    return requests.forget(now=now)
