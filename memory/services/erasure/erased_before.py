"""Keeps erased memories from coming back with an older file, by looking up the file's memories in the erasures."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory import audit, ledger
from memory.enums import ErasureStatus, ErasureTarget
from memory.kinds import SESSION_PREFIX
from memory.models import ErasedMemory, ErasedSession, Erasure, Namespace
from memory.postgresql import reach
from memory.services.erasure.receipts import speaker_digest
from memory.types import Scope, list_forms


@dataclass(frozen=True, slots=True)
class BroughtMemory:
    """A memory of a file: its id there, and the properties that erasures match. `known_at`: when a MemOS first stored
    it."""

    origin: uuid.UUID
    session: str
    speaker: str
    known_at: datetime


class ErasedBefore:
    """Knows the erasures of a namespace, and of the namespace that a file was written from, if it is on this server.

    The ledger outside of the database is read as well, for erasures that a restored backup does not know. It names
    namespaces by their numbers, which a restored or new database may assign again: entries from before a namespace was
    created belong to another one. Raises RestoreRefused when the ledger is damaged.
    """

    def __init__(self, scope: Scope, *, origin: int | None = None, written_at: datetime | None = None) -> None:
        """Take the number of the namespace that the file was written from, and the time of writing."""
        self._namespaces = tuple(dict.fromkeys((scope.namespace_id, *([origin] if origin else []))))
        made = dict(Namespace.objects.filter(pk__in=self._namespaces).values_list("pk", "created_at"))
        # An older file comes from the namespace that had the number before.
        self._since = {
            pk: at for pk, at in made.items() if pk == scope.namespace_id or not written_at or at <= written_at
        }
        self._sessions: dict[tuple[int, str], datetime] = {}
        self._speakers: dict[tuple[int, str], datetime] = {}
        self._whole: datetime | None = None
        self._noted: set[uuid.UUID] = set()
        self._noted_documents: dict[uuid.UUID, datetime] = {}
        self._asked: dict[uuid.UUID, datetime] = {}
        with reach.within(*self._namespaces):
            rows = Erasure.objects.filter(namespace_id__in=self._namespaces).exclude(status=ErasureStatus.FAILED)
            for row in rows.only("id", "namespace_id", "target", "session", "speaker_digest", "created_at"):
                self._asked[row.id] = row.created_at
                if row.session:
                    key = (row.namespace_id, _hash(row.namespace_id, row.session))
                    self._sessions[key] = max(row.created_at, self._sessions.get(key, row.created_at))
                self._add(row.namespace_id, row.target, row.speaker_digest, row.created_at)
        self._read_ledger()

    def list_erased(self, memories: Sequence[BroughtMemory], ids: Collection[uuid.UUID] = ()) -> set[uuid.UUID]:
        """Return the memories, and other `ids`, that an erasure names or that existed when it was requested."""
        wanted = {*ids, *(one.origin for one in memories)}
        with reach.within(*self._namespaces):
            rows = ErasedMemory.objects.filter(namespace_id__in=self._namespaces, memory_id__in=wanted)
            found = set(rows.values_list("memory_id", flat=True))
        found |= wanted & self._noted
        return found | {one.origin for one in memories if self._is_erased(one)}

    def list_documents(self, documents: Mapping[uuid.UUID, datetime]) -> set[uuid.UUID]:
        """Return the documents, by their own ids, that were erased after the given time of their last version."""
        names = {f"{SESSION_PREFIX}{identity}": identity for identity in documents}
        with reach.within(*self._namespaces):
            rows = ErasedSession.objects.filter(namespace_id__in=self._namespaces, session__in=names, first_turn__lt=0)
            named = list(rows.values_list("session", "erasure_id"))
        asked = [(names[name], self._asked[erasure]) for name, erasure in named if erasure in self._asked]
        asked += [(identity, at) for identity, at in self._noted_documents.items() if identity in documents]
        return {identity for identity, at in asked if documents[identity] <= at}

    def _is_erased(self, memory: BroughtMemory) -> bool:
        if self._whole is not None and memory.known_at <= self._whole:
            return True
        asked = []
        for namespace_id in self._namespaces:
            # Both the file and the hash may have been written before names were composed.
            if self._sessions:
                forms = list_forms(memory.session)
                asked += [self._sessions.get((namespace_id, _hash(namespace_id, form))) for form in forms]
            if self._speakers and memory.speaker:
                forms = list_forms(memory.speaker)
                asked += [self._speakers.get((namespace_id, speaker_digest(namespace_id, form))) for form in forms]
        return any(at is not None and memory.known_at <= at for at in asked)

    def _add(self, namespace_id: int, target: str, speaker: str, at: datetime) -> None:
        if speaker:
            key = (namespace_id, speaker)
            self._speakers[key] = max(at, self._speakers.get(key, at))
        if target == ErasureTarget.NAMESPACE:
            self._whole = max(at, self._whole or at)

    def _read_ledger(self) -> None:
        where = ledger.path()
        if where is None or not where.exists():
            return
        for erased in ledger.read(where).erasures.values():
            if erased.namespace_id not in self._namespaces or erased.id in self._asked:
                continue
            since = self._since.get(erased.namespace_id)
            if since is not None and erased.asked_at < since:
                continue
            self._noted.update(erased.memories)
            self._noted_documents |= dict.fromkeys(erased.documents, erased.asked_at)
            if erased.only_these or erased.state == ErasureStatus.FAILED:
                continue
            if erased.session:
                self._sessions[erased.namespace_id, erased.session] = erased.asked_at
            self._add(erased.namespace_id, erased.target, erased.speaker, erased.asked_at)


def _hash(namespace_id: int, session: str) -> str:
    return audit.hash_words(Scope(namespace_id, "", ""), ledger.SESSION, session)
