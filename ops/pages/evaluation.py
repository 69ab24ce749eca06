"""Builds the pages of evaluations: runs, their trend, a run, a comparison of two, and the judged questions."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.enums import EvaluationStatus
from memory.evaluation.comparison import Comparison, QuestionMovement, list_moved
from memory.evaluation.metrics import NAMES
from memory.models import EvaluationResult, EvaluationRun
from memory.models.paging import page_of
from memory.services.evaluation import judgements
from memory.types import Access, Scope
from ops.charts import BarChart, LineChart, Series, Slice, bar_chart, line_chart
from ops.pages.rows import mask_text
from ops.pages.tiles import Tile
from ops.words import Words

PAGE = 25
TREND = 40
SETS = 12
QUESTIONS = 100
MOVED = 30
WORST = 20
HASH_CHARS = 64

STATUS: Mapping[str, tuple[str, Words]] = {
    EvaluationStatus.QUEUED: ("busy", gettext_lazy("Queued")),
    EvaluationStatus.RUNNING: ("busy", gettext_lazy("Running")),
    EvaluationStatus.FINISHED: ("good", gettext_lazy("Finished")),
    EvaluationStatus.FAILED: ("bad", gettext_lazy("Failed")),
}
MEANINGS: Mapping[str, Words] = {
    "R@1": gettext_lazy("share of the evidence in first place"),
    "R@5": gettext_lazy("share of the evidence among the first five"),
    "R@10": gettext_lazy("share of the evidence among the first ten"),
    "R@20": gettext_lazy("share of the evidence among the first twenty"),
    "all@10": gettext_lazy("questions with all evidence among the first ten"),
    "Hit@10": gettext_lazy("questions with any evidence among the first ten"),
    "MRR": gettext_lazy("1 ÷ the place of the first evidence, on average"),
    "nDCG@10": gettext_lazy("order of the first ten against the best one"),
}


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the list. Shares are from 0 to 1, or None while there are no figures."""

    id: uuid.UUID
    what: str
    of_namespace: bool
    label: str
    tone: str
    word: Words
    error: str
    questions: int | None
    recall: float | None
    mrr: float | None
    pollution: float | None
    p95: float | None
    at: datetime
    link: str
    trend_link: str


@dataclass(frozen=True, slots=True)
class Set:
    """A measured dataset or namespace, as `?set=` names it."""

    name: str
    title: str
    current: bool
    url: str


@dataclass(frozen=True, slots=True)
class RunList:
    runs: list[RunRow]
    next: str
    sets: list[Set]
    trend: LineChart | None
    comparable: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """A row of figures (those of NAMES) with the number of their questions."""

    title: str
    questions: int | None
    figures: list[float]


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question of one or two runs. `text` is its text or, if that is unknown, its id in the dataset."""

    text: str
    known: bool
    type: str
    base: float | None
    run: float
    better: bool


@dataclass(frozen=True, slots=True)
class RunPage:
    """The page of a run."""

    run: RunRow
    tiles: list[Tile]
    by_type: list[Scored]
    type_chart: BarChart | None
    arms: list[Scored]
    arms_chart: BarChart | None
    weights: BarChart | None
    configuration: list[tuple[Words, str]]
    notes: list[str]
    worst: list[QuestionRow]


@dataclass(frozen=True, slots=True)
class FigureInterval:
    """A figure in both runs with the interval of the difference. The other fields place it on an axis, in percent."""

    name: str
    meaning: Words
    base: float
    run: float
    difference: float
    low: float
    high: float
    tone: str
    word: Words
    left: str
    width: str
    dot: str


@dataclass(frozen=True, slots=True)
class RunComparison:
    base: RunRow
    run: RunRow
    questions: int
    only_in_base: int
    only_in_run: int
    same_content: bool
    figures: list[FigureInterval]
    reach: float
    better: list[QuestionRow]
    worse: list[QuestionRow]
    better_count: int
    worse_count: int


def listing(access: Access, *, ns: str, chosen: str, cursor: uuid.UUID | None) -> RunList:
    """Return a page of the runs, newest first, and the trend of one set: `chosen`, or the newest finished run's."""
    rows = EvaluationRun.objects.reachable_by(access)
    page = rows.order_by("-id")
    if cursor is not None:
        page = page.filter(pk__lte=cursor)
    found, following = page_of(page, PAGE)
    finished = rows.filter(status=EvaluationStatus.FINISHED)
    known = list(
        dict.fromkeys(_set_of(*row) for row in finished.order_by("-id").values_list("dataset", "namespace")[:500])
    )
    chosen = chosen if chosen in known else (known[0] if known else "")
    sets = [Set(name, name.partition(":")[2], name == chosen, _url(ns, set=name)) for name in known[:SETS]]
    return RunList(
        runs=[_run(row, ns) for row in found],
        next=str(following.pk) if following else "",
        sets=sets,
        trend=_trend(finished, chosen, ns=ns) if chosen else None,
        comparable=sum(row.status == EvaluationStatus.FINISHED for row in found) > 1,
    )


