"""The pages of the console, in the groups of its navigation. A page whose url name does not resolve is not shown."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _

from ops.access import VIEW_CONSOLE
from ops.words import Words


@dataclass(frozen=True, slots=True)
class Page:
    """`url_name` leads to it; every page whose url name begins with `family` belongs to it (empty: only itself)."""

    name: str
    title: Words
    icon: str
    url_name: str
    permission: str = VIEW_CONSOLE
    family: str = ""


@dataclass(frozen=True, slots=True)
class PageGroup:
    title: Words
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A page as the navigation shows it to one member of staff."""

    title: Words
    icon: str
    url: str
    current: bool


GROUPS = (
    PageGroup(
        _("Watch"),
        (
            Page("overview", _("Overview"), "overview", "ops:overview"),
            Page("pipeline", _("Pipeline"), "pipeline", "ops:pipeline", family="ops:pipeline"),
            Page("sessions", _("Sessions"), "sessions", "ops:sessions", family="ops:session"),
            Page("cubes", _("Cubes"), "database", "ops:cubes", family="ops:cube"),
            Page("users", _("Users"), "user", "ops:users", family="ops:user"),
            Page("namespaces", _("Namespaces"), "namespace", "ops:namespaces", family="ops:namespace"),
        ),
    ),
    PageGroup(
        _("Understand"),
        (
            Page("radar", _("Radar"), "radar", "ops:radar", permission="ops.run_probe", family="ops:radar"),
            Page("inspector", _("Inspector"), "inspector", "ops:inspector", family="ops:inspector"),
            Page("map", _("Map"), "map", "ops:map", family="ops:map"),
            Page("tree", _("Topics"), "tree", "ops:tree", family="ops:tree"),
            Page("entities", _("Entities"), "entities", "ops:entities", family="ops:entit"),
        ),
    ),
    PageGroup(
        _("Steer"),
        (
            Page("documents", _("Documents"), "book", "ops:documents", family="ops:document"),
            Page("imports", _("Imports"), "download", "ops:imports", family="ops:import"),
            Page("quarantine", _("Quarantine"), "quarantine", "ops:quarantine", family="ops:quarantine"),
            Page("retired", _("Retired"), "archive", "ops:retired", family="ops:retired"),
            Page("decay", _("Decay"), "decay", "ops:decay", family="ops:decay"),
            Page("activation", _("Activation"), "bolt", "ops:activation", family="ops:activation"),
            Page("policies", _("Policies"), "policies", "ops:policies", family="ops:polic"),
            Page("adapters", _("Adapters"), "chip", "ops:adapters", family="ops:adapter"),
            Page("evaluation", _("Evaluation"), "evaluation", "ops:evaluation", family="ops:evaluation"),
        ),
    ),
    PageGroup(
        _("Account for"),
        (
            Page("usage", _("Usage"), "bolt", "ops:usage", family="ops:usage"),
            Page("webhooks", _("Webhooks"), "link", "ops:webhooks", family="ops:webhook"),
            Page("audit", _("Audit"), "audit", "ops:audit", family="ops:audit"),
            Page("admin", _("Admin"), "admin", "admin:index", family="admin:"),
        ),
    ),
)
# Parameters of the address that every link of the navigation takes along.
KEPT = ("ns", "window")


def keep_query(request: HttpRequest) -> str:
    """`?ns=…&window=…` as far as the request has them, else empty."""
    kept = {name: request.GET[name] for name in KEPT if request.GET.get(name)}
    return f"?{urlencode(kept)}" if kept else ""


def groups(request: HttpRequest) -> list[tuple[Words, list[Link]]]:
    """What this member of staff may open, by group; groups without a page are left out."""
    here = request.resolver_match.view_name if request.resolver_match else ""
    query = keep_query(request)
    shown = [
        (group.title, [link for page in group.pages if (link := _link(page, request, here, query))]) for group in GROUPS
    ]
    return [(title, links) for title, links in shown if links]


def _link(page: Page, request: HttpRequest, here: str, query: str) -> Link | None:
    if not request.user.has_perm(page.permission):
        return None
    try:
        url = reverse(page.url_name)
    except NoReverseMatch:
        return None
    current = here == page.url_name or (bool(page.family) and here.startswith(page.family))
    in_console = page.url_name.startswith("ops:")
    return Link(page.title, page.icon, url + query if in_console else url, current)
