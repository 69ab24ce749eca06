"""Builds Adapters: data sets for training, adapters, their states, and their evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import AdapterState, TrainingState
from memory.governance.adapters import MAX_HARM, MIN_PARAPHRASES, MIN_RECALL, MIN_REFUSALS
from ops.access import MASK
from ops.words import Words

_DATASETS: Mapping[str, tuple[str, Words]] = {
    TrainingState.QUEUED: ("info", gettext_lazy("Queued")),
    TrainingState.RUNNING: ("busy", gettext_lazy("Running")),
    TrainingState.DONE: ("good", gettext_lazy("Done")),
    TrainingState.STALE: ("weak", gettext_lazy("Stale")),
    TrainingState.DROPPED: ("off", gettext_lazy("Deleted")),
    TrainingState.FAILED: ("bad", gettext_lazy("Failed")),
    TrainingState.DISCARDED: ("off", gettext_lazy("Discarded")),
}
_ADAPTERS: Mapping[str, tuple[str, Words]] = {
    AdapterState.TRAINING: ("busy", gettext_lazy("Training")),
    AdapterState.CANDIDATE: ("info", gettext_lazy("Candidate")),
    AdapterState.ACTIVE: ("good", gettext_lazy("Active")),
    AdapterState.REFUSED: ("bad", gettext_lazy("Refused")),
    AdapterState.STALE: ("weak", gettext_lazy("Stale")),
    AdapterState.RETIRED: ("off", gettext_lazy("Retired")),
}
_REASONS: Mapping[str, Words] = {
    "erased": gettext_lazy("erased"),
    "gone": gettext_lazy("deleted"),
    "changed": gettext_lazy("changed"),
    "superseded": gettext_lazy("superseded"),
    "reinstated": gettext_lazy("reinstated"),
    "archived": gettext_lazy("archived"),
}


@dataclass(frozen=True, slots=True)
class DatasetShown:
    """A data set. `lines` are by file; `stale` says which of its memories have changed."""

    id: str
    namespace: str
    tone: str
    word: Words
    lines: int
    pairs: int
    memories: int
    redacted: int
    problem: str
    stale: Sequence[tuple[Words, int]]
    created_at: datetime | None
    is_open: bool
    may_be_trained: bool
    may_be_deleted: bool


@dataclass(frozen=True, slots=True)
class MetricShown:
    """A figure of the evaluation, the required value, and whether it is met."""

    title: Words
    value: str
    wanted: str
    passes: bool | None


@dataclass(frozen=True, slots=True)
class AdapterShown:
    """An adapter as the pages show it."""

    id: str
    namespace: str
    name: str
    model: str
    tone: str
    word: Words
    state: str
    problem: str
    base_model: str
    base_sha256: str
    bytes: int
    metrics: Sequence[MetricShown]
    stale: Sequence[tuple[Words, int]]
    served_by: Sequence[str]
    erasures: Sequence[str]
    files: Sequence[tuple[str, str, int]]
    created_at: datetime | None
    activated_at: datetime | None
    is_training: bool
    may_be_activated: bool
    may_be_retired: bool


def dataset_shown(values: Mapping[str, Any]) -> DatasetShown:
    """Return a data set from the service's description of it."""
    tone, word = _DATASETS[values["state"]]
    lines = {name: about["lines"] for name, about in values["files"].items()}
    return DatasetShown(
        id=values["id"],
        namespace=values["namespace"],
        tone=tone,
        word=word,
        lines=lines.get("sft.jsonl", 0),
        pairs=lines.get("preference.jsonl", 0),
        memories=values["memories"],
        redacted=values["redacted"],
        problem=values["problem"] or "",
        stale=_stale(values["stale"]),
        created_at=parse_datetime(values["created_at"]),
        is_open=values["state"] in (TrainingState.QUEUED, TrainingState.RUNNING),
        may_be_trained=values["state"] == TrainingState.DONE and lines.get("sft.jsonl", 0) > 0,
        may_be_deleted=values["state"] != TrainingState.DROPPED,
    )


def adapter_shown(values: Mapping[str, Any], *, may_change: bool) -> AdapterShown:
    """Return an adapter from the service's description. Addresses of servers need the permission to change adapters."""
    tone, word = _ADAPTERS[values["state"]]
    state = values["state"]
    return AdapterShown(
        id=values["id"],
        namespace=values["namespace"],
        name=values["name"],
        model=values["model"],
        tone=tone,
        word=word,
        state=state,
        problem=values["problem"] or "",
        base_model=values["base_model"],
        base_sha256=values["base_sha256"],
        bytes=sum(about["bytes"] for about in values["files"].values()),
        metrics=_metrics(values["metrics"]),
        stale=_stale(values["stale"]),
        served_by=[address if may_change else MASK for address in values["served_by"]],
        erasures=values["erasures"],
        files=[(name, about["sha256"], about["bytes"]) for name, about in sorted(values["files"].items())],
        created_at=parse_datetime(values["created_at"]),
        activated_at=parse_datetime(values["activated_at"]) if values["activated_at"] else None,
        is_training=state == AdapterState.TRAINING,
        may_be_activated=state in (AdapterState.CANDIDATE, AdapterState.RETIRED) and bool(values["files"]),
        may_be_retired=state in (AdapterState.TRAINING, AdapterState.CANDIDATE, AdapterState.ACTIVE),
    )


def _metrics(metrics: Mapping[str, Any]) -> list[MetricShown]:
    if not metrics:
        return []
    shares = (
        (_("Right when asked in the words of training"), "recall", MIN_RECALL),
        (_("Right when asked in other words"), "paraphrases", MIN_PARAPHRASES),
        (_("Admits what it does not know"), "refusals", MIN_REFUSALS),
    )
    found = [
        MetricShown(title, _percent(metrics.get(name)), f"≥ {least:.0%}", (metrics.get(name) or 0.0) >= least)
        for title, name, least in shares
    ]
    for title, name, most in (
        (_("Loss on what it learnt"), "loss_facts", None),
        (_("Loss on general text"), "loss_general", MAX_HARM),
    ):
        before, after = metrics.get(name) or (None, None)
        if before is None or after is None:
            continue
        wanted = _("at most +%(most)s") % {"most": f"{most:.2f}"} if most is not None else _("lower than before")
        passes = after - before <= most if most is not None else after < before
        found.append(MetricShown(title, f"{before:.2f} → {after:.2f}", wanted, passes))
    if metrics.get("preferred") is not None:
        found.append(MetricShown(_("Prefers what holds now"), _percent(metrics["preferred"]), "", None))
    if metrics.get("seconds"):
        found.append(MetricShown(_("Time of training"), f"{metrics['seconds']:,.0f} s", "", None))
    return found


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _stale(reasons: Mapping[str, int]) -> list[tuple[Words, int]]:
    return [(_REASONS.get(name, name), count) for name, count in reasons.items()]
