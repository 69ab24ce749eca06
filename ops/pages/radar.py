"""Builds the radar of a question: the plot, its table, the steps, and the differences between two settings."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import Role
from memory.services.recall.probe import MemoryOrigin, Probe, ProbeSetting, Seen
from memory.services.recall.why import Diagnosis
from ops.access import MASK
from ops.charts import BarChart, bar_chart
from ops.charts import Slice as Bar
from ops.pages.candidates import PART_WORDS, VERDICTS, CandidateRow, PlaceChange, candidates, compare_places, parts_of
from ops.pages.candidates import ScoreShare as ScorePart
from ops.pages.polar import Dot, Point, Polar, polar, top_of
from ops.words import Words

# Names of the plot's sectors by the address's `by`.
BY: dict[str, Words] = {"session": gettext_lazy("Session"), "kind": gettext_lazy("Kind"), "role": gettext_lazy("Role")}
_ROLES: dict[str, Words] = {
    Role.USER.value: gettext_lazy("Said by users"),
    Role.AGENT.value: gettext_lazy("Said by agents"),
    Role.SYSTEM.value: gettext_lazy("System"),
    Role.TOOL.value: gettext_lazy("Tools"),
}
_STEPS: dict[str, Words] = {
    "question": gettext_lazy("Read the question"),
    "words": gettext_lazy("Search by words"),
    "vector": gettext_lazy("Wait for the vector"),
    "meaning": gettext_lazy("Search by meaning"),
    "fusion": gettext_lazy("Fuse the scores"),
    "read": gettext_lazy("Read the texts"),
    "rerank": gettext_lazy("Rerank"),
    "restated": gettext_lazy("Fold repetitions"),
}


@dataclass(frozen=True, slots=True)
class Blip:
    """A candidate with its dot."""

    candidate: CandidateRow
    dot: Dot


@dataclass(frozen=True, slots=True)
class Weight:
    word: Words
    value: float


@dataclass(frozen=True, slots=True)
class RadarAnswer:
    """The answer with one setting, whose `label` is A or B."""

    label: str
    setting: ProbeSetting
    narrowed: list[tuple[Words, str]]
    plot: Polar
    blips: list[Blip]
    hits: int
    considered: int
    milliseconds: float
    trace: BarChart
    weights: list[Weight]
    answerable: bool
    degraded: list[str]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The outcome of a memory in one setting."""

    label: str
    diagnosis: Diagnosis
    word: Words
    tone: str
    parts: list[ScorePart]


@dataclass(frozen=True, slots=True)
class Radar:
    """One or two answers. `moved` are the differences between two."""

    answers: list[RadarAnswer]
    moved: list[PlaceChange]
    legend: list[tuple[Words, str, str]]


def radar(seen: Sequence[Seen], marks: Mapping[uuid.UUID, bool], *, by: str, readable: bool) -> Radar:
    """Return the page of a question. All plots have the same scale, so that they can be compared."""
    listed = [candidates(one, marks) for one in seen]
    top = top_of([score for rows in listed for row in rows for score in (row.score, row.raw)])
    answers = [
        _answer("AB"[index], one, rows, top=top, by=by, readable=readable)
        for index, (one, rows) in enumerate(zip(seen, listed, strict=True))
    ]
    shapes = dict.fromkeys((row.word, row.colour, row.shape) for rows in listed for row in rows)
    return Radar(
        answers=answers,
        moved=compare_places(*listed) if len(listed) > 1 else [],
        legend=list(shapes),
    )


def why_not(label: str, diagnosis: Diagnosis) -> WhyNot:
    """Return the diagnosis of a memory with its words."""
    word, tone, _shape = VERDICTS[diagnosis.verdict.value]
    return WhyNot(label, diagnosis, word, tone, parts_of(diagnosis.parts) if diagnosis.parts else [])


def reranker() -> str:
    """Return the configured reranker, or "" if it is off."""
    if settings.MEMOS_RERANK_PROVIDER == "off":
        return ""
    return " ".join(filter(None, (settings.MEMOS_RERANK_PROVIDER, settings.MEMOS_RERANK_MODEL)))


def request_body(probe: Probe, setting: ProbeSetting) -> dict[str, Any]:
    """Return the same question as a body for the API."""
    return {
        "namespace": probe.scope.namespace,
        "query": probe.text,
        "top_k": setting.top_k,
        "filter": setting.as_filter() or None,
        "as_of": setting.as_of.isoformat() if setting.as_of else None,
        "valid_at": setting.valid_at.isoformat() if setting.valid_at else None,
        "explain": setting.show_dropped,
        "dry_run": True,
    }


def _answer(label: str, seen: Seen, rows: list[CandidateRow], *, top: float, by: str, readable: bool) -> RadarAnswer:
    plot = polar(
        [Point(row.id, row.score, row.raw, _sector(row.source, by, readable=readable)) for row in rows],
        top=top,
        others=_("Others"),
    )
    retrieval = seen.found.retrieval
    return RadarAnswer(
        label=label,
        setting=seen.setting,
        narrowed=list_filters(seen.setting, readable=readable),
        plot=plot,
        blips=[Blip(row, dot) for row, dot in zip(rows, plot.dots, strict=True)],
        hits=len(seen.found.hits),
        considered=retrieval.considered,
        milliseconds=sum(retrieval.milliseconds.values()),
        trace=bar_chart(
            _("Where the time went"),
            [Bar(_STEPS.get(name, name), took) for name, took in retrieval.milliseconds.items()],
            show=lambda took: f"{took:,.1f} ms",
        ),
        weights=[Weight(PART_WORDS.get(name, name), value) for name, value in retrieval.weights.items()],
        answerable=seen.found.answerable,
        degraded=seen.found.degraded,
    )


def list_filters(setting: ProbeSetting, *, readable: bool) -> list[tuple[Words, str]]:
    """Return the filters of a setting as (name, value)."""
    moments = ((_("From"), setting.since), (_("Before"), setting.until), (_("As of"), setting.as_of))
    plain = (
        (_("Session"), setting.session),
        (_("Role"), setting.role),
        (_("Speaker"), setting.speaker if readable or not setting.speaker else MASK),
        (_("Tier"), setting.tier),
        *((name, f"{moment:%Y-%m-%d %H:%M} UTC" if moment else "") for name, moment in moments),
        (_("Valid at"), f"{setting.valid_at:%Y-%m-%d %H:%M} UTC" if setting.valid_at else ""),
        (_("Filter"), _("set") if setting.filter else ""),
    )
    return [(name, value) for name, value in plain if value]


def _sector(source: MemoryOrigin | None, by: str, *, readable: bool) -> str:
    if source is None:
        return _("Gone meanwhile")
    if by == "role":
        return str(_ROLES.get(source.role, source.role))
    if source.document:
        name = source.document if readable else MASK
        return _("Document %(name)s") % {"name": name} if by == "session" else _("Documents")
    return source.session if by == "session" else str(_ROLES.get(source.role, source.role))
