"""Builds the first steps from an empty server to a recalled memory, and says which are done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db.models import Q
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from memory.enums import AuditEvent
from memory.models import ApiKey, AuditLog, Condensation, ContextPack, Memory
from memory.types import Access
from ops.access import VIEW_CONSOLE

SETTLED_AFTER = timedelta(hours=1)
NEWEST = 1_000


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A first step: whether it is done, and what to do, type or open."""

    title: str
    done: bool
    text: str
    command: str = ""
    link: str = ""
    link_text: str = ""


def steps(access: Access, user: AbstractUser | AnonymousUser, *, server: str, now: datetime) -> list[FirstStep]:
    """Return the steps from a key to a stored and recalled memory, a summary, and an explanation of the recall."""
    usable = ApiKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None).exists()
    header = '-H "Authorization: Bearer $MEMOS_API_KEY" -H "Content-Type: application/json"'
    may_issue = user.has_perm("memory.add_apikey")
    asked = ContextPack.objects.reachable_by(access).exists()
    radar, inspector = _page(user, "ops:radar"), _page(user, "ops:inspector")
    condensed = Condensation.objects.reachable_by(access).exists()
    by_itself = _("The worker does it by itself, about a minute after the first messages.")
    or_demo = _("Or fill the server with a demo:")
    found = [
        FirstStep(
            _("Issue an API key"),
            usable,
            _("It is shown once, here or in the terminal at the first start. Then: export MEMOS_API_KEY=mos_…"),
            link=reverse("admin:memory_apikey_add") if may_issue else "",
            link_text=_("Issue a key"),
        ),
        FirstStep(
            _("Store a memory"),
            _has_stored(access),
            _("The key must reach the namespace demo and have the write scope."),
            command=f"curl -sS {server}/v1/ingest {header} \\\n  "
            '-d \'{"namespace": "demo", "session_id": "first", "role": "user", "text": "Ann prefers window seats."}\'',
        ),
        FirstStep(
            _("Ask for it"),
            asked,
            _("The answer holds the memory, and why it was found."),
            command=f"curl -sS {server}/v1/query {header} \\\n  "
            '-d \'{"namespace": "demo", "session_id": "second", "query": "Where does Ann like to sit?"}\'',
            link=inspector,
            link_text=_("Look at what was handed over"),
        ),
        FirstStep(
            _("Get a session condensed"),
            condensed,
            by_itself if condensed else f"{by_itself} {or_demo}",
            command="python manage.py seed_demo",
            link=_page(user, "ops:pipeline_condensations"),
            link_text=_("Look at the summaries"),
        ),
    ]
    if not radar:
        return found
    text = _("Ask the radar the same question: it shows each candidate, and what lifted or sank it.")
    return [
        *found,
        FirstStep(
            _("See why it came back"),
            asked and _has_looked(access, now),
            text,
            link=radar,
            link_text=_("Open the radar"),
        ),
    ]


def _has_stored(access: Access) -> bool:
    """Return whether there is a memory besides those of the demo, which the next step needs."""
    return Memory.objects.reachable_by(access).exclude(metadata__has_key="demo").exists()


def _has_looked(access: Access, now: datetime) -> bool:
    """Return whether a probe is among the newest events, or whether a query is so old that no steps are needed."""
    if ContextPack.objects.reachable_by(access).filter(created_at__lt=now - SETTLED_AFTER).exists():
        return True
    newest = AuditLog.objects.reachable_by(access).order_by("-id").values_list("event_type", flat=True)[:NEWEST]
    return AuditEvent.CONSOLE_PROBE in list(newest)


def _page(user: AbstractUser | AnonymousUser, url_name: str) -> str:
    """Return the address of a page, or "" if it may not be opened or does not exist."""
    if not user.has_perm("ops.run_probe" if url_name == "ops:radar" else VIEW_CONSOLE):
        return ""
    try:
        return reverse(url_name)
    except NoReverseMatch:
        return ""
