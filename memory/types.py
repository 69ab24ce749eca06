"""Plain values that are passed between layers."""

from __future__ import annotations

import unicodedata
import uuid
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from memory.enums import AccessScope, GateDecision, ShareLevel


@dataclass(frozen=True, slots=True)
class Access:
    """The caller and what it may reach. It is built once, in authentication, and reaches nothing by default.

    `default_namespace` is that of requests that name none, if the key has one. `user_id` is the key's owner. `shares`
    are the namespaces whose cubes are shared with that user, with the level of each; they are only reached after
    `reach_shares`.
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
        """Return the same caller including its shares for reading or writing; shares can't be administered."""
        levels = {
            AccessScope.READ: (ShareLevel.READ, ShareLevel.WRITE),
            AccessScope.WRITE: (ShareLevel.WRITE,),
            AccessScope.ADMIN: (),
        }[needed]
        shared = {identity for identity, level in self.shares if level in levels}
        return replace(self, namespace_ids=self.namespace_ids | shared) if shared else self

    def leave_shares(self) -> Access:
        """Return the same caller without its shares, for what isn't shared with a cube."""
        shared = {identity for identity, _level in self.shares}
        return replace(self, namespace_ids=self.namespace_ids - shared) if shared else self

    def share_of(self, namespace_id: int) -> ShareLevel | None:
        """Return the level at which the namespace is shared with the caller, None if it isn't shared."""
        return dict(self.shares).get(namespace_id)

    def reads_share_of(self, namespace_id: int) -> bool:
        """Tell whether the namespace is shared for reading only, so that only what currently holds is shown."""
        return self.share_of(namespace_id) == ShareLevel.READ


# The access of the system itself: the worker, management commands and staff in the admin.
def system_access(actor: str) -> Access:
    """Return full access in the name of `actor` (for example `worker`, `command:seed_demo`, `staff:ann`)."""
    return Access(actor=actor, scopes=frozenset(AccessScope.values), all_namespaces=True)


@dataclass(frozen=True, slots=True)
class Scope:
    """One caller inside one namespace: the first argument of everything that touches a tenant's rows."""

    namespace_id: int
    namespace: str
    actor: str
    request_id: str = ""


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return the time in `zone`, unchanged if that would be in the year 0 or 10000."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def session_of_day(moment: datetime, zone: tzinfo | None = None) -> str:
    """Return the session of messages that name none: one for each day in `zone` (None: UTC), such as `2026-11-22`."""
    return in_zone(moment, zone or UTC).date().isoformat()


def compose_name(name: str) -> str:
    """Return a name in NFC, the form in which names, ids and sessions are stored and looked up."""
    return unicodedata.normalize("NFC", name)


def list_forms(name: str) -> list[str]:
    """Return the Unicode forms in which a name may have been stored before names were composed; ASCII has just one."""
    return list(dict.fromkeys(unicodedata.normalize(form, name) for form in ("NFC", "NFD")))


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A validated turn to remember; its session and speaker are composed."""

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
    """A validated document to remember. Without a `document_id` it gets one."""

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
    """The outcome for a document: its version (1 for a new one) and chunks, and what didn't work fully.

    A document that the gate keeps out has no chunks, and `version` is that of the current text (0: there is none).
    `reasons` are the gate's, as {rule, says}; `quarantine_id` is that of the quarantined item.
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
        """True if it can be found."""
        return GateDecision(self.verdict).lets_in


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A client's promise that the same `key` means the same request; `body_hash` verifies it."""

    principal: str
    key: str
    body_hash: str
    keep_forever: bool = False


@dataclass(frozen=True, slots=True)
class ChangeTerms:
    """Conditions for changing a memory: only in one of these `revisions` (None: any), and once per key."""

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
    """The outcome for one turn at the gate.

    `memory_id` is the memory's id. That of a quarantined turn is its item's, which the memory keeps when it is
    released; a rejected turn has none. `reasons` are {rule, says}: the deciding or merely noted ones, strongest
    first.
    """

    verdict: GateDecision
    memory_id: uuid.UUID | None
    reasons: list[dict[str, str]] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """True if it is a memory."""
        return self.verdict.lets_in


@dataclass(frozen=True, slots=True)
class Ingested:
    """The outcomes of a batch, one for each item in order, and what didn't work fully (`degraded`)."""

    outcomes: list[Outcome]
    degraded: list[str]
    replayed: bool = False

    @property
    def memory_ids(self) -> list[uuid.UUID]:
        """The memories that were stored, in the order of the items."""
        return [outcome.memory_id for outcome in self.outcomes if outcome.accepted and outcome.memory_id is not None]


@dataclass(frozen=True, slots=True)
class ListFilter:
    """Filters of a listing; None means all."""

    namespace: str | None
    session: str | None
    limit: int
