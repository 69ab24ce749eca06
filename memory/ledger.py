"""The erasure ledger: what must not come back with an older backup, in a file outside of the database.

Lines are only added. An erasure is recorded before its first row is deleted, and its end before the receipt says
`finished`. If a process is killed in between, the continued erasure writes a line twice, but never too few. Lines name
memories and documents by id, and sessions and speakers by HMAC-SHA256 under the server's secret. They contain no text,
reasons or names.

Each line starts with the first half of its SHA-256, which reveals alterations. Writers of one file wait for each other
(flock). A line that a full disk or a crash left incomplete is cut off by the next write.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import logging
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from memory import audit
from memory.enums import ErasureStatus, ErasureTarget, ErrorCode
from memory.errors import MemosError, RestoreRefused
from memory.kinds import SESSION_PREFIX
from memory.models import ApiKey, ErasedMemory, ErasedSession, Erasure, Memory, UserErasure
from memory.types import Scope

log = logging.getLogger("memos.backup")

_SUM_CHARS = 32
SESSION = "session"
BEGUN = "begun"


class LedgerUnavailable(MemosError):
    """Raised if a line couldn't be written, or not to the disk."""

    status = 503
    code = ErrorCode.ERASURE_LEDGER_UNAVAILABLE.value


@dataclass(slots=True)
class LedgerErasure:
    """One erasure: what it named, and its state (`begun`, `finished`, `failed`).

    `session` and `speaker` are keyed hashes, made under the secret that `secret` identifies. `only_these` means that
    some of what was named has stayed, and `memories` has only the deleted ones.
    """

    id: uuid.UUID
    namespace_id: int
    target: str
    asked_at: datetime
    session: str
    speaker: str
    secret: str
    documents: list[uuid.UUID]
    memories: list[uuid.UUID]
    state: str = BEGUN
    only_these: bool = False


@dataclass(slots=True)
class Ledger:
    """The content of a ledger: erasures by id, ids of backups, and the numbers and prefixes of revoked API keys.

    `users` are erased users with the namespaces they belonged to. `shares` has the time of the last revocation of each
    share of a cube, by namespace and user.
    """

    erasures: dict[uuid.UUID, LedgerErasure] = field(default_factory=dict)
    backups: set[str] = field(default_factory=set)
    revoked_keys: set[tuple[int, str]] = field(default_factory=set)
    users: set[tuple[int, uuid.UUID]] = field(default_factory=set)
    shares: dict[tuple[int, uuid.UUID], datetime] = field(default_factory=dict)


def path() -> Path | None:
    """Return the path of the ledger, None if it is off."""
    named = settings.MEMOS_ERASURE_LEDGER
    return None if named == "off" else Path(named)


def secret_mark() -> str:
    """Identify MEMOS_SECRET_KEY without revealing it, to show whether two hashes were made under the same one."""
    said = hmac.new(settings.MEMOS_KEY_PEPPER.encode(), b"which secret", hashlib.sha256)
    return said.hexdigest()[:16]


def note_begin(erasure: Erasure) -> None:
    """Record an erasure that is about to delete. Raise LedgerUnavailable."""
    _append([_begin_line(erasure)])


def note_end(erasure: Erasure, status: ErasureStatus) -> None:
    """Record what an erasure has deleted, before its receipt says so. Raise LedgerUnavailable."""
    _append([_end_line(erasure, status)])


def note_backup(backup_id: str, *, now: datetime) -> None:
    """Record that a backup was made: a ledger without it is older than the backup. Raise LedgerUnavailable."""
    _append([{"kind": "backup", "backup": backup_id, "at": now.isoformat()}])


def note_revoked(key: ApiKey) -> None:
    """Record that an API key was revoked. Raise LedgerUnavailable."""
    _append([_key_line(key)])


def note_user(namespace_id: int, user_id: uuid.UUID) -> None:
    """Record that a user is erased. Raise LedgerUnavailable."""
    _append([_user_line(namespace_id, user_id)])


def note_revoked_share(namespace_id: int, user_id: uuid.UUID, *, now: datetime) -> None:
    """Record that a cube is no longer shared with a user. Raise LedgerUnavailable."""
    _append([{"kind": "share", "namespace": namespace_id, "user": str(user_id), "at": now.isoformat()}])


