"""Builds the page of a namespace, and the list of reachable ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.enums import MemoryState, QuarantineState
from memory.models import ApiKey, Job, Namespace, Session
from memory.services.monitoring import namespaces
from memory.services.monitoring.namespaces import Held, Used
from memory.services.sessions import listing
from memory.services.tenancy import policy
from ops.charts import Histogram, Slice, StackedBar, bar_of_parts, histogram
from ops.navigation import GROUPS
from ops.pages.links import Staff, list_link, page_link, row_link
from ops.pages.tiles import Tile
from ops.words import Words

GROWTH_DAYS = 30
LISTED = 10
QUOTAS: dict[str, Words] = {
    "quota.memories": gettext_lazy("Memories held"),
    "quota.writes_per_day": gettext_lazy("Memories added today"),
}


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota. `percent` is an integer, or None without a limit."""

    title: Words
    used: Used
    percent: int | None


@dataclass(frozen=True, slots=True)
class SessionLink:
    session: Session
    link: str


@dataclass(frozen=True, slots=True)
class KeyLink:
    key: ApiKey
    scopes: str
    link: str


@dataclass(frozen=True, slots=True)
class Override:
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class ErrorRow:
    job: Job
    link: str


@dataclass(frozen=True, slots=True)
class PageLink:
    title: Words
    icon: str
    link: str


@dataclass(frozen=True, slots=True)
class Tenant:
    """The contents of the page."""

    tiles: list[Tile]
    states: StackedBar
    growth: Histogram
    grown: int
    quotas: list[Quota]
    sessions: list[SessionLink]
    keys: list[KeyLink]
    overrides: list[Override]
    policy_version: int
    policies_link: str
    errors: list[ErrorRow]
    failed_link: str
    pages: list[PageLink]


def tenant(namespace: Namespace, request: HttpRequest, *, now: datetime) -> Tenant:
    """Return the page of a namespace, counted now."""
    user, ns = request.user, namespace.name
    held = namespaces.count_rows(namespace)
    days = namespaces.growth(namespace, days=GROWTH_DAYS, now=now)
    governing = policy.governing(namespace.pk)
    failed = Job.objects.filter(namespace_id=namespace.pk).failed().order_by("-pk")[:LISTED]
    return Tenant(
        tiles=_tiles(held, user, ns),
        states=_states(held, user, ns),
        growth=histogram(
            _("Memories by the day they were learned"),
            description=_("The last 30 days, UTC; what was deleted since is not counted"),
            labels=[one.day.strftime("%m-%d") for one in days],
            keys=[one.day.isoformat() for one in days],
            csv=page_link("ops:namespaces", ns=ns, csv="growth"),
            values=[one.memories for one in days],
            header=_("Memories"),
            tone="green",
        ),
        grown=sum(one.memories for one in days),
        quotas=[_quota(one) for one in namespaces.quotas(namespace, memories=held.active, now=now)],
        sessions=[
            SessionLink(one, page_link("ops:session", ns=ns, session=one.name))
            for one in listing.biggest(namespace, limit=LISTED)
        ],
        keys=[
            KeyLink(key, ", ".join(key.scopes), row_link(user, "apikey", key.pk))
            for key in namespaces.keys_reaching(namespace, limit=LISTED)
        ],
        overrides=[Override(key, str(value)) for key, value in sorted(governing.overrides.items())],
        policy_version=governing.version,
        policies_link=page_link("ops:policies", ns=ns),
        errors=[ErrorRow(job, page_link("ops:pipeline_job", id=str(job.pk), ns=ns)) for job in failed],
        failed_link=page_link("ops:pipeline", ns=ns, state="failed"),
        pages=pages(user, ns),
    )


def _tiles(held: Held, user: Staff, ns: str) -> list[Tile]:
    def tile(title: Words, value: int, note: Words, link: str, tone: str = "") -> Tile:
        return Tile(title, f"{value:,}", note, link, tone=tone if value else "")

    return [
        tile(_("Memories"), held.active, _("that retrieval may return"),
             list_link(user, "memory", ns, state__exact=MemoryState.ACTIVE)),
        tile(_("Sessions"), held.sessions, _("with messages"), page_link("ops:sessions", ns=ns)),
        tile(_("Entities"), held.entities, _("people, places, things named"), page_link("ops:entities", ns=ns)),
        tile(_("Documents"), held.documents, _("kept as chunks"), ""),
        tile(_("Summaries"), held.summaries, _("every version"), page_link("ops:pipeline_condensations", ns=ns)),
        tile(_("Packs"), held.packs, _("handed over for questions"), page_link("ops:inspector", ns=ns)),
        tile(_("For review"), held.review, _("memories that someone should look at"),
             list_link(user, "memory", ns, review="waiting"), "weak"),
        tile(_("Quarantine"), held.quarantined, _("kept out until someone decides"),
             page_link("ops:pipeline_rows", stage="screened", ns=ns), "weak"),
    ]  # fmt: skip


def _states(held: Held, user: Staff, ns: str) -> StackedBar:
    return bar_of_parts(
        _("Memories by state"),
        [
            Slice(_("Active"), held.active, "green", list_link(user, "memory", ns, state__exact=MemoryState.ACTIVE)),
            Slice(
                _("Archived"), held.archived, "grey", list_link(user, "memory", ns, state__exact=MemoryState.ARCHIVED)
            ),
            Slice(
                _("In quarantine"),
                held.quarantined,
                "amber",
                list_link(user, "quarantineditem", ns, state__exact=QuarantineState.PENDING),
            ),
        ],
        description=_("Active memories take part in retrieval; archived ones are kept out of it"),
        csv=page_link("ops:namespaces", ns=ns, csv="states"),
    )


def _quota(used: Used) -> Quota:
    percent = min(100, round(100 * used.used / used.limit)) if used.limit else None
    return Quota(QUOTAS[used.key], used, percent)


def pages(user: Staff, ns: str) -> list[PageLink]:
    """Return the console's pages with this namespace chosen."""
    found = []
    for group in GROUPS:
        for one in group.pages:
            if one.url_name.startswith("ops:") and one.name != "namespaces" and user.has_perm(one.permission):
                link = page_link(one.url_name, ns=ns)
                if link:
                    found.append(PageLink(one.title, one.icon, link))
    return found
