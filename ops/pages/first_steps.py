"""The way from an empty server to a memory that comes back, with what is done of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db.models import Q
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from memory.models import ApiKey, Condensation, ContextPack
from memory.types import Access


@dataclass(frozen=True, slots=True)
class Step:
    """One of the first steps: whether it is done, and what to do, type or open."""

    title: str
    done: bool
    text: str
    command: str = ""
    link: str = ""
    link_text: str = ""


def steps(
    access: Access, user: AbstractUser | AnonymousUser, *, server: str, memories: int, now: datetime
) -> list[Step]:
    """From a key to a stored and recalled memory, a summary, and a look at why it came back."""
    usable = ApiKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None).exists()
    header = '-H "Authorization: Bearer $MEMOS_KEY" -H "Content-Type: application/json"'
    may_issue = user.has_perm("memory.add_apikey")
    asked = ContextPack.objects.reachable_by(access).exists()
    found = [
        Step(
            _("Issue an API key"),
            usable,
            _("It is shown once. Keep it in the shell: export MEMOS_KEY=mos_…"),
            link=reverse("admin:memory_apikey_add") if may_issue else "",
            link_text=_("Issue a key"),
        ),
        Step(
            _("Store a memory"),
            memories > 0,
            _("The key must reach the namespace demo and have the write scope."),
            command=f"curl -sS {server}/v1/ingest {header} \\\n  "
            '-d \'{"namespace": "demo", "session_id": "first", "role": "user", "text": "Ann prefers window seats."}\'',
        ),
        Step(
            _("Ask for it"),
            asked,
            _("The answer holds the memory, and why it was found."),
            command=f"curl -sS {server}/v1/query {header} \\\n  "
            '-d \'{"namespace": "demo", "session_id": "first", "query": "Where does Ann like to sit?"}\'',
        ),
        Step(
            _("Get a session condensed"),
            Condensation.objects.reachable_by(access).exists(),
            _("The worker does it by itself, about a minute after the first messages. Or fill the server with a demo:"),
            command="python manage.py seed_demo",
        ),
    ]
    try:
        radar = reverse("ops:radar") if user.has_perm("ops.run_probe") else ""
    except NoReverseMatch:
        return found
    text = _("The radar shows each candidate of a question, and what lifted or sank it.")
    return [
        *found,
        Step(_("See why it came back"), asked and memories > 0, text, link=radar, link_text=_("Open the radar")),
    ]