def complete() -> int:
    """Add what the database knows and the ledger lacks, from before it existed or in other servers' folders.

    Return the number of added lines. Raise LedgerUnavailable, or RestoreRefused if the ledger is damaged.
    """
    where = path()
    if where is None:
        return 0
    known = read(where) if where.exists() else Ledger()
    lines = list(_of_database(known))
    if lines:
        _append(lines)
    return len(lines)


def read_database() -> Ledger:
    """Return what the database itself knows, as a complete ledger."""
    return _parse(_of_database(Ledger()))


def merge(*ledgers: Ledger) -> Ledger:
    """Merge ledgers; an erasure is taken from the earliest, unless only a later one says that it has ended."""
    whole = Ledger()
    for one in ledgers:
        whole.backups |= one.backups
        whole.revoked_keys |= one.revoked_keys
        whole.users |= one.users
        for share, moment in one.shares.items():
            whole.shares[share] = max(moment, whole.shares.get(share, moment))
        for erasure in one.erasures.values():
            known = whole.erasures.get(erasure.id)
            if known is None or (known.state == BEGUN and erasure.state != BEGUN):
                whole.erasures[erasure.id] = erasure
    return whole


def read(where: Path) -> Ledger:
    """Read a ledger, ignoring a last line that a crash cut off. Raise RestoreRefused if the file is damaged."""
    try:
        raw = where.read_bytes()
    except OSError as error:
        raise RestoreRefused(f"The erasure ledger {where} cannot be read: {error.strerror}.") from error
    lines = raw.split(b"\n")
    return _parse(_check_lines(where, lines[:-1]))


