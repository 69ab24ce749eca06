"""What the Overview shows, as plain values: health in words, tiles with their links, first steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.db.models import Q
from django.urls import reverse
from django.utils.timesince import timesince

from memory.enums import JobState, MemoryState
from memory.models import ApiKey, ContextPack
from memory.services import stats
from memory.services.health import OK
from memory.types import Access

Staff = AbstractUser | AnonymousUser


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the server. `state` is good, weak (served, but something is missing), bad or off (not set up)."""

    title: str
    state: str
    word: str
    detail: str


@dataclass(frozen=True, slots=True)
class Tile:
    """One number, what it counts, and where its rows are (empty: there is no list of them, or not for this user)."""

    title: str
    value: str
    note: str
    link: str


@dataclass(frozen=True, slots=True)
class Step:
    """One of the first steps: whether it is done, and what to do or type."""

    title: str
    done: bool
    text: str
    command: str = ""
    link: str = ""
    link_text: str = ""


_PARTS = {
    "database": ("Database", "PostgreSQL keeps every memory"),
    "redis": ("Redis", "keeps the newest messages of each session"),
    "embedding": ("Embedding model", "makes the vectors that search by meaning needs"),
    "worker": ("Background worker", "writes summaries and embeds what had to wait"),
}


def health_cards(checks: Mapping[str, str]) -> list[Part]:
    """The parts of the server in words."""
    return [_part(name, checks.get(name, "not looked at")) for name in _PARTS]


def _part(name: str, found: str) -> Part:
    title, purpose = _PARTS[name]
    if found == OK:
        return Part(title, "good", "Works", purpose)
    if name == "database":
        return Part(title, "bad", "Down", found)
    if found.startswith(("no active model", "not looked at")):
        return Part(title, "off", "Not set up" if found.startswith("no") else "Unknown", found)
    if found.startswith("unknown"):
        return Part(title, "off", "Unknown", found)
    return Part(title, "weak", "Needs a look", found)


def tiles(access: Access, user: Staff, *, queue: stats.Queue, now: datetime) -> list[Tile]:
    """The numbers of this moment; each links to the rows that it counts, where there is such a list."""
    summaries = stats.summary_tokens(access)
    backlog = stats.backlog(access)
    condensations = _list(user, "memory", "condensation")
    jobs, failures = (_list(user, "memory", "job", state__exact=state) for state in (JobState.QUEUED, JobState.FAILED))
    oldest = f"; the oldest waits {timesince(queue.oldest, now, depth=1)}" if queue.oldest else ""
    return [
        Tile(
            "Memories",
            f"{stats.searchable_memories(access):,}",
            "searchable now",
            _list(user, "memory", "memory", state__exact=MemoryState.ACTIVE),
        ),
        Tile(
            "Active sessions",
            f"{stats.active_sessions(access, now=now):,}",
            "with a message in the last 15 minutes",
            "",
        ),
        Tile(
            "Tokens saved",
            f"{summaries.saved:,}",
            f"by the summaries of {_count(summaries.sessions, 'session')}",
            condensations,
        ),
        Tile(
            "Compression",
            f"{summaries.ratio:.0%}" if summaries.original else "–",
            "of the original tokens remain; smaller is better" if summaries.original else "nothing condensed yet",
            condensations,
        ),
        Tile("Jobs waiting", f"{queue.queued:,}", f"{queue.in_flight:,} being worked on{oldest}", jobs),
        Tile("Failed jobs", f"{queue.failed:,}", "kept until replayed or discarded", failures),
        Tile("Without a vector", f"{backlog.pending_embeddings:,}", "found by words only until embedded", ""),
        Tile(
            "Archived",
            f"{backlog.archived:,}",
            "out of retrieval, can be restored",
            _list(user, "memory", "memory", state__exact=MemoryState.ARCHIVED),
        ),
    ]


def steps(user: Staff, *, server: str, memories: bool, worker: bool, now: datetime) -> list[Step]:
    """The way from an empty server to a memory that comes back."""
    usable = ApiKey.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None).exists()
    header = '-H "Authorization: Bearer $MEMOS_KEY" -H "Content-Type: application/json"'
    may_issue = user.has_perm("memory.add_apikey")
    return [
        Step(
            "Issue an API key",
            usable,
            "It is shown once. Keep it in the shell: export MEMOS_KEY=mos_…",
            link=reverse("admin:memory_apikey_add") if may_issue else "",
            link_text="Issue a key",
        ),
        Step(
            "Store a memory",
            memories,
            "The key must reach the namespace demo and have the write scope.",
            command=f"curl -sS {server}/v1/ingest {header} \\\n  "
            '-d \'{"namespace": "demo", "session_id": "first", "role": "user", "text": "Ann prefers window seats."}\'',
        ),
        Step(
            "Ask for it",
            ContextPack.objects.exists(),
            "The answer holds the memory, and why it was found.",
            command=f"curl -sS {server}/v1/query {header} \\\n  "
            '-d \'{"namespace": "demo", "session_id": "first", "query": "Where does Ann like to sit?"}\'',
        ),
        Step("Let the worker run", worker, "make run starts it; elsewhere: python manage.py qcluster"),
    ]


def _list(user: Staff, app: str, model: str, **filters: str) -> str:
    if not user.has_perm(f"{app}.view_{model}"):
        return ""
    query = f"?{urlencode(filters)}" if filters else ""
    return reverse(f"admin:{app}_{model}_changelist") + query


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