def build_run(access: Access, run: EvaluationRun, *, ns: str, readable: bool) -> RunPage:
    """Return the page of a run, with the figures that it has so far."""
    metrics, configuration = run.metrics, run.configuration
    by_type = [
        Scored(name or _("(without a type)"), int(figures["questions"]), [figures[one] for one in NAMES])
        for name, figures in metrics.get("by_type", {}).items()
    ]
    overall = metrics.get("overall")
    arms = [Scored(name, None, [figures[one] for one in NAMES]) for name, figures in metrics.get("arms", {}).items()]
    arms.sort(key=_by_part)
    if overall and arms:
        arms.insert(0, Scored(_("everything"), None, [overall[one] for one in NAMES]))
    return RunPage(
        run=_run(run, ns),
        tiles=_tiles(metrics) if overall else [],
        by_type=by_type,
        type_chart=_recall_bars(_("R@10 by type of question"), by_type, "blue", _file(run, ns, "types"))
        if len(by_type) > 1
        else None,
        arms=arms,
        arms_chart=_recall_bars(_("R@10 with parts of the search"), arms, "purple", _file(run, ns, "parts"))
        if arms
        else None,
        weights=_weights(configuration, _file(run, ns, "weights")),
        configuration=_configuration(run),
        notes=[str(note) for note in run.notes],
        worst=_worst(run, readable=readable),
    )


def build_comparison(found: Comparison, *, ns: str, readable: bool) -> RunComparison:
    """Compare two runs. Questions are compared by R@10, or by MRR if none differs."""
    reach = max((max(abs(one.interval.low), abs(one.interval.high)) for one in found.figures.values()), default=0.0)
    reach = max(reach * 1.1, 0.01)
    changed = list_moved(found, name="R@10") or list_moved(found, name="MRR")
    better = [one for one in changed if one.run > one.base]
    worse = [one for one in changed if one.run < one.base]
    texts = _texts(found.run, [one.query_id for one in (*better[:MOVED], *worse[:MOVED])])
    return RunComparison(
        base=_run(found.base, ns),
        run=_run(found.run, ns),
        questions=found.questions,
        only_in_base=found.only_in_base,
        only_in_run=found.only_in_run,
        same_content=found.same_content,
        figures=[_figure(name, one, reach) for name, one in found.figures.items()],
        reach=reach,
        better=[_build_question_row(one, texts, readable) for one in better[:MOVED]],
        worse=[_build_question_row(one, texts, readable) for one in worse[:MOVED]],
        better_count=len(better),
        worse_count=len(worse),
    )


def run_url(run_id: uuid.UUID, ns: str) -> str:
    return reverse("ops:evaluation_run", args=[run_id]) + (f"?{urlencode({'ns': ns})}" if ns else "")