def _check_lines(where: Path, lines: Sequence[bytes]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        digest, _, said = line.partition(b" ")
        if digest.decode("ascii", "replace") != _sum(said):
            raise RestoreRefused(
                f"The erasure ledger {where} is damaged in line {number}: what was erased then is not known. Give a "
                "whole copy of it (--ledger FILE)."
            )
        yield json.loads(said)


def _parse(lines: Iterable[dict[str, Any]]) -> Ledger:
    ledger = Ledger()
    for line in lines:
        if line["kind"] == "backup":
            ledger.backups.add(line["backup"])
        elif line["kind"] == "key":
            ledger.revoked_keys.add((line["key"], line["prefix"]))
        elif line["kind"] == "user":
            ledger.users.add((line["namespace"], uuid.UUID(line["user"])))
        elif line["kind"] == "share":
            # Lines are ordered by time, so the last one counts.
            share = (line["namespace"], uuid.UUID(line["user"]))
            ledger.shares[share] = datetime.fromisoformat(line["at"])
        elif line["state"] == BEGUN:
            begun = _erasure(line)
            ledger.erasures.setdefault(begun.id, begun)
        elif known := ledger.erasures.get(uuid.UUID(line["erasure"])):
            known.state = line["state"]
            if line["memories"] is not None:
                known.only_these = True
                known.memories = [uuid.UUID(identity) for identity in line["memories"]]
    return ledger


def _erasure(line: dict[str, Any]) -> LedgerErasure:
    return LedgerErasure(
        id=uuid.UUID(line["erasure"]),
        namespace_id=line["namespace"],
        target=line["target"],
        asked_at=datetime.fromisoformat(line["asked_at"]),
        session=line["session"],
        speaker=line["speaker"],
        secret=line["secret"],
        documents=[uuid.UUID(identity) for identity in line["documents"]],
        memories=[uuid.UUID(identity) for identity in line["memories"]],
    )


def _of_database(known: Ledger) -> Iterator[dict[str, Any]]:
    """Yield the lines for records of the database that `known` lacks."""
    erasures = Erasure.objects.across_namespaces().exclude(holders={}, status=ErasureStatus.FAILED)
    for erasure in erasures.order_by("created_at"):
        there = known.erasures.get(erasure.id)
        if there is None:
            yield _begin_line(erasure)
        if erasure.status in (ErasureStatus.FINISHED, ErasureStatus.FAILED) and (there is None or there.state == BEGUN):
            yield _end_line(erasure, ErasureStatus(erasure.status))
    for key in ApiKey.objects.exclude(revoked_at=None).order_by("pk"):
        if (key.pk, key.prefix) not in known.revoked_keys:
            yield _key_line(key)
    gone = UserErasure.objects.across_namespaces().order_by("created_at").values_list("namespace_id", "user_id")
    for user in gone:
        if user not in known.users:
            yield _user_line(*user)


def _begin_line(erasure: Erasure) -> dict[str, Any]:
    scope = Scope(erasure.namespace_id, erasure.namespace, erasure.actor)
    touched = ErasedSession.objects.in_scope(scope).filter(erasure_id=erasure.id, first_turn__lt=0)
    documents = touched.filter(session__startswith=SESSION_PREFIX).values_list("session", flat=True)
    named = ErasedMemory.objects.in_scope(scope).filter(erasure_id=erasure.id).order_by("memory_id")
    return {
        "kind": "erasure",
        "state": BEGUN,
        "erasure": str(erasure.id),
        "namespace": erasure.namespace_id,
        "target": str(erasure.target),
        "asked_at": erasure.created_at.isoformat(),
        "session": audit.hash_words(scope, SESSION, erasure.session) if erasure.session else "",
        "speaker": erasure.speaker_digest,
        "secret": secret_mark() if erasure.session or erasure.speaker_digest else "",
        "documents": sorted(name.removeprefix(SESSION_PREFIX) for name in documents),
        # The memories of a whole namespace are identified by their time.
        "memories": []
        if erasure.target == ErasureTarget.NAMESPACE
        else [identity.hex for identity in named.values_list("memory_id", flat=True)],
    }


def _end_line(erasure: Erasure, status: ErasureStatus) -> dict[str, Any]:
    """Return the line for the end of an erasure; `memories` is None if all that were named are gone."""
    scope = Scope(erasure.namespace_id, erasure.namespace, erasure.actor)
    kept = erasure.holders.get("memory_memory", {}).get("kept")
    gone: list[str] | None = None
    if status == ErasureStatus.FAILED or kept:
        named = ErasedMemory.objects.in_scope(scope).filter(erasure_id=erasure.id)
        there = Memory.objects.in_scope(scope).filter(pk__in=named.values("memory_id"))
        rows = named.exclude(memory_id__in=there.values("pk")).order_by("memory_id")
        gone = [identity.hex for identity in rows.values_list("memory_id", flat=True)]
    return {"kind": "erasure", "state": str(status), "erasure": str(erasure.id), "memories": gone}


def _key_line(key: ApiKey) -> dict[str, Any]:
    return {"kind": "key", "key": key.pk, "prefix": key.prefix}


def _user_line(namespace_id: int, user_id: uuid.UUID) -> dict[str, Any]:
    return {"kind": "user", "namespace": namespace_id, "user": str(user_id)}


def _append(lines: Sequence[dict[str, Any]]) -> None:
    where = path()
    if where is None:
        return
    said = [json.dumps(line, separators=(",", ":")).encode() for line in lines]
    data = b"".join(_sum(line).encode() + b" " + line + b"\n" for line in said)
    try:
        _make_folder(where.parent)
        with _lock_file(where) as handle:
            _write(handle, data)
    except OSError as error:
        # Callers see the error in receipts, but only the log has the path.
        log.error("the erasure ledger cannot be written", extra={"path": str(where), "reason": error.strerror})
        raise LedgerUnavailable(
            f"The erasure ledger cannot be written ({error.strerror}): see MEMOS_ERASURE_LEDGER."
        ) from error


def _write(handle: int, data: bytes) -> None:
    """Append whole lines and wait for the disk; an error leaves the file unchanged."""
    end = _end_of_last_line(handle)
    os.ftruncate(handle, end)
    os.lseek(handle, end, os.SEEK_SET)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, end)
        raise


def _end_of_last_line(handle: int) -> int:
    end = os.lseek(handle, 0, os.SEEK_END)
    while end:
        start = max(0, end - 65_536)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


@contextmanager
def _lock_file(where: Path) -> Iterator[int]:
    new = not where.exists()
    handle = os.open(where, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if new:
            sync_folder(where.parent)
        yield handle
    finally:
        os.close(handle)


def _make_folder(folder: Path) -> None:
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True)


def sync_folder(folder: Path) -> None:
    """Wait until a folder's directory entries are on disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sum(said: bytes) -> str:
    return hashlib.sha256(said).hexdigest()[:_SUM_CHARS]
