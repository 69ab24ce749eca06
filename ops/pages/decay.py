"""Builds the page Decay: strength by age, memories that leave soon, and the effect of another policy."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.enums import AuditEvent, MemoryKind, SweepRule
from memory.errors import InvalidInput
from memory.governance.policy import USUAL_IMPORTANCE, Policy
from memory.governance.strength import strength
from memory.models import Memory
from memory.policy_values import BY_KEY, Value
from memory.services.retention import due, forecast, strength_counts
from memory.services.retention.forecast import SOON, Band, Leaving
from memory.services.retention.policy_preview import preview
from memory.services.tenancy.policy import Governing, governing
from memory.text.translatable import translate
from memory.types import Scope
from ops import picked
from ops.charts import LineChart, Series, line_chart
from ops.pages.pipeline import STATES
from ops.pages.policies import refusal
from ops.pages.tiles import Tile
from ops.what_if import FIELDS, merge_overrides, policy_with, read_changes
from ops.words import Words

LISTED = 20
EXAMPLES = 20
EXTENSIONS = (7, 30, 90, 365)
_HEATS = 5
_USED = 7
_CURVE_POINTS = 49
KINDS: dict[MemoryKind, Words] = {
    MemoryKind.SAID: gettext_lazy("What people said"),
    MemoryKind.ANSWERED: gettext_lazy("What agents said"),
    MemoryKind.EPISODE: gettext_lazy("Small talk"),
    MemoryKind.DOCUMENT: gettext_lazy("Chunks of documents"),
    MemoryKind.FACT: gettext_lazy("Facts"),
    MemoryKind.PREFERENCE: gettext_lazy("Preferences"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell. `heat` is from 0 (none) to 5 (most); `words` describe it to users who do not see the grid."""

    count: int
    heat: int
    link: str
    words: str


@dataclass(frozen=True, slots=True)
class StrengthBand:
    """A band of strength. If it is `below_floor`, the sweep archives its memories unless they are exempt."""

    label: str
    below_floor: bool
    cells: list[Cell]
    total: Cell