def _url(ns: str, **more: str) -> str:
    query = {**({"ns": ns} if ns else {}), **more}
    return reverse("ops:evaluation") + (f"?{urlencode(query)}" if query else "")


def _set_of(dataset: str, namespace: str) -> str:
    return f"dataset:{dataset}" if dataset else f"namespace:{namespace}"


def _run(row: EvaluationRun, ns: str) -> RunRow:
    tone, word = STATUS[row.status]
    metrics = row.metrics
    overall = metrics.get("overall", {})
    return RunRow(
        id=row.pk,
        what=row.dataset or row.namespace,
        of_namespace=not row.dataset,
        label=row.label,
        tone=tone,
        word=word,
        error=row.error,
        questions=metrics.get("questions"),
        recall=overall.get("R@10"),
        mrr=overall.get("MRR"),
        pollution=metrics.get("pollution", {}).get("rate"),
        p95=metrics.get("retrieval_ms", {}).get("p95"),
        at=row.created_at,
        link=run_url(row.pk, ns),
        trend_link=_url(ns, set=_set_of(row.dataset, row.namespace)),
    )


def _trend(finished: Any, chosen: str, *, ns: str) -> LineChart | None:
    kind, _colon, name = chosen.partition(":")
    rows = finished.filter(dataset=name) if kind == "dataset" else finished.filter(dataset="", namespace=name)
    runs = list(rows.order_by("-id").values_list("created_at", "metrics")[:TREND])[::-1]
    if len(runs) < 2:
        return None
    return line_chart(
        _("Trend of %(name)s") % {"name": name},
        description=_("R@10 and MRR of each finished run, oldest first; nothing says that they asked the same"),
        labels=[f"{at:%Y-%m-%d %H:%M}" for at, _metrics in runs],
        series=[
            Series("R@10", [metrics["overall"]["R@10"] for _at, metrics in runs], "blue"),
            Series("MRR", [metrics["overall"]["MRR"] for _at, metrics in runs], "orange", dashed=True),
        ],
        show=_share,
        csv=_url(ns, set=chosen, csv="trend"),
    )


def _share(value: float) -> str:
    return f"{value:.0%}" if value in (0, 1) or value >= 0.1 else f"{value:.1%}"


def _tiles(metrics: Mapping[str, Any]) -> list[Tile]:
    overall, tokens, pollution = metrics["overall"], metrics["tokens"], metrics["pollution"]
    asked = ngettext("%(count)s question", "%(count)s questions", metrics["questions"])
    return [
        Tile("R@10", f"{overall['R@10']:.1%}", MEANINGS["R@10"]),
        Tile("MRR", f"{overall['MRR']:.3f}", MEANINGS["MRR"]),
        Tile("nDCG@10", f"{overall['nDCG@10']:.3f}", MEANINGS["nDCG@10"]),
        Tile(_("Asked"), f"{metrics['questions']:,}", asked % {"count": f"{metrics['questions']:,}"}, "#questions"),
        Tile(_("Documents"), f"{metrics['documents']:,}", _("were searched")),
        Tile(_("Latency p95"), f"{metrics['retrieval_ms']['p95']:,.1f} ms", _("of retrieval alone")),
        Tile(
            _("Tokens saved"),
            f"{tokens['savings']:.1%}",
            _("%(context)s tokens handed over instead of %(history)s")
            % {"context": f"{tokens['context']:,.0f}", "history": f"{tokens['history']:,.0f}"},
        ),
        Tile(
            _("Pollution"),
            f"{pollution['rate']:.2%}",
            _("%(foreign)s of %(hits)s hits from other namespaces")
            % {"foreign": f"{pollution['foreign']:,}", "hits": f"{pollution['hits']:,}"},
            tone="bad" if pollution["foreign"] else "",
        ),
    ]


def _by_part(row: Scored) -> tuple[bool, bool, float]:
    """Return the sort key: single arms first, then combined ones, then those without a signal; lowest R@10 first."""
    return row.title.startswith("without "), "+" in row.title, row.figures[NAMES.index("R@10")]


