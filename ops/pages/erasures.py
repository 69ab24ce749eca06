"""Builds the receipt of an erasure: its target, what was cleared where, and whether anything is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.apps import apps
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy

from memory.enums import ErasureStatus, ErasureTarget
from ops.words import Words

STATUSES: Mapping[str, tuple[str, Words]] = {
    ErasureStatus.QUEUED: ("info", gettext_lazy("Queued")),
    ErasureStatus.RUNNING: ("busy", gettext_lazy("Running")),
    ErasureStatus.WAITING: ("weak", gettext_lazy("Waits for a part that is away")),
    ErasureStatus.FINISHED: ("good", gettext_lazy("All erased")),
    ErasureStatus.FAILED: ("bad", gettext_lazy("Failed")),
}
TARGETS: Mapping[str, Words] = {
    ErasureTarget.MEMORIES: gettext_lazy("Memories that were named"),
    ErasureTarget.SESSION: gettext_lazy("A session"),
    ErasureTarget.SPEAKER: gettext_lazy("What one person said"),
    ErasureTarget.NAMESPACE: gettext_lazy("Everything in the namespace"),
}
# Titles of places that are not tables, or whose table name is unclear.
_HOLDERS: Mapping[str, Words] = {
    "memory_auditwords": gettext_lazy("words of the audit log"),
    "memory_posting": gettext_lazy("words that memories are found by"),
    "memory_memoryvector": gettext_lazy("vectors"),
    "django_q_ormq": gettext_lazy("messages of the queue"),
    "django_q_task": gettext_lazy("results of the queue"),
    "redis_window": gettext_lazy("session windows"),
    "redis_working_memory": gettext_lazy("working memory"),
    "redis_console_probes": gettext_lazy("questions asked in the console"),
}


@dataclass(frozen=True, slots=True)
class HolderShown:
    """A place that held data of the erasure. `left` is None until it is counted again."""

    title: Words
    cleared: int
    left: int | None


@dataclass(frozen=True, slots=True)
class ErasureShown:
    """An erasure. `holders` are the places that held data of it."""

    id: str
    namespace: str
    tone: str
    word: Words
    is_open: bool
    target: Words
    memories: int
    documents: int
    summaries: int
    reason: str
    actor: str
    waiting_for: str
    error: str
    created_at: datetime | None
    finished_at: datetime | None
    notes: Sequence[str]
    holders: list[HolderShown]


def erasure_shown(values: Mapping[str, Any]) -> ErasureShown:
    """Return an erasure from the service's description of it."""
    tone, word = STATUSES[values["status"]]
    titles = {model._meta.db_table: model._meta.verbose_name_plural for model in apps.get_models()}
    held = {name: counts for name, counts in values["holders"].items() if any(counts.values())}
    return ErasureShown(
        id=values["id"],
        namespace=values["namespace"],
        tone=tone,
        word=word,
        is_open=values["status"] not in (ErasureStatus.FINISHED, ErasureStatus.FAILED),
        target=TARGETS[values["target"]],
        memories=values["found"],
        documents=values["documents"],
        summaries=values["summaries_rebuilt"],
        reason=values["reason"],
        actor=values["actor"],
        waiting_for=values["waiting_for"],
        error=values["error"],
        created_at=_moment(values["created_at"]),
        finished_at=_moment(values["finished_at"]),
        notes=values["notes"],
        holders=[
            HolderShown(_HOLDERS.get(name) or titles.get(name, name), counts.get("cleared", 0), counts.get("left"))
            for name, counts in held.items()
        ],
    )


def _moment(value: str | None) -> datetime | None:
    return parse_datetime(value) if value else None