@dataclass(frozen=True, slots=True)
class Slider:
    """A policy value to try. `unit` and `off` (the meaning of 0) are shown next to it."""

    name: str
    title: Words
    value: float
    now: float
    most: float
    step: str
    off: Words


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The effect of a sweep with the tried values. `problem` says why they cannot be saved."""

    changed: bool
    archive: int
    before: int
    share: float
    active: int
    link: str
    examples: list[tuple[Memory, str, float]]
    policies_url: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Decay:
    """The tiles and the grid. `counted_at` is set if they were counted earlier."""

    tiles: list[Tile]
    ages: list[str]
    rows: list[StrengthBand]
    totals: list[Cell]
    active: int
    active_link: str
    floor: float
    enabled: bool
    held: bool
    counted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LeavingSoon:
    """The memories that leave first, of `count`."""

    listed: list[Leaving]
    count: int
    link: str
    extensions: tuple[int, ...] = EXTENSIONS


def decay(scope: Scope, counted: strength_counts.Faded, *, is_kept: bool) -> Decay:
    """Return the strength of memories under the policy in force. `is_kept`: it was counted for an earlier request."""
    policy = governing(scope.namespace_id).effective.policy
    grid = counted.grid
    ages, strengths = forecast.bands(grid.ages), forecast.bands(grid.strengths)
    rows = [
        StrengthBand(
            _strength_label(band),
            policy.decay and band[1] is not None and band[1] <= policy.floor,
            [_cell(scope, grid, row, column) for column in range(len(ages))],
            _total(scope, grid, sum(grid.counts[row]), strength=band),
        )
        for row, band in enumerate(strengths)
    ]
    return Decay(
        tiles=_tiles(scope, counted),
        ages=[_age_label(band) for band in ages],
        rows=list(reversed(rows)),
        totals=[
            _total(scope, grid, sum(row[column] for row in grid.counts), age=age) for column, age in enumerate(ages)
        ],
        active=grid.active,
        active_link=picked.link(scope, picked.cell(grid.at)),
        floor=policy.floor,
        enabled=policy.decay,
        held=policy.legal_hold,
        counted_at=grid.at if is_kept else None,
    )


def leaving_soon(scope: Scope, *, now: datetime, counted: due.DueCounts | None = None) -> LeavingSoon:
    """Return the memories that a sweep in 7 days would archive. `counted` is their number, if it is known."""
    policy, soon = governing(scope.namespace_id).effective.policy, now + SOON
    counted = counted or due.counts(scope.namespace_id, policy, now=soon)
    count = counted.decayed + counted.expired
    return LeavingSoon(
        forecast.leaving(scope, policy, at=soon, limit=LISTED) if count else [],
        count,
        picked.link(scope, picked.due_at(soon)),
    )


def what_if(scope: Scope, given: Mapping[str, str], *, now: datetime) -> WhatIf:
    """Count what the next sweep would archive with the values in the address. Nothing is saved."""
    governs = governing(scope.namespace_id)
    changed = read_changes(governs, given)
    url = _policies_url(scope, changed)
    try:
        seen = preview(scope, wanted=merge_overrides(governs, changed), now=now)
    except InvalidInput as error:
        return WhatIf(True, 0, 0, 0.0, 0, "", [], url, problem=refusal(error))
    named = [
        (entry["memory_id"], translate(entry["reason"]), entry["strength"]["value"])
        for entry in seen["memories"][:EXAMPLES]
    ]
    rows = {str(row.pk): row for row in Memory.objects.in_scope(scope).filter(pk__in=[one for one, _, _ in named])}
    short = {name: changed[key] for name, key in FIELDS.items() if key in changed}
    return WhatIf(
        changed=bool(changed),
        archive=seen["would"]["archive"],
        before=seen["without_change"]["archive"],
        share=seen["would"]["archive"] / max(1, seen["active_memories"]),
        active=seen["active_memories"],
        link=picked.link(scope, picked.due_at(now, short)),
        examples=[(rows[one], reason, value) for one, reason, value in named if one in rows],
        policies_url=url,
    )


def sliders(scope: Scope, given: Mapping[str, str]) -> list[Slider]:
    """Return the values to try, from the address or else from the policy in force."""
    governs = governing(scope.namespace_id)
    changed = read_changes(governs, given)
    return [_slider(name, governs, changed) for name in FIELDS]


def curve(scope: Scope, given: Mapping[str, str], *, kind: MemoryKind) -> LineChart:
    """Return strength over age by the sweep's formula, for a memory of usual importance that is not used meanwhile."""
    governs = governing(scope.namespace_id)
    changed = read_changes(governs, given)
    policies: list[tuple[Policy, bool]] = [(governs.effective.policy, False)]
    if changed:
        # `what_if` reports invalid values.
        with suppress(InvalidInput):
            policies.append((policy_with(governs, changed), True))
    longest = max(policy.half_life_days[kind] for policy, _ in policies)
    span = max(30.0, min(5 * longest, 3650.0)) if longest else 365.0
    days = [span * place / (_CURVE_POINTS - 1) for place in range(_CURVE_POINTS)]
    series = []
    for policy, tried in policies:
        for uses, tone in ((0, "blue"), (_USED, "green")):
            title = _("never used") if not uses else ngettext("used once", "used %(n)s times", uses) % {"n": uses}
            shown = _("%(line)s, as tried") % {"line": title} if tried else title
            series.append(Series(shown, _strengths(policy, kind, uses, days), tone, dashed=tried))
    for policy, tried in policies:
        if not tried or policy.floor != policies[0][0].floor:
            title = _("floor, as tried") if tried else _("floor")
            series.append(Series(title, [policy.floor] * len(days), "bad", dashed=tried))
    return line_chart(
        _("Strength of “%(kind)s” by age") % {"kind": KINDS[kind]},
        labels=[_("%(n)s days") % {"n": f"{day:,.0f}"} for day in days],
        keys=[f"{day:g}" for day in days],
        series=series,
        description=_("importance × 2^(−age ÷ half-life) × use, for an importance of %(importance)s")
        % {"importance": USUAL_IMPORTANCE},
        show=lambda value: f"{value:.2f}",
        csv=f"{reverse('ops:decay')}?{urlencode({**_keep_values(scope, given), 'kind': str(kind), 'csv': 'strength'})}",
    )


def _keep_values(scope: Scope, given: Mapping[str, str]) -> dict[str, str]:
    """Return the namespace and the tried values as query parameters."""
    return {"ns": scope.namespace, **{name: given[name] for name in FIELDS if given.get(name)}}


def _strengths(policy: Policy, kind: MemoryKind, uses: int, days: list[float]) -> list[float]:
    now = datetime.fromisoformat("2000-01-01T00:00+00:00") + timedelta(days=4000)
    half_life = policy.half_life_days[kind]
    return [
        strength(
            importance=USUAL_IMPORTANCE, half_life_days=half_life, uses=uses, since=now - timedelta(days=day), now=now
        ).value
        for day in days
    ]