def _file(run: EvaluationRun, ns: str, name: str) -> str:
    query = {**({"ns": ns} if ns else {}), "csv": name}
    return f"{reverse('ops:evaluation_run', args=[run.pk])}?{urlencode(query)}"


def _recall_bars(title: Words, rows: Sequence[Scored], tone: str, csv: str) -> BarChart:
    parts = [Slice(row.title, row.figures[NAMES.index("R@10")], tone) for row in rows]
    return bar_chart(title, parts, show=lambda value: f"{value:.1%}", csv=csv)


def _weights(configuration: Mapping[str, Any], csv: str) -> BarChart | None:
    weights = {**configuration.get("weights", {}), **configuration.get("signals", {})}
    numbers = {name: value for name, value in weights.items() if isinstance(value, int | float)}
    if not numbers:
        return None
    return bar_chart(
        _("Weights"),
        [Slice(name, value, "green") for name, value in sorted(numbers.items(), key=lambda one: -one[1])],
        description=_("Of the search arms, as a mean over the questions, and of the signals"),
        show=lambda value: f"{value:.3g}",
        csv=csv,
    )


def _configuration(run: EvaluationRun) -> list[tuple[Words, str]]:
    found = run.configuration
    model = found.get("embedding", {})
    rows: list[tuple[Words, str]] = [
        (_("Asked for by"), run.actor),
        (_("Hits a question"), str(run.options.get("top_k", "–"))),
        (_("Content"), run.content_digest[:16] or "–"),
    ]
    if found:
        rows += [
            (_("Version"), str(found.get("version", "–"))),
            (_("Embedding"), f"{model.get('model', '–')} · {model.get('dimensions', '–')}"),
            *((name, str(value)) for name, value in sorted(found.get("settings", {}).items()) if value != ""),
        ]
    return rows


def _worst(run: EvaluationRun, *, readable: bool) -> list[QuestionRow]:
    rows = EvaluationResult.objects.filter(namespace_id=run.namespace_id, run_id=run.pk)
    found = sorted(
        rows.values_list("query_id", "type", "metrics__R@10", "metrics__MRR"), key=lambda row: (row[2], row[3], row[0])
    )[:WORST]
    texts = _texts(run, [row[0] for row in found])
    return [
        QuestionRow(*_says(identity, texts, readable), kind, recall, mrr, better=False)
        for identity, kind, recall, mrr in found
        if recall < 1
    ]


def _texts(run: EvaluationRun, query_ids: Sequence[str]) -> dict[str, str]:
    """Return the questions' texts for a run on a namespace. Those of datasets are not stored."""
    if not run.namespace_id:
        return {}
    return judgements.question_texts(Scope(run.namespace_id, run.namespace, ""), hashes=query_ids)


def _says(identity: str, texts: Mapping[str, str], readable: bool) -> tuple[str, bool]:
    if identity in texts:
        return mask_text(texts[identity], readable=readable), True
    return (identity[:12] if len(identity) == HASH_CHARS else identity), False


def _build_question_row(one: QuestionMovement, texts: Mapping[str, str], readable: bool) -> QuestionRow:
    return QuestionRow(*_says(one.query_id, texts, readable), one.type, one.base, one.run, better=one.run > one.base)


def _figure(name: str, one: Any, reach: float) -> FigureInterval:
    low, high, difference = one.interval.low, one.interval.high, one.interval.difference
    if low > 0:
        tone, word = "good", _("Better")
    elif high < 0:
        tone, word = "bad", _("Worse")
    else:
        tone, word = "off", _("No clear difference")
    return FigureInterval(
        name,
        MEANINGS[name],
        one.base,
        one.run,
        difference,
        low,
        high,
        tone,
        word,
        f"{50 + 50 * low / reach:.2f}%",
        f"{max(0.4, 50 * (high - low) / reach):.2f}%",
        f"{50 + 50 * difference / reach:.2f}%",
    )
