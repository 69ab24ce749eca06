"""Plain values that travel between layers."""

from __future__ import annotations

import unicodedata
import uuid
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from memory.enums import AccessScope, GateDecision, ShareLevel


@dataclass(frozen=True, slots=True)
class Access:
    """Who is calling and what they may reach. Built once, in authentication; reaches nothing by default.

    `default_namespace`: that of requests that name none, if the key says it. `user_id`: whose key it is. `shares`:
    namespaces whose cubes are shared with that user, beyond those of the key, each with what for; they are reached only
    after `reach_shares`.
    """

    actor: str
    key_id: int | None = None
    scopes: frozenset[str] = frozenset()
    all_namespaces: bool = False
    namespace_ids: frozenset[int] = frozenset()
    requests_per_minute: int = 0
    user_id: uuid.UUID | None = None
    shares: tuple[tuple[int, ShareLevel], ...] = ()
    default_namespace: str = ""

    def may(self, scope: str) -> bool:
        return scope in self.scopes

    def reach_shares(self, needed: AccessScope) -> Access:
        """The same caller, who also reaches what is shared with it, for reading or writing: nobody manages a share."""
        levels = {
            AccessScope.READ: (ShareLevel.READ, ShareLevel.WRITE),
            AccessScope.WRITE: (ShareLevel.WRITE,),
            AccessScope.ADMIN: (),
        }[needed]
        shared = {identity for identity, level in self.shares if level in levels}
        return replace(self, namespace_ids=self.namespace_ids | shared) if shared else self

    def leave_shares(self) -> Access:
        """The same caller, who reaches what its key reaches by itself: for what is not shared with a cube."""
        shared = {identity for identity, _level in self.shares}
        return replace(self, namespace_ids=self.namespace_ids - shared) if shared else self

    def share_of(self, namespace_id: int) -> ShareLevel | None:
        """What the namespace is shared with the caller for; None where the key itself reaches it, or nothing does."""
        return dict(self.shares).get(namespace_id)

    def reads_share_of(self, namespace_id: int) -> bool:
        """Whether the namespace is shared with the caller for reading alone: it shows what holds, and nothing else."""
        return self.share_of(namespace_id) == ShareLevel.READ


# What the system itself runs with: the worker, management commands and staff in the admin.
def system_access(actor: str) -> Access:
    """Full access in the name of `actor` (for example `worker`, `command:seed_demo`, `staff:ann`)."""
    return Access(actor=actor, scopes=frozenset(AccessScope.values), all_namespaces=True)


@dataclass(frozen=True, slots=True)
class Scope:
    """One caller inside one namespace: the first argument of everything that touches a tenant's rows."""

    namespace_id: int
    namespace: str
    actor: str
    request_id: str = ""


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Returns the moment as told in `zone`; unchanged where `zone` would show the year 0 or 10000."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def session_of_day(moment: datetime, zone: tzinfo | None = None) -> str:
    """Returns the session of what names none: one for each day of `zone` (None: UTC), such as `2026-11-22`."""
    return in_zone(moment, zone or UTC).date().isoformat()


def compose_name(name: str) -> str:
    """Returns the one form (NFC) in which names, ids and sessions are stored and looked up."""
    return unicodedata.normalize("NFC", name)


def list_forms(name: str) -> list[str]:
    """Lists the forms of Unicode in which a name may have been stored before names were composed: one of plain ASCII
    has one."""
    return list(dict.fromkeys(unicodedata.normalize(form, name) for form in ("NFC", "NFD")))


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A turn to be remembered, already validated. Its session and speaker are composed."""

    session: str
    role: str
    text: str
    speaker: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    occurred_at: datetime | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "session", compose_name(self.session))
        object.__setattr__(self, "speaker", compose_name(self.speaker))


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to be remembered, already validated. Without a `document_id` it gets one."""

    text: str
    document_id: str = ""
    title: str = ""
    source: str = ""
    format: str = "text"
    session: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What became of a document: its version (1 for a new one) and chunks, and what did not work fully.

    One that the gate keeps out has no chunks, and `version` is that of the text in force (0: there is none).
    `reasons` are the gate's, as {rule, says}; `quarantine_id` is the item's that was kept apart.
    """

    document_id: str
    version: int
    chunks: int
    characters: int
    degraded: list[str]
    verdict: str = GateDecision.ACCEPT.value
    reasons: list[dict[str, str]] = field(default_factory=list)
    quarantine_id: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether it can be found."""
        return GateDecision(self.verdict).lets_in


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A client's promise that the same `key` means the same request; `body_hash` is checked against it."""

    principal: str
    key: str
    body_hash: str
    keep_forever: bool = False


@dataclass(frozen=True, slots=True)
class ChangeTerms:
    """How a caller wants one memory changed: only in one of these `revisions` (None: in any), once for each key."""

    revisions: frozenset[int] | None = None
    idempotency: Idempotency | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class WindowMessage:
    """One message of the session window (L1)."""

    memory_id: str
    role: str
    speaker: str
    text: str
    tokens: int
    occurred_at: str
    suspected: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one turn at the gate.

    `memory_id` is the memory's; that of a quarantined turn is its item's, which the memory keeps when it is released; a
    rejected turn has none. `reasons` are {rule, says}: what decided, or was noted and let through, the strongest first.
    """

    verdict: GateDecision
    memory_id: uuid.UUID | None
    reasons: list[dict[str, str]] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether it is a memory."""
        return self.verdict.lets_in


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a batch: an outcome for each item, in their order, and what did not work fully (`degraded`)."""

    outcomes: list[Outcome]
    degraded: list[str]
    replayed: bool = False

    @property
    def memory_ids(self) -> list[uuid.UUID]:
        """The memories that were made, in the order of the items."""
        return [outcome.memory_id for outcome in self.outcomes if outcome.accepted and outcome.memory_id is not None]


@dataclass(frozen=True, slots=True)
class ListFilter:
    """What a listing is narrowed to; None is all."""

    namespace: str | None
    session: str | None
    limit: int
