"""Builds Usage: tokens that memory saved, the cost of models by day and purpose, and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import ModelPurpose, UsageGroup
from memory.services.usage import budgets, saved, totals
from memory.services.usage.budgets import BudgetUse
from memory.services.usage.saved import HandedOver
from memory.services.usage.totals import UsageFilter, UsageTotal
from memory.types import Access
from ops.charts import LineChart, Series, line_chart
from ops.pages.tiles import Tile
from ops.words import Words

WINDOWS = (
    ("7d", gettext_lazy("7 days"), 7),
    ("30d", gettext_lazy("30 days"), 30),
    ("90d", gettext_lazy("90 days"), 90),
)
ROWS = 50
BUDGETS = 50
PURPOSES: dict[str, Words] = {
    ModelPurpose.ANSWER: gettext_lazy("Answers"),
    ModelPurpose.SUMMARISE: gettext_lazy("Summaries"),
    ModelPurpose.EXTRACT: gettext_lazy("Names and facts"),
    ModelPurpose.JUDGE: gettext_lazy("Judging"),
    ModelPurpose.EMBED: gettext_lazy("Embedding"),
    ModelPurpose.RERANK: gettext_lazy("Reranking"),
}


@dataclass(frozen=True, slots=True)
class UsageWindow:
    """The last `days` UTC days, including today."""

    name: str
    title: Words
    days: int


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Calls of one kind. `share` is relative to the costliest or busiest row, 0 to 100."""

    title: Words
    total: UsageTotal
    cost: str
    share: int


@dataclass(frozen=True, slots=True)
class UsageTable:
    """A table. `anchor` identifies it in the page."""

    anchor: str
    title: Words
    column: Words
    rows: list[UsageRow]


@dataclass(frozen=True, slots=True)
class LimitShown:
    """A limit of a budget with its use. `percent` is at most 100."""

    title: Words
    used: str
    most: str
    percent: int
    tone: str
    word: Words


@dataclass(frozen=True, slots=True)
class BudgetShown:
    name: str
    of_key: bool
    period: Words
    limits: list[LimitShown]
    resets: datetime


@dataclass(frozen=True, slots=True)
class UsageBoard:
    """The page. `reached` has a message for each budget whose limit is reached."""

    tiles: list[Tile]
    by_day: LineChart
    cost_by_day: LineChart
    saved_by_day: LineChart
    tables: list[UsageTable]
    budgets: list[BudgetShown]
    reached: list[tuple[str, str]]
    calls: int

    @property
    def charts(self) -> list[LineChart]:
        return [self.by_day, self.cost_by_day, self.saved_by_day]


def usage_windows() -> list[UsageWindow]:
    """Return the periods that the page can show."""
    return [UsageWindow(*one) for one in WINDOWS]


def window_of(request: HttpRequest) -> UsageWindow:
    """Return the window in the address, by default, and for an unknown name, 30 days."""
    found = usage_windows()
    return next((one for one in found if one.name == request.GET.get("window", "")), found[1])


def filter_of(window: UsageWindow, groups: Sequence[UsageGroup], *, now: datetime) -> UsageFilter:
    """Return a filter for the days of the window, with totals by `groups`."""
    today = now.astimezone(UTC).date()
    return UsageFilter(today - timedelta(days=window.days - 1), today, groups)


def board(access: Access, window: UsageWindow, *, ns: str, now: datetime) -> UsageBoard:
    """Return the page as it is now."""
    by_day = {total.groups["day"]: total for total in _totals(access, window, UsageGroup.DAY, now=now)}
    days = [filter_of(window, (), now=now).since + timedelta(days=number) for number in range(window.days)]
    begin = datetime(days[0].year, days[0].month, days[0].day, tzinfo=UTC)
    packs = saved.count_handed_over_by_day(access, since=begin)
    labels, keys = [date_format(day, "j M") for day in days], [day.isoformat() for day in days]
    whole = _whole(list(by_day.values()))
    uses = budgets.list_uses(access, most=BUDGETS, now=now)
    shown = [_budget(name, use) for name, use in uses]
    found = [by_day.get(key) for key in keys]
    return UsageBoard(
        tiles=_tiles(whole, sum(packs.values(), HandedOver())),
        by_day=line_chart(
            _("Tokens by day"),
            labels=labels,
            keys=keys,
            series=[
                Series(_("Prompt"), [one.prompt_tokens if one else 0 for one in found], "blue"),
                Series(_("of it cached"), [one.cached_tokens if one else 0 for one in found], "green"),
                Series(_("Answer"), [one.completion_tokens if one else 0 for one in found], "orange"),
            ],
            csv=_file(ns, window, "tokens"),
        ),
        cost_by_day=line_chart(
            _("Cost by day"),
            labels=labels,
            keys=keys,
            series=[Series(_("US dollars"), [float(one.cost) if one else 0 for one in found], "purple")],
            show=_short_dollars,
            filled=True,
            csv=_file(ns, window, "cost"),
        ),
        saved_by_day=line_chart(
            _("Tokens that packs saved, by day"),
            labels=labels,
            keys=keys,
            series=_build_saved_series(days, packs),
            csv=_file(ns, window, "saved"),
        ),
        tables=[table for table in _tables(access, window, now=now) if table.rows],
        budgets=shown,
        reached=[(one.name, str(limit.word)) for one in shown for limit in one.limits if limit.tone in ("weak", "bad")],
        calls=whole.calls,
    )


