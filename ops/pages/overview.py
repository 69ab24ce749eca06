"""Builds the Overview, as plain values: numbers with their links, concerns, parts, figures in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.enums import JobState, MemoryState, Review
from memory.models import Job
from memory.services.jobs import schedules
from memory.services.monitoring import deltas as movement
from memory.services.monitoring import health, request_stats, stats
from memory.services.monitoring import status as standing
from memory.services.monitoring.health import OK
from memory.services.monitoring.request_stats import Moment
from memory.services.monitoring.stages import Stage
from memory.services.monitoring.status import Condensed, Waiting
from memory.services.tenancy import quota
from memory.services.usage import saved
from memory.types import Access
from ops.charts import LineChart, Series, line_chart, milliseconds, sparkline
from ops.pages import deltas, retired
from ops.pages.deltas import TotalsMovement
from ops.pages.links import list_link, page_link
from ops.pages.namespace import QUOTAS
from ops.pages.parts import Card, model_cards, tier_cards, worker_cards
from ops.pages.retired import Recent
from ops.pages.tiles import Tile
from ops.pages.window import TimeWindow

Staff = AbstractUser | AnonymousUser
VERIFY = "memos: verify the audit chain"
QUOTAS_NAMED = 5


@dataclass(frozen=True, slots=True)
class Concern:
    """Holds something that needs a person: how grave (weak, bad), what, and where it is fixed (empty: nowhere to
    link)."""

    tone: str
    what: str
    link: str = ""
    link_text: str = ""


@dataclass(frozen=True, slots=True)
class OverviewBoard:
    """Holds the fragment of the Overview that is refreshed while it is shown."""

    status: str
    tiles: list[Tile]
    concerns: list[Concern]
    retired: Recent | None
    tiers: list[Card]
    models: list[Card]
    workers: list[Card]
    running: list[Job]
    charts: list[LineChart]


def board(access: Access, user: Staff, *, ns: str, window: TimeWindow, now: datetime) -> OverviewBoard:
    """Count all live values now."""
    report = health.report()
    if report.status == "unavailable":
        return OverviewBoard(report.status, [], _of_health(report.checks), None, [], [], [], [], [])
    waiting, since = standing.waiting(access, now=now), window.since(now)
    moments = request_stats.by_step(access, since=since, until=now, step=window.step)
    before = request_stats.by_step(access, since=since - window.length, until=since, step=window.length)
    condensed = standing.list_condensed(access, since=since, until=now, step=window.step)
    memories = stats.searchable_memories(access)
    backlog = stats.recent_backlog(access)
    return OverviewBoard(
        status=report.status,
        tiles=_tiles(
            access,
            user,
            ns=ns,
            now=now,
            memories=memories,
            backlog=backlog,
            waiting=waiting,
            moments=moments,
            before=before,
            moved=TotalsMovement(window, movement.recent(access, length=window.length, now=now)),
        ),
        concerns=[
            *_of_health(report.checks),
            *_of_rows(ns, waiting, backlog),
            *_of_quotas(access, now),
            *_of_schedules(access, now),
        ],
        retired=retired.recent(access, user, ns=ns, now=now),
        tiers=tier_cards(standing.tiers(access, memories=memories)),
        models=model_cards(report.checks.get("embedding", "")),
        workers=worker_cards(standing.workers(), now=now),
        running=standing.running(access, limit=5),
        charts=_charts(ns, window, moments, condensed),
    )


def _tiles(
    access: Access,
    user: Staff,
    *,
    ns: str,
    now: datetime,
    memories: int,
    backlog: stats.Backlog,
    waiting: Waiting,
    moments: list[Moment],
    before: list[Moment],
    moved: TotalsMovement,
) -> list[Tile]:
    packs = saved.recent_saved(access, now=now)
    usage, requests = page_link("ops:usage", ns=ns), page_link("ops:audit_requests", ns=ns)
    recall, former = (request_stats.total([moment.recall for moment in some]) for some in (moments, before))
    archived = ngettext("%(count)s more archived", "%(count)s more archived", backlog.archived)
    oldest = _(" · the oldest waits %(time)s")
    return [
        Tile(
            _("Memories"),
            f"{memories:,}",
            archived % {"count": f"{backlog.archived:,}"},
            list_link(user, "memory", ns, state__exact=MemoryState.ACTIVE),
            delta=deltas.more(moved.all.memories, moved.window),
        ),
        Tile(
            _("Active sessions"),
            f"{stats.active_sessions(access, now=now):,}",
            _("with a message in the last 15 minutes"),
            page_link("ops:sessions", ns=ns),
        ),
        Tile(
            _("Tokens saved"),
            f"{packs.saved:,}",
            ngettext("by %(count)s pack in 30 days", "by %(count)s packs in 30 days", packs.packs)
            % {"count": f"{packs.packs:,}"},
            usage,
        ),
        Tile(
            _("Compression"),
            f"{packs.ratio:.0%}" if packs.original else "–",
            _("of the histories is handed over; smaller is better") if packs.original else _("no pack yet"),
            usage,
        ),
        Tile(
            _("Recall, p95"),
            milliseconds(recall.quantile(0.95)),
            _("p50 %(time)s, estimated from %(count)s queries")
            % {"time": milliseconds(recall.quantile(0.5)), "count": f"{recall.count:,}"},
            requests,
            delta=deltas.slower(recall.quantile(0.95), former.quantile(0.95), moved.window),
            spark=sparkline([moment.recall.quantile(0.95) for moment in moments], tone="blue"),
        ),
        Tile(
            _("Empty recalls"),
            f"{recall.empty_recalls / recall.count:.1%}" if recall.count else "–",
            _("%(count)s of %(all)s queries brought nothing back")
            % {"count": f"{recall.empty_recalls:,}", "all": f"{recall.count:,}"},
            requests,
            delta=deltas.emptier(recall, former, moved.window),
        ),
        Tile(
            _("Jobs waiting"),
            f"{waiting.queued_jobs:,}",
            _("%(count)s being worked on") % {"count": f"{waiting.running_jobs:,}"}
            + (oldest % {"time": timesince(waiting.oldest_job, now, depth=1)} if waiting.oldest_job else ""),
            page_link("ops:pipeline", ns=ns, state=JobState.QUEUED),
        ),
        Tile(
            _("Quarantine"),
            f"{waiting.quarantined:,}",
            _("kept out of memory until someone decides"),
            page_link("ops:quarantine", ns=ns),
            delta=deltas.more(moved.all.quarantined, moved.window),
            tone="weak" if waiting.quarantined else "",
        ),
    ]


def _of_health(checks: Mapping[str, str]) -> list[Concern]:
    words = {
        "database": ("bad", _("The database does not answer: requests fail.")),
        "redis": ("bad", _("Redis does not answer: queries go without the session window.")),
        "embedding": ("bad", _("The embedding model does not work: queries are refused, new memories wait.")),
        "worker": ("weak", _("No worker has a heartbeat: summaries and delayed vectors wait. `make run` starts one.")),
        "queue": ("weak", _("Jobs wait for longer than they should: manage.py doctor says which.")),
        "backup": ("bad", _("The last scheduled backup failed: manage.py doctor says why.")),
    }
    if "overdue" in checks.get("backup", ""):
        words["backup"] = ("weak", _("A backup is overdue: no worker, or one that is too busy."))
    if "no active model" in checks.get("embedding", ""):
        words["embedding"] = ("weak", _("There is no active embedding model yet: run manage.py bootstrap."))
    if "unknown" in checks.get("worker", ""):
        words["worker"] = ("weak", _("Whether a worker runs is unknown: its heartbeat is kept in Redis."))
    return [Concern(*words[name]) for name, found in checks.items() if found != OK]


def _of_rows(ns: str, waiting: Waiting, backlog: stats.Backlog) -> list[Concern]:
    found = [
        (
            waiting.failed_jobs,
            "bad",
            ngettext(
                "%(count)s job failed and waits for a decision",
                "%(count)s jobs failed and wait for a decision",
                waiting.failed_jobs,
            ),
            page_link("ops:pipeline", ns=ns, state=JobState.FAILED),
            _("Replay or discard"),
        ),
        (
            waiting.stuck_jobs,
            "bad",
            ngettext(
                "%(count)s running job has no heartbeat", "%(count)s running jobs have no heartbeat", waiting.stuck_jobs
            ),
            page_link("ops:pipeline", ns=ns, state=JobState.RUNNING),
            _("Look at it"),
        ),
        (
            waiting.quarantined,
            "weak",
            ngettext("%(count)s item in quarantine", "%(count)s items in quarantine", waiting.quarantined),
            page_link("ops:quarantine", ns=ns),
            _("Review"),
        ),
        (
            waiting.contradictions,
            "weak",
            ngettext(
                "%(count)s memory contradicts another", "%(count)s memories contradict others", waiting.contradictions
            ),
            page_link("ops:quarantine", ns=ns, review=Review.CONTRADICTION),
            _("Decide"),
        ),
        (
            waiting.doubted,
            "weak",
            ngettext(
                "%(count)s memory was called wrong or outdated",
                "%(count)s memories were called wrong or outdated",
                waiting.doubted,
            ),
            page_link("ops:quarantine", ns=ns),
            _("Review"),
        ),
        (
            waiting.disabled_webhooks,
            "bad",
            ngettext(
                "%(count)s webhook was disabled after failures",
                "%(count)s webhooks were disabled after failures",
                waiting.disabled_webhooks,
            ),
            page_link("ops:webhooks", ns=ns),
            _("Look at it"),
        ),
        (
            backlog.pending_embeddings,
            "weak",
            ngettext(
                "%(count)s memory has no vector yet: only words find it",
                "%(count)s memories have no vector yet: only words find them",
                backlog.pending_embeddings,
            ),
            page_link("ops:pipeline_rows", ns=ns, stage=Stage.EMBEDDED),
            _("Look at it"),
        ),
    ]
    return [
        Concern(tone, words % {"count": f"{count:,}"}, link, text if link else "")
        for count, tone, words, link, text in found
        if count
    ]


def _of_quotas(access: Access, now: datetime) -> list[Concern]:
    found = []
    for one in quota.list_nearly_used(access, limit=QUOTAS_NAMED, now=now):
        values = {
            "namespace": one.namespace,
            "quota": QUOTAS[one.key],
            "used": f"{one.used:,}",
            "all": f"{one.limit:,}",
        }
        full = one.used >= one.limit
        words = _(
            "“%(namespace)s” has used up its quota: what comes in goes to quarantine. %(quota)s: %(used)s of %(all)s"
        )
        if not full:
            words = _("“%(namespace)s” has nearly used up its quota. %(quota)s: %(used)s of %(all)s")
        link = f"{page_link('ops:policies', ns=one.namespace)}#{one.key}"
        found.append(Concern("bad" if full else "weak", words % values, link, _("Change the quota")))
    return found


def _of_schedules(access: Access, now: datetime) -> list[Concern]:
    """List concerns about schedules. They belong to the whole system: only users who reach all namespaces see them."""
    if not access.all_namespaces:
        return []
    found, late = [], []
    for one in schedules.schedule_states(now=now):
        name = one.name.removeprefix("memos: ")
        if one.name == VERIFY and one.state == JobState.FAILED:
            found.append(Concern("bad", _("The last check of the audit chain failed: events are gone or changed.")))
        elif one.keeps_failing():
            found.append(Concern("bad", _("“%(name)s” has failed again and again.") % {"name": name}))
        elif one.is_late(now):
            late.append(name)
    if late:
        words = ngettext(
            "%(count)s scheduled task is late (%(names)s): no worker, or too few",
            "%(count)s scheduled tasks are late (%(names)s): no worker, or too few",
            len(late),
        )
        found.append(Concern("weak", words % {"count": len(late), "names": ", ".join(late)}))
    return found


def _charts(ns: str, window: TimeWindow, moments: list[Moment], condensed: list[Condensed]) -> list[LineChart]:
    def file(name: str) -> str:
        return page_link("ops:overview", ns=ns, window=window.name, csv=name)

    pattern = "%H:%M" if window.name in ("1h", "24h") else "%m-%d %H:%M"
    labels, keys = [moment.at.strftime(pattern) for moment in moments], [moment.at.isoformat() for moment in moments]
    minutes = window.step.total_seconds() / 60
    latencies = [(_("p50"), 0.5, "blue", False), (_("p95"), 0.95, "orange", True)]
    return [
        line_chart(
            _("Requests a minute"),
            description=_("Turns taken in and questions answered, by minute"),
            labels=labels,
            keys=keys,
            series=[
                Series(_("Ingest"), [moment.ingest.count / minutes for moment in moments], "green"),
                Series(_("Recall"), [moment.recall.count / minutes for moment in moments], "blue", dashed=True),
            ],
            filled=True,
            csv=file("requests"),
        ),
        line_chart(
            _("Recall latency"),
            description=_("Estimated from counts by bucket; a gap is a time without queries"),
            labels=labels,
            keys=keys,
            series=[
                Series(title, [moment.recall.quantile(share) for moment in moments], tone, dashed)
                for title, share, tone, dashed in latencies
            ],
            show=milliseconds,
            csv=file("latency"),
        ),
        line_chart(
            _("Tokens before and after condensing"),
            description=_("Of the turns that summaries took in, and of the summaries"),
            labels=[one.at.strftime(pattern) for one in condensed],
            keys=[one.at.isoformat() for one in condensed],
            series=[
                Series(_("Original"), [one.original for one in condensed], "purple"),
                Series(_("Condensed"), [one.condensed for one in condensed], "green", dashed=True),
            ]
            if any(one.original for one in condensed)
            else [],
            filled=True,
            csv=file("tokens"),
        ),
    ]