def _tiles(scope: Scope, counted: strength_counts.Faded) -> list[Tile]:
    at, soon = counted.grid.at, counted.due_soon
    due_now = counted.due_now.decayed + counted.due_now.expired
    memories = reverse("admin:memory_memory_changelist")
    active_link = f"{memories}?{urlencode({'namespace': scope.namespace, 'state__exact': 'active'})}"
    tiles = [
        Tile(_("Active memories"), _n(counted.grid.active), _("take part in retrieval"), active_link),
        Tile(
            _("Due now"), _n(due_now), _("the next sweep archives them"), picked.link(scope, picked.due_at(at)),
            tone="weak" if due_now else "",
        ),
        Tile(
            _("Within 7 days"),
            _n(soon.decayed + soon.expired),
            _("%(decayed)s fade, %(expired)s expire, if nobody uses them")
            % {"decayed": _n(soon.decayed), "expired": _n(soon.expired)},
            picked.link(scope, picked.due_at(at + SOON)),
        ),
    ]  # fmt: skip
    return [*tiles, _sweep_tile(scope)]


def _sweep_tile(scope: Scope) -> Tile:
    swept = forecast.last_sweep(scope)
    if swept is None:
        return Tile(_("Last sweep"), "–", _("none has run yet"), "")
    began = swept.began_at.strftime("%Y-%m-%d %H:%M UTC")
    query = {
        "namespace": scope.namespace,
        "event_type": AuditEvent.MEMORY_ARCHIVE.value,
        "actor": forecast.SWEEPER,
        "id__gte": str(swept.first_event),
    }
    if swept.last_event is not None:
        query["id__lt"] = str(swept.last_event)
    return Tile(
        _("Last sweep archived"),
        _n(sum(swept.archived.values())),
        _("%(decayed)s faded, %(expired)s expired · %(when)s · %(state)s")
        % {
            "decayed": _n(swept.archived[SweepRule.DECAYED]),
            "expired": _n(swept.archived[SweepRule.EXPIRED]),
            "when": began,
            "state": STATES[swept.state][0] if swept.state in STATES else swept.state,
        },
        f"{reverse('admin:memory_auditlog_changelist')}?{urlencode(query)}",
        tone="weak" if swept.state == "failed" else "",
    )


def _cell(scope: Scope, grid: forecast.Grid, row: int, column: int) -> Cell:
    count = grid.counts[row][column]
    age, band = forecast.bands(grid.ages)[column], forecast.bands(grid.strengths)[row]
    # The logarithm keeps a few memories visible among thousands.
    heat = 0 if not count else max(1, round(_HEATS * count.bit_length() / max(1, grid.most).bit_length()))
    words = ngettext(
        "%(n)s memory, strength %(strength)s, age %(age)s", "%(n)s memories, strength %(strength)s, age %(age)s", count
    ) % {"n": _n(count), "strength": _strength_label(band), "age": _age_label(age)}
    return Cell(count, heat, picked.link(scope, picked.cell(grid.at, age, band)), words)


def _total(
    scope: Scope, grid: forecast.Grid, count: int, *, age: Band | None = None, strength: Band | None = None
) -> Cell:
    words = ngettext("%(n)s memory, age %(age)s", "%(n)s memories, age %(age)s", count)
    if strength is not None:
        words = ngettext("%(n)s memory, strength %(strength)s", "%(n)s memories, strength %(strength)s", count)
    values = {
        "n": _n(count),
        "age": _age_label(age) if age else "",
        "strength": _strength_label(strength) if strength else "",
    }
    return Cell(count, 0, picked.link(scope, picked.cell(grid.at, age, strength)), words % values)


def _slider(name: str, governs: Governing, changed: Mapping[str, Value]) -> Slider:
    key = FIELDS[name]
    now = float(governs.effective.values[key])
    value = float(changed.get(key, now))
    if name == "floor":
        most = BY_KEY[key].maximum or 1.0
        return Slider(name, _("Floor of strength"), value, now, most, "0.01", _("nothing fades"))
    title = _("Time to live") if name == "ttl" else _("Half-life: %(kind)s") % {"kind": KINDS[MemoryKind(name)]}
    most = max(730.0, value, now)
    return Slider(name, title, value, now, most, "1", _("never") if name == "ttl" else _("does not fade"))


def _policies_url(scope: Scope, changed: Mapping[str, Value]) -> str:
    """Return the page that saves a policy, with the tried values."""
    short = {name: changed[key] for name, key in FIELDS.items() if key in changed}
    try:
        return f"{reverse('ops:policies')}?{urlencode({'ns': scope.namespace, **short})}"
    except NoReverseMatch:
        return ""


def _age_label(band: Band) -> str:
    low, high = band
    if high is None:
        return _("%(low)s+ days") % {"low": f"{low:g}"}
    return _("%(low)s–%(high)s days") % {"low": f"{low:g}", "high": f"{high:g}"}


def _strength_label(band: Band) -> str:
    return f"{band[0]:g}–{1 if band[1] is None else band[1]:g}"


def _n(count: int) -> str:
    return number_format(count, force_grouping=True)
