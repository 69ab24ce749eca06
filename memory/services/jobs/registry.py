"""Finds the function of a job by its kind: the public names of the modules called `tasks` below `memory`.

A task takes what the job was queued with (ids and names) and `now`. Run twice, it changes nothing the second time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from memory.models import Namespace
from memory.types import Scope

WORKER = "worker"
_ROOT = Path(__file__).resolve().parents[3]


class NothingLeft(Exception):
    """Ends a job whose namespace was deleted meanwhile: nothing is left to do."""


@cache
def load_tasks() -> dict[str, ModuleType]:
    """Imports the modules of all tasks; returns them by kind."""
    names = [path.relative_to(_ROOT).with_suffix("").parts for path in (_ROOT / "memory").glob("**/tasks.py")]
    return {kind: module for name in names for module in [import_module(".".join(name))] for kind in module.__all__}


def find_task(kind: str) -> Callable[..., Any]:
    """Returns the task of a kind. Raises KeyError, or ImportError for a whole path that leads nowhere."""
    task: Callable[..., Any] = import_string(kind) if "." in kind else getattr(load_tasks()[kind], kind)
    return task


def scope_of(namespace_id: int, actor: str = WORKER) -> Scope:
    """Returns the scope of a job's namespace. Raises NothingLeft."""
    name = Namespace.objects.filter(pk=namespace_id).values_list("name", flat=True).first()
    if name is None:
        raise NothingLeft
    return Scope(namespace_id, name, actor)


def slice_seconds() -> float:
    """Returns how long one run of a schedule may keep a worker from other jobs."""
    return min(10.0, settings.MEMOS_JOB_TIMEOUT_SECONDS / 2)