def _file(ns: str, window: UsageWindow, name: str) -> str:
    """Return the address of a chart's numbers as a file."""
    named = {"ns": ns} if ns else {}
    return f"{reverse('ops:usage')}?{urlencode({**named, 'window': window.name, 'csv': name})}"


def dollars(amount: Decimal | None) -> str:
    """Format an amount in dollars with cents, or with more decimals below a cent."""
    if amount is None:
        return "–"
    if amount and abs(amount) < Decimal("0.01"):
        return f"${amount:.6f}".rstrip("0") if amount >= Decimal("0.000001") else "< $0.000001"
    return f"${amount:,.2f}"


def _short_dollars(value: float) -> str:
    return f"${value:,.2f}" if value >= 0.1 or not value else f"${value:.4g}"


def _totals(access: Access, window: UsageWindow, group: UsageGroup, *, now: datetime) -> list[UsageTotal]:
    return totals.list_totals(access, filter_of(window, (group,), now=now))[0]


def _whole(found: Sequence[UsageTotal]) -> UsageTotal:
    names = ("calls", "failed", "unpriced", "prompt_tokens", "cached_tokens", "completion_tokens")
    sums = {name: sum(getattr(one, name) for one in found) for name in names}
    return UsageTotal(groups={}, cost=sum((one.cost for one in found), Decimal(0)), **sums)


def _tiles(whole: UsageTotal, packs: HandedOver) -> list[Tile]:
    unpriced = _("%(n)s calls have no known price") % {"n": f"{whole.unpriced:,}"}
    share = f"{packs.saved / packs.original:.0%}" if packs.original else "–"
    worth = saved.worth(packs.saved)
    worth_note = (
        _("at the price of %(model)s") % {"model": worth[1]} if worth else _("no price of an answering model is known")
    )
    return [
        Tile(
            _("Tokens saved"),
            f"{packs.saved:,}",
            _("%(share)s of what %(packs)s packs stand for") % {"share": share, "packs": f"{packs.packs:,}"},
        ),
        Tile(_("Money saved"), dollars(worth[0].usd) if worth else "–", worth_note),
        Tile(_("Cost"), dollars(whole.cost), unpriced if whole.unpriced else _("every call has a known price")),
        Tile(
            _("Model calls"),
            f"{whole.calls:,}",
            _("%(n)s of them failed") % {"n": f"{whole.failed:,}"},
            tone="weak" if whole.failed else "",
        ),
        Tile(
            _("Tokens"),
            f"{whole.tokens:,}",
            _("%(n)s of them answered") % {"n": f"{whole.completion_tokens:,}"},
        ),
        Tile(
            _("Cached"),
            f"{whole.cached_share:.0%}",
            _("of the prompts, read by the provider before"),
        ),
    ]


def _build_saved_series(days: Sequence[date], packs: dict[date, HandedOver]) -> list[Series]:
    found = [packs.get(day, HandedOver()) for day in days]
    return [
        Series(_("Everything they stand for"), [one.original for one in found], "grey", dashed=True),
        Series(_("Handed over"), [one.handed_over for one in found], "green"),
    ]


def _tables(access: Access, window: UsageWindow, *, now: datetime) -> list[UsageTable]:
    nobody, none = _("Worker and staff"), _("Several, or none")
    kinds: list[tuple[UsageGroup, str, str, str]] = [
        (UsageGroup.PURPOSE, _("By purpose"), _("Purpose"), ""),
        (UsageGroup.MODEL, _("By model"), _("Model"), ""),
        (UsageGroup.NAMESPACE, _("By namespace"), _("Namespace"), none),
        (UsageGroup.KEY, _("By key"), _("Key"), nobody),
    ]
    return [
        UsageTable(group.value, title, column, _rows(_totals(access, window, group, now=now), group, empty))
        for group, title, column, empty in kinds
    ]


def _rows(found: Sequence[UsageTotal], group: UsageGroup, empty: str) -> list[UsageRow]:
    has_cost = any(one.cost for one in found)
    weights = [float(one.cost) if has_cost else float(one.tokens) for one in found]
    most = max(weights, default=0.0) or 1.0
    ranked = sorted(zip(weights, found, strict=True), key=lambda one: (-one[0], -one[1].calls))
    return [
        UsageRow(
            PURPOSES.get(total.groups[group], total.groups[group]) or empty,
            total,
            dollars(total.cost if total.unpriced < total.calls - total.failed or total.cost else None),
            round(100 * weight / most),
        )
        for weight, total in ranked[:ROWS]
    ]


def _budget(name: str, use: BudgetUse) -> BudgetShown:
    limits = []
    for limit in use.held.budget.limits():
        used = use.used.of(limit.unit)
        share = float(used / limit.most)
        tone, word = _state(share, hard=limit.hard)
        write = dollars if limit.unit == "usd" else (lambda amount: f"{amount:,.0f}")
        limits.append(
            LimitShown(
                title=_("Hard") if limit.hard else _("Soft"),
                used=write(used),
                most=write(limit.most) + ("" if limit.unit == "usd" else f" {_('tokens')}"),
                percent=min(100, round(100 * share)),
                tone=tone,
                word=word,
            )
        )
    period = _("a day") if use.held.budget.period == "day" else _("a month")
    return BudgetShown(name, use.held.of_key, period, limits, use.resets)


def _state(share: float, *, hard: bool) -> tuple[str, Words]:
    if share >= 1:
        return ("bad", _("Spent")) if hard else ("weak", _("Reached"))
    if hard and share >= 0.9:
        return "weak", _("Nearly spent")
    return "good", _("Within")
